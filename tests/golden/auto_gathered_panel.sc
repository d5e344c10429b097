# Tokens routed to experts, scheduled: many tokens share a panel of an expert's matrix, whose rows lie apart, so it is packed.
in G: f32 csc i32 (1000, 2) positions(2, 1000)
in X: f32 dense (1000, 40)
in W: f32 dense (2, 40, 160)
Y[t,n] = G[t,e] * X[t,k] * W[e,k,n]
