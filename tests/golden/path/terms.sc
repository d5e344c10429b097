# A sum of products of its own, and the one that adds it.
in x: f32 dense (64, 1000)
in W: f32 csr i32 (1000, 1000)
in U: f32 dense (1000, 16)
in V: f32 dense (16, 1000)
y[b,o] = x[b,i] * W[i,o] + x[b,i] * U[i,r] * V[r,o]
