# What is computed of the entries of a row alone takes a vector of them at a time.
m[i] max= A[i,j] + 3e38 * (stored(A[i,j]) - 1)
n[i] = stored(A[i,j]) * exp(A[i,j] - m[i])
P[i,j] = stored(A[i,j]) * (exp(A[i,j] - m[i]) / n[i])
in A: f32 csr i32 (100, 80)
