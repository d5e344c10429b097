# Tokens routed to experts: tiles of 32 tokens of one expert are gathered, multiplied and scattered.
in G: f32 csc i32 (200, 8)
in X: f32 dense (200, 64)
in W: f32 dense (8, 64, 32)
Y[t,n] = G[t,e] * X[t,k] * W[e,k,n]
nest {
  work y[t,n]: private f32 {
    par e in G {
      for t in G by 32 {
        work x1[#t,k]: lane f32 {
          for t in G { vec k { x1[#t,k] = X[t,k] } }
        } then {
          for t in G {
            work c[n]: reg f32 {
              for k { vec n { c[n] += x1[#t,k] * W[e,k,n] } }
            } then {
              vec n { y[t,n] += G[t,e] * c[n] }
            }
          }
        }
      }
    }
  } then {
    par t { vec n { Y[t,n] = y[t,n] } }
  }
}
