# The map of a sparse convolution, scheduled: six entries at a time share a matrix.
in M: bool "compressed(0), compressed(1, nonunique), singleton(2)" i32 (3, 40, 40)
in X: f32 dense (40, 16)
in W: f32 dense (3, 16, 32)
Y[i,n] = M[r,i,j] * X[j,k] * W[r,k,n]
