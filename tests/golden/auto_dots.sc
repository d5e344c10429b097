# Weights of bf16 on a target with dot products of pairs: x is packed as it is, and entries are taken two at a time.
dots
in x: bf16 dense (32, 96)
in W: bf16 csr i32 (80, 96)
C[n,o] = x[n,i] * W[o,i]
