in G: f32 csc i32 (60, 3)
in X: f32 dense (60, 16)
in W: f32 dense (3, 16, 24)
Y[t,n] = G[t,e] * X[t,k] * W[e,k,n]
schedule block(t: 16)
