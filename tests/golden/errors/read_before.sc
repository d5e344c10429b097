# A result before its assignment.
in A: f32 csr i32 (80, 80)
C[i,j] = A[i,j] / s[i]
s[i] = A[i,j]
