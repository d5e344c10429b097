# Operands of one structure: loops run in one of them.
R[i,j] = A[i,j] + 2 * B[i,j]
s[i] = A[i,j] * exp(B[i,j])
in A: f32 csr i32 (100, 80)
in B: f32 csr i32 (100, 80) like A
out R: f32 csr
