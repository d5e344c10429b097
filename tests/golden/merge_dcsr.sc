# Rows that are stored in one operand only.
in A: f32 dcsr i32 (100, 80)
in B: f32 dcsr i32 (100, 80)
out C: f32 dcsr i32
C[i,j] = relu(A[i,j]) - relu(B[i,j])
nest {
  par i merge A, B { for j merge A, B { C[i,j] = relu(A[i,j]) - relu(B[i,j]) } }
}
