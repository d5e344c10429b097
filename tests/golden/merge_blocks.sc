# Blocks that either operand stores.
in A: f32 bsr(4,5) i32 (40, 60)
in B: f32 bsr(4,5) i32 (40, 60)
C[i,j] = A[i,j] - 2*B[i,j]
nest {
  par i/4 { for j/5 merge A, B { for i%4 { for j%5 { C[i,j] = A[i,j] - 2*B[i,j] } } } }
}
