# Outer products, a column of A times a row of B: the whole result is gathered, then listed.
in A: f32 csc i32 (40, 30)
in B: f32 csr i32 (30, 50)
out C: f32 dcsr i32
C[i,k] = A[i,j] * B[j,k]
nest {
  work w[i,k]: lane hash f32 {
    for j { for i in A { for k in B { w[i,k] += A[i,j] * B[j,k] } } }
  } then {
    for i in w { for k in w { C[i,k] = w[i,k] } }
  }
}
