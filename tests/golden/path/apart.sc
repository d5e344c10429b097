# Results that are read later are sparse, and so are the steps that read them.
in A: f32 "csr" i32 (100, 80)
in B: f32 "csr" i32 (80, 90)
in M: f32 "csr" i32 (100, 90)
in X: f32 "dense" (90, 16)
P[i,k] = A[i,j] * B[j,k]
D[i,k] = P[i,k] * M[i,k]
Y[i,f] = D[i,k] * X[k,f]
