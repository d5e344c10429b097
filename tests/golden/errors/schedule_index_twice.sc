# So does an index of a directive with numbers.
in A: f32 csr i32 (60, 60)
in X: f32 dense (60, 16)
Y[i,k] = A[i,j] * X[j,k]
schedule tile(k: 8, k: 16)
