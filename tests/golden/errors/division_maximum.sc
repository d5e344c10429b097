# A maximum of the divisor is zero where one side is missing.
in A: f32 csr i32 (80, 80)
in B: f32 csr i32 (80, 80)
C[i,j] = A[i,j] / max(A[i,j], B[i,j])
