# Rows of a few entries, many alike: vectors of half the lanes hold them.
in A: f32 csr i32 (1000, 80) positions(1000, 4000) even
in x: f32 dense (80)
y[i] = A[i,j] * x[j]
