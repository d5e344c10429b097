# Every coordinate is computed, and the result is delivered sparse: which entries it has is computed beside.
in A: f64 csr i32 (40, 40)
in B: f64 csr i32 (40, 40)
R[i,j] = A[i,j] + B[i,i] * B[j,j]
