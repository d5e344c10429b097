# Rows that are not stored, in either operand.
in A: f32 dcsr i32 (100, 80)
in B: f32 dcsr i32 (100, 80)
C[i,j] = A[i,j] + B[i,j]
