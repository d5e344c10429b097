# Entries are added to a copy of the result; what they share along the last level is multiplied once.
in A: f32 csf i32 (20, 30, 40)
in B: f32 dense (20, 16)
in C: f32 dense (30, 16)
Y[k,r] = A[i,j,k] * B[i,r] * C[j,r]
