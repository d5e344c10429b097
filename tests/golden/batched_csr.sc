# A batch of sparse matrices.
in A: f32 "dense(0), dense(1), compressed(2)" i32 (5, 40, 30)
in Y: f32 dense (5, 30, 16)
C[l,i,k] = A[l,i,j] * Y[l,j,k]
