# Sparse all along: one nest, which writes no temporary.
in A: f32 csr i32 (4000, 4000)
in B: f32 csr i32 (4000, 4000)
in C: f32 csr i32 (4000, 4000)
D[i,l] = A[i,j] * B[j,k] * C[k,l]
