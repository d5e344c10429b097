/* ops.h: every operator, once.
 *
 * OP(id, spelling, arity, form, at_zero)
 *   form     INFIX PREFIX CALL: how E and S text spell it
 *   at_zero  value of f(0) for unary functions, of f(0, 0) for binary ones
 * The first block may appear in expressions and in statements; the second in
 * statements only (integer arithmetic of addresses and bitmaps). */
#ifdef OP
OP(ADD, "+", 2, INFIX, 0)
OP(SUB, "-", 2, INFIX, 0)
OP(MUL, "*", 2, INFIX, 0)
OP(DIV, "/", 2, INFIX, NAN)
OP(MIN, "min", 2, CALL, 0)
OP(MAX, "max", 2, CALL, 0)
OP(LT, "<", 2, INFIX, 0)
OP(LE, "<=", 2, INFIX, 1)
OP(GT, ">", 2, INFIX, 0)
OP(GE, ">=", 2, INFIX, 1)
OP(EQ, "==", 2, INFIX, 1)
OP(NE, "!=", 2, INFIX, 0)
OP(NEG, "-", 1, PREFIX, 0)
OP(RELU, "relu", 1, CALL, 0)
OP(ABS, "abs", 1, CALL, 0)
OP(SQRT, "sqrt", 1, CALL, 0)
OP(EXP, "exp", 1, CALL, 1)
OP(LOG, "log", 1, CALL, -INFINITY)
OP(TANH, "tanh", 1, CALL, 0)
OP(SIGMOID, "sigmoid", 1, CALL, 0.5)
OP(STORED, "stored", 1, CALL, 0) /* of an access: 1 where it has an entry, missing where not */
#endif
#ifdef OPS
OPS(MOD, "%", 2, INFIX)
OPS(AND, "&", 2, INFIX)
OPS(OR, "|", 2, INFIX)
OPS(SHL, "<<", 2, INFIX)
OPS(SHR, ">>", 2, INFIX)
OPS(CTZ, "ctz", 1, CALL)
OPS(COUNT, "count", 1, CALL)     /* of the bits that are set */
OPS(EXTRACT, "extract", 2, CALL) /* the bits of a where b has one, side by side */
OPS(SELECT, "select", 3, CALL)
OPS(EVEN, "even", 2, CALL) /* lanes 0, 2, 4, .. of a, then those of b */
OPS(ODD, "odd", 2, CALL)   /* lanes 1, 3, 5, .. */
#endif
