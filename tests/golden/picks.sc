# Where entries are many, their coordinates pick numbers of the dense operand, a vector at a time.
in A: f32 csr i32 (100, 800)
in x: f32 dense (800)
C[i] = A[i,j] * x[j]
nest {
  par i in A {
    work c: reg f32 {
      vec j in A {
        c += A[i,j] * x[j]
      }
    } then {
      C[i] = c
    }
  }
}
