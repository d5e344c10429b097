# A sum inside of another is computed first.
in A: f32 csr i32 (4000, 4000)
in X: f32 dense (4000, 64)
in W: f32 dense (64, 32)
in V: f32 dense (32, 16)
Y[i,c] = A[i,j] * relu(A[j,k] * X[k,f] * W[f,h]) * V[h,c]
