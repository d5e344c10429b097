# One matrix against a batch of dense ones.
in A: f32 csr i32 (100, 80)
in Y: f32 dense (5, 80, 19)
C[l,i,k] = A[i,j] * Y[l,j,k]
