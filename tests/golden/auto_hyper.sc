# A workspace over two indices.
in A: f32 csr i32 (40, 30)
in B: f32 csf i32 (30, 20, 25)
C[i,k,l] = A[i,j] * B[j,k,l]
