# The result has the structure of its operand.
in A: f32 csr i32 (100, 80)
in d: f32 dense (100)
C[i,j] = A[i,j] * d[i]
