# A slice is two vectors, and a maximum takes what is stored alone.
in A: f64 sell(16,32) i64 (45, 37)
in x: f64 dense (37)
skip
y[i] max= A[i,j] + x[j]
