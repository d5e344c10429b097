# The mask comes first: no product is computed that it drops.
in A: f32 csr i32 (4000, 4000)
in B: f32 csr i32 (4000, 4000)
in M: f32 csr i32 (4000, 4000)
in X: f32 dense (4000, 32)
Y[i,f] = M[i,k] * A[i,j] * B[j,k] * X[k,f]
