# No operand is sparse.
in X: f32 dense (30, 20)
in Y: f32 dense (20, 50)
C[i,k] = X[i,j] * Y[j,k]
