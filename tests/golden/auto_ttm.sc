# A sparse tensor times a sparse matrix.
in A: f32 csf i32 (20, 30, 40)
in B: f32 csr i32 (40, 25)
C[i,j,l] = A[i,j,k] * B[k,l]
