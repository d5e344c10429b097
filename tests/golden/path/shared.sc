# What two sums have in common is computed once.
in A: f32 csr i32 (4000, 4000)
in X: f32 dense (4000, 64)
in W: f32 dense (64, 32)
in G: f32 dense (4000, 32)
dX[j,f] = G[i,c] * W[f,c] * A[i,j]
dW[f,c] = G[i,c] * A[i,j] * X[j,f]
