# The largest product of every pair, in a hash table; what is not stored does not count.
in A: f32 csr i32 (60, 40)
in B: f32 csr i32 (40, 300)
skip
out C: f32 csr i32
C[i,k] max= A[i,j] * B[j,k]
nest {
  par i in A {
    work w[k]: lane hash f32 {
      for j in A { for k in B { w[k] max= A[i,j] * B[j,k] } }
    } then {
      for k in w { C[i,k] = w[k] }
    }
  }
}
