# Slices of rows share diagonals: a lane each row, nothing gathered.
in A: f32 dia(16) i32 (100, 80)
in x: f32 dense (80)
y[i] = A[i,j] * x[j]
