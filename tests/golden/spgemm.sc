# Sparse times sparse: rows are gathered in a dense workspace with a bitmap.
in A: f32 csr i32 (100, 80)
in B: f32 csr i32 (80, 90)
out C: f32 csr i32
C[i,k] = A[i,j] * B[j,k]
nest {
  par i in A {
    work w[k]: lane bitmap f32 {
      for j in A { for k in B { w[k] += A[i,j] * B[j,k] } }
    } then {
      for k in w { C[i,k] = w[k] }
    }
  }
}
