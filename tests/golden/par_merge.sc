# Rows that either operand stores, in parallel: ranges of coordinates.
in A: f32 dcsr i32 (60, 50)
in B: f32 dcsr i32 (60, 50)
out C: f32 dcsr i32
C[i,j] = A[i,j] - 3 * B[i,j]
nest {
  par i merge A, B { for j merge A, B { C[i,j] = A[i,j] - 3 * B[i,j] } }
}
