# An odd width: pieces of 4, 2 and 1.
in A: f32 csr i32 (100, 80)
in B: f32 dense (80, 7)
C[i,k] = A[i,j] * B[j,k]
