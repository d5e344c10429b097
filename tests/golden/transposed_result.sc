# The result is written with the other unit dimension.
in A: f32 csr i32 (2000, 80)
in X: f32 dense (70, 80)
Y[n,i] = X[n,j] * A[i,j]
