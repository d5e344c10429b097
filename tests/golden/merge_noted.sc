# The row of G stays while j runs, and has many entries: it is noted, and those of B are looked up.
in A: f32 csr i32 (1000, 1000) positions(1000, 8000)
in G: f32 csr i32 (1000, 1000) positions(1000, 200000)
in B: f32 csr i32 (1000, 1000) positions(1000, 8000)
D[i,j] = A[i,j] * G[i,k] * B[j,k]
nest {
  par i in A {
    for j in A {
      work c: reg f32 {
        for k merge G, B { c += G[i,k] * B[j,k] }
      } then {
        D[i,j] = A[i,j] * c
      }
    }
  }
}
