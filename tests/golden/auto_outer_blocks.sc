# Many entries add outer products to a small result: threads take blocks of rows, and add to copies of it.
in M: bool "compressed(0), compressed(1, nonunique), singleton(2)" i32 (3, 2050, 12)
in X: f32 dense (12, 7)
in Y: f32 dense (2050, 36)
schedule block(i: 256)
W[r,k,n] = M[r,i,j] * X[j,k] * Y[i,n]
