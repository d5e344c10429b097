# The gradient of the largest of each column: how many attain it is counted by columns, and read by rows.
in A: f32 csr i32 (4000, 4000) positions(4000, 40000)
in r: f32 dense (4000)
in g: f32 dense (4000)
n[j] += A[i,j] == r[j]
G[i,j] = stored(A[i,j]) * g[j] * (A[i,j] == r[j]) / n[j]
