# Two patterns intersected, scheduled automatically.
in A: f32 csr i32 (100, 80)
in B: f32 csr i32 (100, 80)
C[i,j] = A[i,j] * B[i,j]
