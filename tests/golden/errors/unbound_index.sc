in A: f32 csr i32 (100, 80)
in B: f32 dense (80, 16)
C[i,l] = A[i,j] * B[j,k]
