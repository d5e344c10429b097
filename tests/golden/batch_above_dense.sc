# The entries that are summed have a dense level below, whose coordinate is known.
in A: f64 "compressed(2), compressed(1), dense(0)" i64 (3, 4, 5)
out C: f64 csc i64
nofold
C[i,k] = A[i,j,k]
