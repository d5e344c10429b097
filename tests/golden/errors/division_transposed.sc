# The divisor has the pattern of the transposed operand.
in A: f32 csr i32 (80, 80)
C[i,j] = A[i,j] / A[j,i]
