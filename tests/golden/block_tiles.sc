# Rows of a block beyond the registers: eight at a time.
in A: f32 bsr(32, 32) i32 (64, 64)
in x: f32 dense (64, 40)
C[i,k] = A[i,j] * x[j,k]
nest {
  par i/32 in A {
    for k/32 {
      for i/8 {
        work c[i%8,k%32]: reg f32 {
          for j/32 in A {
            for j%32 {
              for i%8 unroll 8 {
                vec k%32 {
                  c[i%8,k%32] += A[i,j] * x[j,k]
                }
              }
            }
          }
        } then {
          for i%8 unroll 8 {
            vec k%32 {
              C[i,k] = c[i%8,k%32]
            }
          }
        }
      }
    }
  }
}
