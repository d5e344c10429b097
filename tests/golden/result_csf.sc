# Tensor times sparse vector: a fibre of sums for every row, which has the entries of A whether they met one of v or not.
in A: f64 csf i32 (20, 15, 30)
in v: f64 "compressed(0)" i32 (30)
out C: f64 dcsr i32
C[i,j] = A[i,j,k] * v[k]
nest {
  par i in A {
    for j in A {
      work c: reg f64 { for k merge A, v { c += A[i,j,k] * v[k] } } then { C[i,j] = c }
    }
  }
}
