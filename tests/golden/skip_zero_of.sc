# A product with what is always zero is zero, also beside the identity.
in A: f64 coo i32 (4)
skip
C[k] max= A[k]
S = (abs(0) * C[k])
