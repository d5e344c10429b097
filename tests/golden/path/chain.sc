# From its thin end.
in A: f32 csr i32 (4000, 4000)
in B: f32 csr i32 (4000, 4000)
in x: f32 dense (4000)
y[i] = A[i,j] * B[j,k] * x[k]
