# A matrix that was made from its transpose: values are as far apart as rows, and are asked for with them.
in A: f32 csr i32 (30, 40) perm positions(30, 3000000)
in B: f32 dense (40, 16)
C[i,k] = A[i,j] * B[j,k]
nest {
  par i in A {
    work c[k]: reg f32 {
      for j in A ahead 4 { vec k { c[k] += A[i,j] * B[j,k] } }
    } then {
      vec k { C[i,k] = c[k] }
    }
  }
}
