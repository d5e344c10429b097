# Coordinates may repeat, so entries cannot be added to the identity where they stand.
in A: f32 coo i32 (20, 10)
skip
C[i,j] max= A[i,j]
