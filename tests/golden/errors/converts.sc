in A: f32 csc i32 (4000000, 80)
in B: f32 dense (80, 16)
C[i,k] = A[i,j] * B[j,k]
