# A word of a schedule stands once, but for inner.
in A: f32 csr i32 (60, 60)
in X: f32 dense (60, 16)
Y[i,k] = A[i,j] * X[j,k]
schedule order(i, j, k) tile(k: 8) tile(k: 16)
