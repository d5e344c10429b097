# A sparse vector times a sparse vector.
in a: f64 "compressed(0)" i64 (200)
in b: f64 "compressed(0)" i64 (200)
out c: f64 "compressed(0)" i64
c[i] = a[i] * b[i] + 2 * a[i]
nest {
  for i merge a, b { c[i] = a[i] * b[i] + 2 * a[i] }
}
