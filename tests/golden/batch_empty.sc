# Where most rows are empty, rows that are so together are told before they are summed.
in A: f32 csr i32 (90, 4) positions(90, 60)
in x: f32 dense (4)
in b: f32 dense (90)
y[i] = A[i,j] * x[j]
z[i] = y[i] + b[i]
