# Diagonals are walked, never searched.
in A: f32 dia(16) i32 (40, 30)
in B: f32 csr i32 (40, 30)
C[i] = A[i,j] * B[i,j]
nest {
par i in A {
  work c: reg f32 {
    for j in B {
      for j in A {
        c += A[i,j] * B[i,j]
      }
    }
  } then {
    C[i] = c
  }
}
}
