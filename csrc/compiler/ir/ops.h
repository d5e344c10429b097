/* ops.h: every operator, once.
 *
 * OP(id, spelling, arity, form, at_zero, work, reals, integers)
 *   form      INFIX PREFIX CALL: how E and S text spell it
 *   at_zero   value of f(0) for unary functions, of f(0, 0) for binary ones
 *   work      SIMPLE: about an addition; SLOW: one instruction that takes long; SERIES: some 20 operations, which
 *             merges do not compute where nobody may need them
 *   reals     REAL(what it is of the doubles a and b), or NONE: it does not apply to them
 *   integers  INT(what it is of the int64_t a and b, or of x and y, the same as uint64_t), or NONE. Sums wrap, division
 *             by zero is 0, shifts take their count modulo 64.
 * The first block may appear in expressions and in statements, OPS in statements only (integer arithmetic of addresses
 * and bitmaps), LEAF(id, name, arity, at_zero) has what is no function of numbers. Constant folding, the oracle and the
 * executor compute what is written here. min and max propagate NaN. */
#ifdef OP
OP(ADD, "+", 2, INFIX, 0, SIMPLE, REAL(a + b), INT(x + y))
OP(SUB, "-", 2, INFIX, 0, SIMPLE, REAL(a - b), INT(x - y))
OP(MUL, "*", 2, INFIX, 0, SIMPLE, REAL(a *b), INT(x *y))
OP(DIV, "/", 2, INFIX, NAN, SLOW, REAL(a / b), INT(b == 0 ? 0 : b == -1 ? 0 - x : (uint64_t)(a / b)))
OP(MIN, "min", 2, CALL, 0, SIMPLE, REAL(a < b || a != a ? a : b), INT(a < b ? a : b))
OP(MAX, "max", 2, CALL, 0, SIMPLE, REAL(a > b || a != a ? a : b), INT(a > b ? a : b))
OP(LT, "<", 2, INFIX, 0, SIMPLE, REAL(a < b), INT(a < b))
OP(LE, "<=", 2, INFIX, 1, SIMPLE, REAL(a <= b), INT(a <= b))
OP(GT, ">", 2, INFIX, 0, SIMPLE, REAL(a > b), INT(a > b))
OP(GE, ">=", 2, INFIX, 1, SIMPLE, REAL(a >= b), INT(a >= b))
OP(EQ, "==", 2, INFIX, 1, SIMPLE, REAL(a == b), INT(a == b))
OP(NE, "!=", 2, INFIX, 0, SIMPLE, REAL(a != b), INT(a != b))
OP(NEG, "-", 1, PREFIX, 0, SIMPLE, REAL(-a), INT(0 - x))
OP(RELU, "relu", 1, CALL, 0, SIMPLE, REAL(a > 0 || a != a ? a : 0), INT(a > 0 ? a : 0))
OP(ABS, "abs", 1, CALL, 0, SIMPLE, REAL(fabs(a)), INT(a < 0 ? 0 - x : x))
OP(SQRT, "sqrt", 1, CALL, 0, SLOW, REAL(sqrt(a)), NONE)
OP(EXP, "exp", 1, CALL, 1, SERIES, REAL(exp(a)), NONE)
OP(LOG, "log", 1, CALL, -INFINITY, SERIES, REAL(log(a)), NONE)
OP(TANH, "tanh", 1, CALL, 0, SERIES, REAL(tanh(a)), NONE)
OP(SIGMOID, "sigmoid", 1, CALL, 0.5, SERIES, REAL(a < 0 ? exp(a) / (1 + exp(a)) : 1 / (1 + exp(-a))), NONE)
OP(STORED, "stored", 1, CALL, 0, SIMPLE, REAL(1),
   INT(1)) /* of an access: 1 where it has an entry, missing where not */
