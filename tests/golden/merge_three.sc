# One operand where another is present, or a third one.
in A: f32 csr i32 (100, 80)
in B: f32 dcsr i32 (100, 80)
in D: f32 coo i32 (100, 80)
C[i,j] = A[i,j] * B[i,j] + D[i,j]
nest {
  par i { for i merge B, D { for j merge A, B, D { C[i,j] = A[i,j] * B[i,j] + D[i,j] } } }
}
