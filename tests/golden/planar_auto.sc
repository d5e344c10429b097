# Rows of blocks that lie as rows of csr do: one after the other for a row of blocks.
in A: f32 "dense(0/2), compressed(1/4), planar(0%2), dense(1%4)" i32 (100, 80)
in B: f32 dense (80, 16)
C[i,k] = A[i,j] * B[j,k]
