# Indices of another width are another structure.
in A: f64 coo i32 (19, 18)
in H: f64 coo i64 (19, 18) like A
y[i] = A[i,j] * H[i,j]
