# Sums that lie apart in the result are taken side by side.
in A: f32 csf i32 (64, 20)
in B: f32 csr i32 (64, 20)
in C: f32 dense (20, 5, 8)
out[b,j,o] = A[j,r] * B[j,r] * C[r,b,o]
