# Sparse times dense: a row of the result in registers.
in A: f32 csr i32 (100, 80)
in B: f32 dense (80, 32)
C[i,k] = A[i,j] * B[j,k]
nest {
  par i in A {
    work c[k]: reg f32 {
      for j in A { vec k { c[k] += A[i,j] * B[j,k] } }
    } then {
      vec k { C[i,k] = c[k] }
    }
  }
}
