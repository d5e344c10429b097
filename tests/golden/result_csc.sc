# A result by columns: the dense level is over the second dimension.
in A: f32 csc i32 (60, 50)
in B: f32 csc i32 (60, 50)
out C: f32 csc i32
C[i,j] = A[i,j] + 2 * B[i,j]
nest {
  par j {
    for i merge A, B { C[i,j] = A[i,j] + 2 * B[i,j] }
  }
}
