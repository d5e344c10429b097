# The result's rows are scattered: a small result is kept per thread and reduced.
in A: f32 csc i32 (3, 80)
in B: f32 dense (80, 16)
C[i,k] = A[i,j] * B[j,k]
