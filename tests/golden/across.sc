# A number a row that vectors at entries are added to: they are added up behind the last entry.
in A: f32 csr i32 (6, 6)
in X: f32 dense (6, 40)
in Z: f32 dense (6, 40)
y[i] = A[i,j] * X[i,f] * Z[j,f]
