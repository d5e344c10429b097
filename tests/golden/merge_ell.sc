# Padded rows beside compressed ones.
in A: f32 ell(30) i32 (100, 30)
in B: f32 csr i32 (100, 30)
C[i,j] = A[i,j] + B[i,j]
nest {
  par i { for j merge A, B { C[i,j] = A[i,j] + B[i,j] } }
}
