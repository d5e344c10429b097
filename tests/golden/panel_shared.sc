# Threads share the tiles of many rows, each packed once; the bias is added in front of turning the squares.
in X: f32 dense (300, 77)
in A: f32 csr i32 (1999, 77)
in b: f32 dense (1999)
Y[n,i] = X[n,j] * A[i,j] + b[i]
