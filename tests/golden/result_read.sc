# A later kernel reads the result of an earlier one, at another index.
in A: f32 csr i32 (40, 40)
in d: f32 dense (40)
t[i] = A[i,j] * d[j]
C[i] = A[i,j] * t[j]
nest {
  par i in A {
    work c: reg f32 { for j in A { c += A[i,j] * d[j] } } then { t[i] = c }
  }
  par i in A {
    work c2: reg f32 { for j in A { c2 += A[i,j] * t[j] } } then { C[i] = c2 }
  }
}
