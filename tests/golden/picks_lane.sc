# What is picked of a workspace of the lane, here 16 bit floats that were made f32.
in A: bf16 csr i32 (100, 800)
in x: bf16 dense (800)
C[i] = A[i,j] * x[j]
nest {
  work t[j]: lane f32 {
    vec j {
      t[j] = x[j]
    }
  } then {
    par i in A {
      work c: reg f32 {
        vec j in A {
          c += A[i,j] * t[j]
        }
      } then {
        C[i] = c
      }
    }
  }
}
