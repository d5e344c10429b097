# X lies across f: it is transposed first, and f, at stride 1 then, is the vector inside of the loops over A.
in A: f32 csr i32 (300, 400)
in X: f32 dense (16, 400)
C[f,i] max= A[i,j] * X[f,j]
