# Softmax of the stored entries of each row.
in A: f32 csr i32 (100, 80)
out C: like A
skip
m[i] max= A[i,j]
s[i] += exp(A[i,j] - m[i])
C[i,j] = exp(A[i,j] - m[i]) / s[i]
nest {
  par i in A {
    work mx: reg f32 {
      for j in A { mx max= A[i,j] }
    } then {
      m[i] = mx
      work z: reg f32 {
        for j in A { z += exp(A[i,j] - mx) }
      } then {
        s[i] = z
        for j in A { C[i,j] = exp(A[i,j] - mx) / z }
      }
    }
  }
}
