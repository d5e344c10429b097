# Rows of a panel are asked for as those of an operand are: a piece of a row of B, not all of it.
in A: f32 csr i32 (30, 40)
in B: f32 dense (40, 48)
C[i,k] = A[i,j] * B[j,k]
nest {
  par k/16 {
    work t[j,k%16]: lane f32 {
      for j { vec k%16 { t[j,k%16] = B[j,k] } }
    } then {
      for i in A {
        work c[k%16]: reg f32 {
          for j in A ahead 4 { vec k%16 { c[k%16] += A[i,j] * t[j,k%16] } }
        } then {
          vec k%16 { C[i,k] = c[k%16] }
        }
      }
    }
  }
}
