# Blocks of ten outputs, the last one shorter: threads share the blocks, and the entries of one are found by a search.
in M: bool "dense(0), compressed(1, nonunique), singleton(2)" i32 (5, 24, 30)
in X: f32 dense (30, 12)
in W: f32 dense (5, 12, 40)
Y[i,n] = M[r,i,j] * X[j,k] * W[r,k,n]
nest {
  par i/10 {
    for r {
      for n/32 {
        for i in M by 6 {
          work c[#i,n%32]: reg f32 {
            for k { for i in M unroll 6 { for j in M { vec n%32 { c[#i,n%32] += X[j,k] * W[r,k,n] } } } }
          } then {
            for i in M unroll 6 { for j in M { vec n%32 { Y[i,n] += M[r,i,j] * c[#i,n%32] } } }
          }
        }
      }
    }
  }
}
