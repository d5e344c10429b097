# A reduction to a number.
in A: f64 csr i32 (100, 80)
s = A[i,j]
