# The diagonal: every row is searched for its own index.
in A: f32 csr i32 (90, 90)
C[i] = A[i,i]
nest {
  par i { for i in A { C[i] = A[i,i] } }
}
