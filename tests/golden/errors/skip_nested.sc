# Sums inside of an expression have no value where nothing is stored.
skip
in A: f32 csr i32 (100, 80)
C[i] = relu(A[i,j]) + 1
