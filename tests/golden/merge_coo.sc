# Lists of coordinates, merged by runs of equal rows; threads take ranges of rows.
in A: f32 coo i32 (100, 80)
in B: f32 coo i64 (100, 80)
C[i,j] = A[i,j] - B[i,j]
nest {
  par i merge A, B { for j merge A, B { C[i,j] = A[i,j] - B[i,j] } }
}
