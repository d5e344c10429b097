# Tokens routed to experts, scheduled: an expert's matrix runs along n, so a panel of it is turned around for its tokens.
in G: f32 csc i32 (1000, 2)
in Y: f32 dense (1000, 24)
in W: f32 dense (2, 80, 24)
X[t,k] = G[t,e] * Y[t,n] * W[e,k,n]
