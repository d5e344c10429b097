# Blocks of 4 by 4: four rows of the result in registers.
in A: f32 bsr(4,4) i32 (100, 80)
in B: f32 dense (80, 32)
C[i,k] = A[i,j] * B[j,k]
nest {
  par i/4 in A {
    work c[i%4,k]: reg f32 {
      for j/4 in A {
        for j%4 unroll 4 { for i%4 unroll 4 { vec k { c[i%4,k] += A[i,j] * B[j,k] } } }
      }
    } then {
      for i%4 unroll 4 { vec k { C[i,k] = c[i%4,k] } }
    }
  }
}
