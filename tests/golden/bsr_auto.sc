# Blocks, scheduled automatically.
in A: f32 bsr(2,4) i32 (100, 80)
in B: f32 dense (80, 16)
C[i,k] = A[i,j] * B[j,k]
