# A sum takes exp(0) as many times as there are no entries, below those of j and below all others.
in T: f32 csf i32 (10, 12, 14)
s += exp(T[i,j,k])
