# Rows of B are asked for four entries before they are needed, also beyond the end of a row of A.
in A: f32 csr i32 (30, 40)
in B: bf16 dense (40, 48)
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
