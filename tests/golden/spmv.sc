# Sparse times vector, in the order of storage.
in A: f64 csr i64 (100, 80)
in x: f64 dense (80)
y[i] = A[i,j] * x[j]
