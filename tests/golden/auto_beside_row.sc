# A value everywhere and another where entries are stored, reduced: a row of them is a workspace.
in A: f32 csr i32 (100, 80)
in X: f32 dense (100, 80)
in v: f32 dense (80)
y[i] += relu(X[i,j] - A[i,j]) * v[j]
