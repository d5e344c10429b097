# Entries of one coordinate are one entry, their sum.
in A: f32 "compressed(0, nonunique), singleton(1, nonunique)" i32 (20, 20)
in B: f32 "compressed(0, nonunique), singleton(1, nonunique)" i32 (20, 20)
C[i,j] = A[i,j] * A[i,j] + B[i,j]
nest {
  par i merge A, B { for j merge A, B { C[i,j] = A[i,j] * A[i,j] + B[i,j] } }
}
