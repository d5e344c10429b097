# The epilogue runs while the row is in registers.
in A: f32 csr i32 (100, 80)
in B: f32 dense (80, 16)
in b: f32 dense (16)
C[i,k] = relu(A[i,j] * B[j,k] + b[k])
