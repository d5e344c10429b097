# A reduction along the rows.
in A: f32 csr i32 (100, 80)
s[i] = A[i,j]
