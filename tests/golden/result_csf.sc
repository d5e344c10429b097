# Tensor times vector: a fibre of sums for every row, kept only where one was stored.
in A: f64 csf i32 (20, 15, 30)
in v: f64 dense (30)
out C: f64 dcsr i32
C[i,j] = A[i,j,k] * v[k]
nest {
  par i in A {
    for j in A {
      work c: reg f64 { for k in A { c += A[i,j,k] * v[k] } } then { C[i,j] = c }
    }
  }
}
