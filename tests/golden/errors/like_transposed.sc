# The structure of a transposed operand.
in A: f32 csr i32 (80, 80)
out C: like A
C[i,j] = A[j,i]
