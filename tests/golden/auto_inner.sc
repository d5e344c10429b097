# An inner product of two tensors.
in A: f32 csf i32 (20, 30, 40)
in B: f32 csf i32 (20, 30, 40)
s = A[i,j,k] * B[i,j,k]
