# Fibres summed three at a time, inside of slices that may have none: what they add first, then the sums.
in T: f64 csf i32 (6, 9, 40)
in x: f32 dense (40)
in y: f64 dense (6)
C[i,j] = T[i,j,k] * x[k] * y[i]
nest {
  par i in T {
    for j in T batch 3 {
      work s: reg f64 {
        for k in T { s += T[i,j,k] * x[k] * y[i] }
      } then {
        C[i,j] = s
      }
    }
  }
}
