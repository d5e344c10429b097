# Elements of X lie nowhere side by side: they are copied to where they do, and not gathered at every entry.
in A: f32 csr i32 (300, 400)
in X: f32 dense (400, 96) apart
C[i,k] = A[i,j] * X[j,k]
