in A: f32 csr i32 (60, 50)
in B: f32 csr i32 (50, 40)
C[i,k] = A[i,j] * B[j,k]
