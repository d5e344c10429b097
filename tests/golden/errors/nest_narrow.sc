# A workspace of bf16 takes copies of operands alone: sums of its own would be rounded.
in A: bf16 csr i32 (40, 30)
in B: bf16 dense (30, 16)
C[i,k] = A[i,j] * B[j,k]
nest {
  work t[j,k]: lane bf16 {
    for j {
      vec k {
        t[j,k] = B[j,k] * B[j,k]
      }
    }
  } then {
    par i in A {
      for j in A {
        vec k {
          C[i,k] += A[i,j] * t[j,k]
        }
      }
    }
  }
}
