# Words of bits: entries are spread to the lanes of their bits, and rows of x share them, a sum each.
in x: f32 dense (12, 100)
in A: f32 bitmask i32 (70, 100)
y[b,i] = A[i,j] * x[b,j]
