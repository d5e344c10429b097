# A value everywhere, and less where an entry is stored.
in A: f32 csr i32 (100, 80)
in X: f32 dense (100, 80)
C[i,j] = X[i,j] - A[i,j]
