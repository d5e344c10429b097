in A: f32 csr i32 (100, 80)
in B: f32 csr i32 (100, 80)
in D: f32 csr i32 (100, 80)
in E: f32 csr i32 (100, 80)
in F: f32 csr i32 (100, 80)
in G: f32 csr i32 (100, 80)
in H: f32 csr i32 (100, 80)
C[i,j] = A[i,j] + B[i,j] - D[i,j] + E[i,j] * F[i,j] + G[i,j] - H[i,j]
