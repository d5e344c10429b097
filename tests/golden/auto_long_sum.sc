# A long sum: vectors side by side hide what an addition takes, and less and less of them is left at the end.
nofold
in x: f32 dense (40, 300)
in y: f32 dense (40, 300)
s[i] = x[i,k] * y[i,k]
