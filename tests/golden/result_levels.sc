# Three compressed levels of which the operand has two, products of entries and a transposed dimension order.
in A: f32 "dense(2), compressed(0), compressed(1)" i32 (9, 8, 10)
in d: f32 dense (8)
out C: f32 "compressed(2), compressed(0), compressed(1)" i32
C[i,j,k] = A[i,j,k] * d[j]
nest {
  par k in A { for i in A { for j in A { C[i,j,k] = A[i,j,k] * d[j] } } }
}
