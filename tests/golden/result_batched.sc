# Sums of csr matrices, a batch of them: two dense levels above the compressed one.
in A: f32 "dense(0), dense(1), compressed(2)" i32 (6, 20, 30)
in B: f32 "dense(0), dense(1), compressed(2)" i32 (6, 20, 30)
out C: f32 "dense(0), dense(1), compressed(2)" i32
C[b,i,j] = A[b,i,j] - B[b,i,j]
nest {
  par b {
    for i { for j merge A, B { C[b,i,j] = A[b,i,j] - B[b,i,j] } }
  }
}
