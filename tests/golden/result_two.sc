# Two sparse results and a dense one of one kernel.
in A: f32 csr i32 (50, 40)
in v: f32 dense (40)
out C: f32 dcsr i32
out D: f32 dcsr i32
C[i,j] = A[i,j] * v[j]
D[i,j] = 2 * A[i,j]
s[i] = A[i,j]
nest {
  par i in A {
    work c: reg f32 { for j in A { c += A[i,j] } } then { s[i] = c }
    for j in A {
      C[i,j] = A[i,j] * v[j]
      D[i,j] = 2 * A[i,j]
    }
  }
}
