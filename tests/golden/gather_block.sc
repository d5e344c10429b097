# The words for what the scheduler gathers by itself: entries in a tile of registers, blocks of rows that threads share.
in M: f32 "compressed(0), compressed(1, nonunique), singleton(2)" i32 (3, 60, 50)
in X: f32 dense (50, 16)
in W: f32 dense (3, 16, 24)
Y[i,n] = M[r,i,j] * X[j,k] * W[r,k,n]
schedule gather(i: 4) block(i: 16)
