# The same where rows of bf16 lie side by side.
dots
in A: bf16 csr i32 (40, 30)
in B: bf16 dense (30, 64)
C[i,k] = A[i,j] * B[j,k]
