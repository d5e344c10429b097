# A sum of two sparse products.
in A: f32 csr i32 (100, 80)
in B: f32 csr i32 (80, 90)
in D: f32 csr i32 (100, 70)
in E: f32 csr i32 (70, 90)
C[i,k] = A[i,j] * B[j,k] + D[i,l] * E[l,k]
