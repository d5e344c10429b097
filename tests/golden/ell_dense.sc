# A fixed number of slots a row, padded.
in A: f32 ell(40) i32 (100, 40)
in B: f32 dense (40, 16)
C[i,k] = A[i,j] * B[j,k]
