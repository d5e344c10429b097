# Columns are picked at a stride; coordinates of 64 bits are loaded one by one.
in A: bf16 csr i64 (100, 800)
in B: bf16 dense (800, 3)
C[i,k] = A[i,j] * B[j,k]
nest {
  par i in A {
    for k {
      work c: reg f32 {
        vec j in A {
          c += A[i,j] * B[j,k]
        }
      } then {
        C[i,k] = c
      }
    }
  }
}
