# Sparse vectors.
in a: f32 "compressed(0)" i32 (100)
in b: f32 "compressed(0)" i32 (100)
c[i] = a[i] + b[i]
