# A sum of many: one loop to the end of all.
in A: f32 csr i32 (100, 80)
in B: f32 csr i32 (100, 80)
in D: f32 csr i32 (100, 80)
in E: f32 csr i32 (100, 80)
out C: f32 csr i32
C[i,j] = A[i,j] + B[i,j] + D[i,j] + E[i,j]
nest {
  par i { for j merge A, B, D, E { C[i,j] = A[i,j] + B[i,j] + D[i,j] + E[i,j] } }
}
