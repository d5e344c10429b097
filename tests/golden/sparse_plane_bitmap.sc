# A workspace over two indices, read by two loops: a fibre of sums for each.
in A: f32 csf i32 (9, 12, 10)
in B: f32 csr i32 (10, 70)
out C: f32 csf i32
C[i,j,l] = A[i,j,k] * B[k,l]
nest {
  par i in A {
    work w[j,l]: lane bitmap f32 {
      for j in A { for k in A { for l in B { w[j,l] += A[i,j,k] * B[k,l] } } }
    } then {
      for j in w { for l in w { C[i,j,l] = w[j,l] } }
    }
  }
}
