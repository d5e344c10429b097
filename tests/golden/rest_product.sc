# Where A has no entry the product is zero, for all columns at once.
in A: f32 csr i32 (40, 30)
in B: f32 dense (30, 16)
R[i,k] max= A[i,j] * B[j,k]
