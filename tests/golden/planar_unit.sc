# Two sparse operands; where the fibre of a planar level begins is known from the loop around.
in A: f32 "dense(0/2), compressed(1/4), planar(0%2), dense(1%4)" i32 (100, 80)
in B: f32 csr i32 (100, 80)
C[i] = A[i,j] * B[i,j]
