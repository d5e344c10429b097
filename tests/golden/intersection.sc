# A product keeps what both operands store.
in A: f32 csr i32 (100, 80)
in B: f32 csr i32 (100, 80)
out C: f32 csr i32
C[i,j] = A[i,j] * B[i,j]
nest {
  par i {
    for j merge A, B { C[i,j] = A[i,j] * B[i,j] }
  }
}
