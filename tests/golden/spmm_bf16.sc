# A 16 bit entry fills the lanes of a vector as it is.
in A: bf16 csr i32 (100, 80)
in B: bf16 dense (80, 8)
C[i,k] = A[i,j] * B[j,k]
