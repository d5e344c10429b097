# Rows that the entries of a column choose, asked for two entries ahead: the last level is that of the first index.
in G: f32 csc i32 (40, 3)
in X: f32 dense (40, 80)
in Y: f32 dense (40, 36)
schedule ahead(2)
W[e,k,n] = G[t,e] * X[t,k] * Y[t,n]
