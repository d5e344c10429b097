# The largest of vectors at entries: one step across them a row.
skip
in A: f32 csr i32 (6, 6)
in X: f32 dense (6, 40)
in Z: f32 dense (6, 40)
y[i] max= A[i,j] * X[i,f] * Z[j,f]
