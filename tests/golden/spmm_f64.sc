# A width below every vector, in double precision.
in A: f64 csr i32 (100, 80)
in B: f64 dense (80, 3)
C[i,k] = A[i,j] * B[j,k]
