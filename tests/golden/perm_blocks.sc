# Values lie elsewhere: no vector can load the last level of the blocks.
in A: f32 "dense(0/14), compressed(1), dense(0%14)" i64 (14, 14) perm
in B: f32 dense ()
C[i,j] = (A[j,i] - B)
nest {
  par i { for j/14 { for i merge A { vec j%14 { C[i,j] = A[j,i] - B } } } }
}
