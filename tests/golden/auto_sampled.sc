# A sparse product at entries that are given: rows are summed where they fall, and only these are cleared and read.
in S: f32 csr i32 (100, 90)
in A: f32 csr i32 (100, 80)
in B: f32 csr i32 (80, 90)
C[i,k] = stored(S[i,k]) * A[i,j] * B[j,k]
