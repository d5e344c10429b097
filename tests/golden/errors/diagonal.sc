# An operand with two extents under one index.
in A: f32 csr i32 (100, 80)
d[i] = A[i,i]
