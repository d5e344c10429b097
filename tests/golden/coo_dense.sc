# Rows of a sorted coordinate list, cut where the row changes.
in A: f32 coo i32 (100, 80)
in B: f32 dense (80, 16)
C[i,k] = A[i,j] * B[j,k]
