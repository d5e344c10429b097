# The transpose of a matrix stored by columns runs by columns.
in A: f32 csc i32 (100, 80)
in B: f32 dense (100, 16)
C[j,k] = A[i,j] * B[i,k]
