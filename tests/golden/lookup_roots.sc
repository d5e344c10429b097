# Rows that are not stored, of two kinds, under a loop over all rows.
in A: f32 dcsr i32 (200, 64)
in B: f32 coo i32 (200, 64)
in X: f32 dense (200, 64)
C[i,j] = X[i,j] + A[i,j] * 3 - B[i,j]
nest {
  par i { for i merge A, B { for j { for j merge A, B { C[i,j] = X[i,j] + A[i,j] * 3 - B[i,j] } } } }
}
