# Of two sparse operands, what they store together is assigned behind what the dense one has everywhere.
in A: f32 csr i32 (100, 80)
in B: f32 csr i32 (100, 80)
in X: f32 dense (100, 80)
in s: f32 dense (100)
C[i,j] = X[i,j] * s[i] + A[i,j] * B[i,j]
