# Dense operands are transposed first, and the result is sparse: it gets the format that its loops make.
in A: f64 csr i32 (6400, 64)
in B: f64 csr i32 (6400, 64)
in E: f64 dense (64, 64)
R[i,j] = (A[i,j] + B[i,j]) * E[n,j]
