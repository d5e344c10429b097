# Two sums over one operand, each of which wants it in another order: each goes by itself.
in M: f32 "dense(1), compressed(0), singleton(2)" i64 (27, 100000, 100000)
in G: f32 dense (100000, 64)
in X: f32 dense (100000, 64)
in W: f32 dense (27, 64, 64)
P[j,k] += G[i,n] * W[r,k,n] * M[r,i,j]
Q[r,k,n] += G[i,n] * M[r,i,j] * X[j,k]
