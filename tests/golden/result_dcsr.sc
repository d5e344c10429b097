# A result whose empty rows are not stored, although the operand's rows are.
in A: f32 csr i32 (60, 50)
in B: f32 dcsr i64 (60, 50)
out C: f32 dcsr i64
C[i,j] = A[i,j] * B[i,j]
nest {
  par i in B {
    for j merge A, B { C[i,j] = A[i,j] * B[i,j] }
  }
}
