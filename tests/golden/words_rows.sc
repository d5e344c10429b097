# Where nothing lies along the words, their set bits are taken one by one.
in A: f32 bitmask i32 (45, 37)
in B: f32 dense (37, 16)
C[i,k] = A[i,j] * B[j,k]
