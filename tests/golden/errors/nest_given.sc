# What the item in front assigns everywhere is not what is left where A has no entry.
in A: f32 csr i32 (100, 80)
in X: f32 dense (100, 80)
C[i,j] = X[i,j] - A[i,j]
nest {
  par i {
    vec j {
      C[i,j] = X[i,j] * X[i,j]
    }
    for j in A {
      C[i,j] = X[i,j] - A[i,j]
    }
  }
}
