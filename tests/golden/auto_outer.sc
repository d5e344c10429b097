# The gradient to the matrices of experts: outer products of the rows that entries route, in tiles.
in G: f32 csc i32 (1000, 2)
in X: f32 dense (1000, 24)
in Y: f32 dense (1000, 64)
W[e,k,n] = G[t,e] * X[t,k] * Y[t,n]
