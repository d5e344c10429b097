# Six tokens of one expert at a time: rows gathered into a tile of registers, the last tile of an expert not full.
in G: f32 csc i32 (45, 5)
in X: f32 dense (45, 12)
in W: f32 dense (5, 12, 40)
Y[t,n] = G[t,e] * X[t,k] * W[e,k,n]
nest {
  par n/32 {
    for e in G {
      for t in G by 6 {
        work c[#t,n%32]: reg f32 {
          for k { for t in G unroll 6 { vec n%32 { c[#t,n%32] += X[t,k] * W[e,k,n] } } }
        } then {
          for t in G unroll 6 { vec n%32 { Y[t,n] += G[t,e] * c[#t,n%32] } }
        }
      }
    }
  }
}
