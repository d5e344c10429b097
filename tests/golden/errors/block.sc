in A: f32 bsr(4,4) i32 (99, 80)
in B: f32 dense (80, 16)
C[i,k] = A[i,j] * B[j,k]
