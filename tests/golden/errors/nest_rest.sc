# What is left where A has no entry is another number at every j.
in A: f32 csr i32 (8, 9)
in x: f32 dense (9)
m[i] max= A[i,j] + x[j]
nest {
  par i in A {
    for j in A rest {
      m[i] max= A[i,j] + x[j]
    }
  }
}
