in A: f32 csr i32 (100, 80)
in B: f32 dense (81, 16)
C[i,k] = A[i,j] * B[j,k]
