# A dense product sampled at the entries of M.
in M: f32 csr i32 (100, 80)
in Q: f32 dense (100, 32)
in K: f32 dense (80, 32)
out C: like M
C[i,j] = M[i,j] * Q[i,k] * K[j,k]
nest {
  par i in M {
    for j in M {
      work s: reg f32 {
        vec k { s += Q[i,k] * K[j,k] }
      } then {
        C[i,j] = M[i,j] * s
      }
    }
  }
}
