# A dot product of every two rows: the entries of one are searched in the other.
in A: f32 csr i32 (100, 80)
in B: f32 csr i64 (100, 80)
C[i] = A[i,j] * B[i,j]
nest {
  par i { for j in A { for j in B { C[i] += A[i,j] * B[i,j] } } }
}
