# A reduction across the rows.
in A: f32 csr i32 (100, 80)
s[j] = A[i,j]
