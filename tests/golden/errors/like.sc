in A: f32 csr i32 (100, 80)
in B: f32 dense (80, 16)
out C: like D
C[i,k] = A[i,j] * B[j,k]
