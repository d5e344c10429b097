# Words of bits: entries are spread to the lanes of their bits, and rows of x share them, a sum each.
in x: f32 dense (12, 100)
in A: f32 bitmask i32 (70, 100)
y[b,i] = A[i,j] * x[b,j]

nest {
  par i in A {
    for b/8 {
      work c[b%8]: reg f32 {
        vec j in A {
          for b%8 unroll 8 { c[b%8] += A[i,j] * x[b,j] }
        }
      } then {
        for b%8 unroll 8 { y[b,i] = c[b%8] }
      }
    }
  }
}
