# The largest stored entry of each row, missing entries left out.
in A: f32 csr i32 (100, 80)
skip
m[i] max= A[i,j]
