# A sparse product inside of a function, kept at the entries of a mask.
in A: f32 csr i32 (100, 80)
in B: f32 csr i32 (80, 90)
in M: f32 csr i32 (100, 90)
C[i,k] = M[i,k] * relu(A[i,j] * B[j,k])
