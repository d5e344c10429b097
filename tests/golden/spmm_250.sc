# A width of many registers and a tail.
in A: f32 csr i64 (100, 80)
in B: f32 dense (80, 250)
C[i,k] = A[i,j] * B[j,k]
