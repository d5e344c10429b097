# What is made of short floats on the way is float32; the step that reads it promises the short type.
in A: bf16 csr i32 (4000, 4000)
in B: bf16 csr i32 (4000, 4000)
in x: bf16 dense (4000)
y[i] = A[i,j] * B[j,k] * x[k]
