# A row with fewer entries than columns has a zero among its values, which the loop takes once.
in S: f32 csr i32 (40, 30)
m[i] max= S[i,j]
