# One nest: no matrix is made of the two dense ones.
in M: f32 csr i32 (4000, 4000)
in Q: f32 dense (4000, 32)
in K: f32 dense (4000, 32)
S[i,j] = M[i,j] * Q[i,d] * K[j,d]
