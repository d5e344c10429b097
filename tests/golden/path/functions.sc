# What a function is of is summed at the entries first: the function takes vectors of them, once for both results.
in M: f32 csr i32 (4000, 4000)
in Q: f32 dense (4000, 32)
in K: f32 dense (4000, 32)
in V: f32 dense (4000, 32)
e[i] = M[i,j] * exp(Q[i,d] * K[j,d])
y[i,f] = M[i,j] * exp(Q[i,d] * K[j,d]) * V[j,f] / e[i]