#endif
#ifdef OPS
OPS(MOD, "%", 2, INFIX, NONE, INT(b == 0 || b == -1 ? 0 : a % b))
OPS(AND, "&", 2, INFIX, NONE, INT(x &y))
OPS(OR, "|", 2, INFIX, NONE, INT(x | y))
OPS(SHL, "<<", 2, INFIX, NONE, INT(x << (y & 63)))
OPS(SHR, ">>", 2, INFIX, NONE, INT(a >> (y & 63)))
OPS(CTZ, "ctz", 1, CALL, NONE, INT(x ? __builtin_ctzll(x) : 64))
OPS(COUNT, "count", 1, CALL, NONE, INT(__builtin_popcountll(x))) /* of the bits that are set */
OPS(EXTRACT, "extract", 2, CALL, NONE, INT(extracted(x, y))) /* the bits of a where b has one, side by side */
OPS(SELECT, "select", 3, CALL, NONE, NONE)
OPS(EVEN, "even", 2, CALL, NONE, NONE) /* lanes 0, 2, 4, .. of a, then those of b */
OPS(ODD, "odd", 2, CALL, NONE, NONE)   /* lanes 1, 3, 5, .. */
#endif
#ifdef LEAF
LEAF(CONST, "const", 0, NAN) /* E, S: a number */
LEAF(ACCESS, "access", 0, 0) /* E: a tensor at indices */
LEAF(REDUCE, "reduce", 1, 0) /* E: kid[0] reduced over vars with `reduce` */
LEAF(VAR, "var", 0, NAN)     /* S: a local */
LEAF(PARAM, "param", 0, NAN) /* S: a run-time number of the call */
LEAF(LOAD, "load", 2, NAN)   /* S: buf[kid[0]], lanes consecutive, or lanes at stride kid[1] */
LEAF(CAST, "cast", 1, 0)     /* S: kid[0] to the node's type; a scalar to lanes > 1 is a splat */
LEAF(HRED, "hred", 1, 0)     /* S: the lanes of kid[0] reduced with `reduce` to a scalar, in a fixed order */
LEAF(LANE, "lane", 1, 0)     /* S: lane i of kid[0] */
LEAF(FIRST, "first", 1,
     0) /* S: truth values, those of the lanes below kid[0], which is not negative and below 2^31 */
LEAF(BITS, "bits", 1, 0) /* S: truth values, lane k is bit k of kid[0]; of lanes of 32 or 64 bits */
LEAF(MASKED, "masked", 2,
     NAN) /* S: lanes of buf from kid[0] on where kid[1] has a bit, which alone are read; else 0 */
LEAF(SEARCH, "search", 3,
     0) /* S: first position in [kid[0], kid[1]) of buf whose entry is >= kid[2]; kid[1] if none is */
LEAF(MARKS, "marks", 1, NAN) /* S: bit k is whether entry kid[0] + k of buf, truth values, is true */
LEAF(PART, "part", 2,
     NAN) /* S: entries kid[0] to kid[1] of the index array buf, ascending without repetition */
LEAF(MEET, "meet", 2,
     NAN) /* S: the parts kid[0] and kid[1] merged, as far as that takes one vector of each: bit k says
                                whether the k-th coordinate is in the first, bit 32 + k in the second; at least one bit if
                                any is left */
LEAF(
    PICK, "pick", 3,
    NAN) /* S: lanes. Entries of buf at kid[0] + kid[1] * c, or kid[0] + c, for the coordinates c that kid[2] loads */
LEAF(PAIR, "pair", 1,
     NAN) /* S: entries kid[0] and kid[0] + 1 of the i32 index array buf, the second 32 bits up */
LEAF(
    DOT, "dot", 3,
    NAN) /* S: lanes of f32. Entry kid[0] of the bf16 array buf times kid[1], and the one behind it times kid[2] */
LEAF(SPREAD, "spread", 3,
     NAN) /* S: lanes. Where kid[1] has a bit: the entries of buf from kid[0] on, in order; else
                                  kid[2] */
LEAF(EXPAND, "expand", 2,
     NAN) /* S: lanes. The same, else 0; what lies behind the entries may be loaded, and is not read */
#endif
