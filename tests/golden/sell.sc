# Slices of rows that are sorted by length: a lane each row, sums taken by their places.
in A: f32 sell(8,64) i32 (100, 80)
in x: f32 dense (80)
y[i] = A[i,j] * x[j]
