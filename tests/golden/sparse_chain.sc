# Three factors: a row of the first product is a table that the second one runs over.
in A: f32 csr i32 (30, 40)
in B: f32 csr i32 (40, 50)
in D: f32 csr i32 (50, 60)
out C: f32 csr i32
C[i,l] = A[i,j] * B[j,k] * D[k,l]
nest {
  par i in A {
    work v[l]: lane bitmap f32 {
      work w[k]: lane bitmap f32 {
        for j in A { for k in B { w[k] += A[i,j] * B[j,k] } }
      } then {
        for k in w { for l in D { v[l] += w[k] * D[k,l] } }
      }
    } then {
      for l in v { C[i,l] = v[l] }
    }
  }
}
