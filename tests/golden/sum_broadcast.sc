# A sum of a row that is added to each element of a row of the result, entry by entry of its blocks: it has no
# element to go on from.
in A: f32 "bsr(2,2)" i32 (6, 8)
in B: f32 dense (6, 5)
C[i,j] = A[i,r] - 0*B[i,j]

nest {
par i/2 in A {
  for r/2 in A {
    for i%2 {
      work c: reg f32 {
        for r%2 {
          c += A[i,r]
        }
      } then {
        for j {
          C[i,j] += c
        }
      }
    }
  }
}
}
