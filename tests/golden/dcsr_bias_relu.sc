# Rows that are not stored need the bias too: a shared workspace, then a pass over every row.
in A: f32 dcsr i32 (200, 3)
in B: f32 dense (3, 16)
in b: f32 dense (16)
C[i,k] = relu(A[i,j] * B[j,k] + b[k])
