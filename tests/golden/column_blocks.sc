# A stored by blocks of 64 columns; the panel of B that a block needs is packed.
in A: f32 "dense(1/64), dense(0), compressed(1%64)" i32 (100, 256)
in B: f32 dense (256, 128)
C[i,k] = A[i,j] * B[j,k]
nest {
  for k/64 {
    for j/64 in A {
      work p[j%64,k%64]: lane f32 {
        for j%64 { vec k%64 { p[j%64,k%64] = B[j,k] } }
      } then {
        par i in A {
          work c[k%64]: reg f32 {
            for j%64 in A { vec k%64 { c[k%64] += A[i,j] * p[j%64,k%64] } }
          } then {
            vec k%64 { C[i,k] += c[k%64] }
          }
        }
      }
    }
  }
}
