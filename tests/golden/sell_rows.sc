# Rows of sorted slices, each by itself: its place says which lane of which slice it is.
in A: f64 sell(4,16) i32 (100, 80)
in X: f64 dense (80, 9)
C[i,k] = A[i,j] * X[j,k]
