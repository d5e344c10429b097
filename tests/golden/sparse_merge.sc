# A product plus a matrix: what was gathered is merged with stored entries.
in A: f32 csr i32 (60, 40)
in B: f32 csr i32 (40, 300)
in D: f32 csr i32 (60, 300)
out C: f32 csr i32
C[i,k] = A[i,j] * B[j,k] + D[i,k]
nest {
  par i in A {
    work w[k]: lane bitmap f32 {
      for j in A { for k in B { w[k] += A[i,j] * B[j,k] } }
    } then {
      for k merge w, D { C[i,k] = w[k] + D[i,k] }
    }
  }
}
