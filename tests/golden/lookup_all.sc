# Every coordinate has a value: both operands are looked up there, by cursors that move on.
in A: f32 csr i32 (60, 80)
in B: f32 csr i32 (60, 80)
in X: f32 dense (60, 80)
C[i,j] = max(A[i,j] - B[i,j], X[i,j])
nest {
  par i { for j { for j merge A, B { C[i,j] = max(A[i,j] - B[i,j], X[i,j]) } } }
}
