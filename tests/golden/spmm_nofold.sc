# The width is a run-time number.
in A: f32 csr i32 (100, 80)
in B: f32 dense (80, 33)
nofold
C[i,k] = A[i,j] * B[j,k]
