# One index in both dimensions.
in A: f32 csr i32 (60, 60)
d[i] = A[i,i]
