# What a range of sorted rows stores is not bounded by the windows that it touches: it is counted.
in A: f32 sell(4,16) i32 (100, 80)
in x: f32 dense (100)
out C: f32 csr i32
C[i,j] = A[i,j] * x[i]
nest {
  par i {
    for j in A { C[i,j] = A[i,j] * x[i] }
  }
}
