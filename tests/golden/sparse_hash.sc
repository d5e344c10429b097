# A product gathered in a hash table, which grows where rows are long.
in A: f64 csr i64 (30, 40)
in B: f64 csr i64 (40, 3000)
out C: f64 csr i64
C[i,k] = A[i,j] * B[j,k]
nest {
  par i in A {
    work w[k]: lane hash f64 {
      for j in A { for k in B { w[k] += A[i,j] * B[j,k] } }
    } then {
      for k in w { C[i,k] = w[k] }
    }
  }
}
