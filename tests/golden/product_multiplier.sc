# A factor that the inner sum does not vary multiplies it behind.
in A: f32 csf i32 (20, 30, 40)
in B: f32 dense (20, 16)
in C: f32 dense (40, 16)
Y[j,r] = A[i,j,k] * B[i,r] * C[k,r]
