# Gradients of experts' matrices, scheduled: many tokens share an expert, so their rows of Y are packed, a panel for all tiles.
in G: f32 csc i32 (1000, 2) positions(2, 1000)
in X: f32 dense (1000, 100)
in Y: f32 dense (1000, 160)
W[e,k,n] = G[t,e] * X[t,k] * Y[t,n]
