# Coordinates that only one of them has are zeros too, so that what both have is counted.
in A: f32 csr i32 (40, 30)
in B: f32 csr i32 (40, 30)
m[i] min= A[i,j] * B[i,j]
