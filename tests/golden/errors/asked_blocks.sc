# Blocks that do not fit the result.
in A: f32 csr i32 (99, 80)
out C: f32 bsr(4,4)
C[i,j] = 2 * A[i,j]
