# Column sums in private copies, added up in a shared workspace while the copies are there, read by later kernels.
in A: f32 csr i32 (90, 40)
t[j] = A[i,j]
C[i] = A[i,j] * t[j]
nest {
  work c[j]: private f32 {
    par i in A { for j in A { c[j] += A[i,j] } }
  } then {
    work s[j]: shared f32 {
      par j { s[j] = c[j] }
    } then {
      par j { t[j] = s[j] }
      par i in A {
        work d: reg f32 { for j in A { d += A[i,j] * s[j] } } then { C[i] = d }
      }
    }
  }
}
