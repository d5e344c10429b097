# Three dimensions against two factors, scheduled automatically.
in B: f32 csf i32 (30, 40, 50)
in C: f32 dense (40, 16)
in D: f32 dense (50, 16)
M[i,r] = B[i,j,k] * C[j,r] * D[k,r]
