# Rows that do more than add up one number walk the diagonals of their slice.
in A: f32 dia(8) i32 (45, 37)
in B: f32 dense (37, 16)
C[i,k] = A[i,j] * B[j,k]
