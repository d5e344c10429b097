# Some rows are far longer than others: those are summed alone, a vector at a time.
in A: f64 csr i32 (1000, 80) positions(1000, 8000) skew 6
in x: f64 dense (80)
y[i] = A[i,j] * x[j]
