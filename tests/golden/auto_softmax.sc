# Three assignments over the same rows become one kernel.
in A: f32 csr i32 (100, 80)
skip
m[i] max= A[i,j]
s[i] += exp(A[i,j] - m[i])
C[i,j] = exp(A[i,j] - m[i]) / s[i]
