# What is nothing without an operand's entries has its structure, though another one that shares it is read.
R[i,j] = A[i,j] * (B[i,j] - s[i])
in A: f32 csr i32 (100, 80)
in B: f32 csr i32 (100, 80) like A
in s: f32 dense (100)
