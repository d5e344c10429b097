# Entries of one level are walked inside of a loop over the level below: what is prefetched is found by the first.
in A: f32 "dense(0), compressed(1), dense(2)" i32 (100, 80, 8)
in B: f32 dense (80, 8, 8)
C[i,h,f] = A[i,j,h] * B[j,h,f]

nest {
par i in A {
  for h {
  work c[f]: reg f32 {
    for j in A ahead 4 {
      vec f {
        c[f] += A[i,j,h] * B[j,h,f]
      }
    }
  } then {
    vec f {
      C[i,h,f] = c[f]
    }
  }
  }
}
}
