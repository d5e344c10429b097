# ... with a dense level behind them, which is the vector.
in T: f32 csf i64 (20, 30, 40)
in U: f32 dense (40, 24)
Y[i,k,r] = T[i,k,l] * U[l,r]
