# A sparse product that a sparse operand multiplies: its rows are gathered, then looked up.
in M: f32 csr i32 (60, 60)
in A: f32 csr i32 (60, 60)
in B: f32 csr i32 (60, 60)
schedule order(i, k, j) inner(k)
R[i,j] = M[i,j] * A[i,k] * B[k,j]
