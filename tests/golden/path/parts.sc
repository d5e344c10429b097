# A matrix in two parts: a step for each, which takes less than both in one nest, though what is done is the same.
in A: f32 csr i32 (4096, 4096) positions(4096, 800000)
in B: f32 csr i32 (4096, 4096) positions(4096, 800000)
in x: f32 dense (4096)
y[i] = A[i,j] * x[j] + B[i,k] * x[k]
