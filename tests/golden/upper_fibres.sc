# Sums over fibres: the two levels above them are the result's.
in T: f32 csf i32 (20, 30, 40)
in v: f32 dense (40)
Y[i,k] = T[i,k,l] * v[l]
