# A later kernel reads the result of an earlier one.
in A: f32 csr i32 (50, 40)
in d: f32 dense (50)
C[i] = A[i,j] * d[i]
D[i] = 2 * A[i,j] * d[i]
nest {
  par i in A {
    work c: reg f32 { for j in A { c += A[i,j] } } then { C[i] = c * d[i] }
  }
  par i { D[i] = 2 * C[i] }
}
