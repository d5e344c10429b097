# A product with a zero is zero, also where a stored zero divides a stored zero.
in A: f64 coo i64 (2)
out S: f64 coo i32
skip
C[i] = A[i] * A[i]
S[i] = 0 * (A[i] / A[i]) + C[i]
