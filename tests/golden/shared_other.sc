# A workspace is read at another index than it was filled at.
in A: f32 csr i32 (40, 40)
in B: f32 csr i32 (40, 40)
in d: f32 dense (40)
t[i] = A[i,j] * d[j]
C[i] = B[i,k] * t[k]
nest {
  work s[i]: shared f32 {
    par i in A { work c: reg f32 { for j in A { c += A[i,j] * d[j] } } then { s[i] = c } }
  } then {
    par i in B {
      work e: reg f32 { for k in B { e += B[i,k] * s[k] } } then { C[i] = e }
      t[i] = s[i]
    }
  }
}
