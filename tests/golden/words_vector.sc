# One sum has two vectors. A maximum takes what is stored alone.
in A: f64 bitmask i64 (45, 37)
in x: f64 dense (37)
skip
y[i] max= A[i,j] + x[j]
