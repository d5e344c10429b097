# Gathered by a hash table, but the result is dense, and rows are normalized by what was gathered.
in A: f32 csr i32 (60, 40)
in B: f32 csr i32 (40, 90)
out C: f32 dense
C[i,k] = relu(A[i,j] * B[j,k])
nest {
  par i in A {
    work w[k]: lane hash f32 {
      for j in A { for k in B { w[k] += A[i,j] * B[j,k] } }
    } then {
      for k in w { C[i,k] = relu(w[k]) }
    }
  }
}
