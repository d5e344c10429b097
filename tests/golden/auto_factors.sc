# Along the features, what is the same for all of them is one number: its quotients are in front of the vectors.
in A: f32 csr i32 (6, 5)
in G: f32 dense (5, 40)
in c: f32 dense (6)
in d: f32 dense (5)
y[i,f] = G[j,f] * A[i,j] / c[i] / d[j]
