# The map of a sparse convolution, eight outputs at a time: an entry reads the row of one index and adds to that of another.
in M: bool "dense(1/8), compressed(0), compressed(1%8, nonunique), singleton(2)" i32 (5, 24, 30)
in X: f32 dense (30, 12)
in W: f32 dense (5, 12, 40)
Y[i,n] = M[r,i,j] * X[j,k] * W[r,k,n]
nest {
  par i/8 in M {
    for r in M {
      for n/32 {
        for i%8 in M by 6 {
          work c[#i,n%32]: reg f32 {
            for k { for i%8 in M unroll 6 { for j in M { vec n%32 { c[#i,n%32] += X[j,k] * W[r,k,n] } } } }
          } then {
            for i%8 in M unroll 6 { for j in M { vec n%32 { Y[i,n] += M[r,i,j] * c[#i,n%32] } } }
          }
        }
      }
    }
  }
}
