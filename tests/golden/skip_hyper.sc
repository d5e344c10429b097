# Rows that are not stored hold the identity, in the result and where a later assignment reads them.
in A: f32 dcsr i32 (40, 6)
in B: f32 dense (6, 4)
skip
C[i,k] max= A[i,j] * B[j,k]
m[i] min= A[i,j]
d[i] = m[i] + 1
