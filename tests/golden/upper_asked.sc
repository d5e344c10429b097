# Asked for: the first level of three and two dense ones, the result's dimensions in another order.
in T: f64 "compressed(1), compressed(0), dense(2)" i32 (20, 30, 5)
in x: f32 dense (20, 40)
out Y: f64 "compressed(1), dense(0), dense(2)" i32
Y[r,k,l] = T[i,k,l] * x[i,r]
