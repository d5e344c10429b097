# One sum has two vectors. A maximum takes what is stored alone, though all of it is below zero.
in A: f64 bitmask i64 (45, 37)
in x: f64 dense (37)
skip
y[i] max= 0 - A[i,j] * A[i,j] - x[j] * x[j]

nest {
  par i in A {
    work c: reg f64 {
      vec j in A { c max= 0 - A[i,j] * A[i,j] - x[j] * x[j] }
    } then {
      y[i] = c
    }
  }
}
