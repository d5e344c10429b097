# A dense product at the entries of A, whatever is stored there.
in A: f32 csr i32 (100, 80)
in G: f32 dense (100, 32)
in B: f32 dense (80, 32)
out D: like A
D[i,j] = stored(A[i,j]) * G[i,k] * B[j,k]
nest {
  par i in A {
    for j in A {
      work s: reg f32 {
        vec k { s += G[i,k] * B[j,k] }
      } then {
        D[i,j] = stored(A[i,j]) * s
      }
    }
  }
}
