# Functions of dense operands that entries would ask for again and again are computed first, once for all that read them.
# One with as many values as there are entries stays.
in A: f32 csr i32 (4000, 4000)
in s: f32 dense (4000)
in X: f32 dense (4000, 32)
in S: f32 dense (4000, 4000)
in b: f32 dense (32)
y[i] = A[i,j] * exp(s[j])
Y[i,f] = A[i,j] * tanh(X[j,f]) * exp(s[j])
R[i,j] = A[i,j] * exp(S[i,j])
z[i] = A[i,j] * exp(s[i])
Z[i,f] = A[i,j] * X[j,f] + exp(b[f])
