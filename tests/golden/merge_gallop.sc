# A short vector against long rows: the longer side is searched.
in a: f32 "compressed(0)" i32 (20)
in B: f32 csr i32 (100, 20)
C[i] = a[j] * B[i,j]
nest {
  par i { for j merge a, B { C[i] += a[j] * B[i,j] } }
}
