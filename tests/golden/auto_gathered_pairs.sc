# The map of a sparse convolution, scheduled: six entries at a time share a matrix.
in M: bool "compressed(0), compressed(1, nonunique), singleton(2)" i32 (27, 300, 300)
in X: f32 dense (300, 64)
in W: f32 dense (27, 64, 64)
Y[i,n] = M[r,i,j] * X[j,k] * W[r,k,n]
