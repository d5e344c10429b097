# A dense product at the entries of a mask, scheduled automatically.
in M: f32 csr i32 (100, 80)
in Q: f32 dense (100, 32)
in K: f32 dense (80, 32)
C[i,j] = M[i,j] * Q[i,k] * K[j,k]
