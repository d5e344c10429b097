# Rows of a sparse product gathered in a bitmap.
in A: f32 csr i32 (100, 80)
in B: f32 csr i32 (80, 90)
C[i,k] = A[i,j] * B[j,k]
