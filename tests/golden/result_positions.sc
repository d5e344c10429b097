# Units are positions of A, so only the entries of A in a range of them are known.
in A: i64 coo i32 (5, 5)
in B: f32 dense (5, 5)
in D: i64 csr i32 (5, 5)
C[i,j] = ((A[i,j] * B[i,j]) * (D[i,j] * A[i,j]))
