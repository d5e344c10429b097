# A tensor of three dimensions times two factors; the one of j is taken out of the inner sum.
in B: f32 csf i32 (30, 40, 50)
in C: f32 dense (40, 16)
in D: f32 dense (50, 16)
M[i,r] = B[i,j,k] * C[j,r] * D[k,r]
nest {
  par i in B {
    work a[r]: reg f32 {
      for j in B {
        work t[r]: reg f32 {
          for k in B { vec r { t[r] += B[i,j,k] * D[k,r] } }
        } then {
          vec r { a[r] += t[r] * C[j,r] }
        }
      }
    } then {
      vec r { M[i,r] = a[r] }
    }
  }
}
