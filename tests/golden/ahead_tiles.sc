# The next tile's rows of X are asked for; they are chosen by the singleton below the index that is gathered.
in M: bool "compressed(0), compressed(1, nonunique), singleton(2)" i32 (3, 128, 40)
in X: f32 dense (40, 40)
in W: f32 dense (3, 40, 32)
schedule ahead(6)
Y[i,n] = M[r,i,j] * X[j,k] * W[r,k,n]
