# A tensor and a matrix in every mode.
in T: f32 csf i32 (200, 200, 200)
in A: f32 dense (200, 16)
in B: f32 dense (200, 16)
in C: f32 dense (200, 16)
G[a,b,c] = T[i,j,k] * A[i,a] * B[j,b] * C[k,c]
