# A nest reads other entries than the expression.
in A: f32 csr i32 (80, 80)
s[i] = A[i,j]
nest {
  par i in A { for j in A { s[i] += A[j,i] } }
}
