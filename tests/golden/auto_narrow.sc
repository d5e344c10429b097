# Sums of 16 bit floats that memory takes are taken in f32.
in A: bf16 csc i32 (40, 300)
in x: bf16 dense (300, 2)
schedule order(k, j, i)
C[i,k] = A[i,j] * x[j,k]
