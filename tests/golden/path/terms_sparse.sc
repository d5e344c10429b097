# The sum is a sparse result by itself: it is made first, and merged with the other term.
in A: f32 csr i32 (1000, 1000)
in B: f32 csr i32 (1000, 1000)
in C: f32 csr i32 (1000, 1000)
R[i,k] = A[i,j] * B[j,k] + 2 * C[i,k]
