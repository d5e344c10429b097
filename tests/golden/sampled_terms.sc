# A sum that may have no term where it is read: the bitmap says so, and the result is filled first.
in M: f32 csr i32 (40, 90)
in A: f32 csr i32 (40, 30)
in B: f32 csr i32 (30, 90)
C[i,k] = M[i,k] * A[i,j] * B[j,k]
nest {
par i in M {
  work w[k]: lane bitmap f32 {
    for j in A {
      for k in B {
        w[k] += A[i,j] * B[j,k]
      }
    }
  } then {
    for k in M {
      for k in w {
        C[i,k] = M[i,k] * w[k]
      }
    }
  }
}
}
