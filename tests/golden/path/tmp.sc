# A product that joins another, an epilogue, and what is read twice and stays.
in A: f32 csr i32 (3000, 3000)
in X: f32 dense (3000, 64)
in W: f32 dense (64, 16)
in b: f32 dense (16)
tmp H[i,k] = A[i,j] * X[j,k]
tmp Z[i,n] = H[i,k] * W[k,n]
Y[i,n] = relu(Z[i,n] + b[n])
tmp s[i] max= A[i,j]
R[i] = s[i] * s[i]
