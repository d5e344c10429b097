# The entries of H are those of A, which the loops follow one level only: nothing of it is read in front of them.
in A: f64 coo i32 (19, 18)
in G: f64 csr i32 (19, 18)
in H: f64 coo i32 (19, 18) like A
out R: like G
R[a,b] = stored(G[a,b]) * H[a,b] * stored(A[a,b])
