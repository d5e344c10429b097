# One operand three times.
in A: f32 csr i32 (60, 60)
s = A[i,j] * A[j,k] * A[i,k]
