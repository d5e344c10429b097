# Missing entries are zeros of a maximum, and rows without entries are zero and no entries.
in A: f32 dcsr i32 (40, 30)
out m: f32 "compressed(0)" i32
m[i] max= A[i,j]
