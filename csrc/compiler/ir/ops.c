/* ops.c: the operator table of ops.h as data and as functions on numbers. */
#include "ir.h"

#include <math.h>

static const OpInfo info[] = {
#define REAL(e) true
#define INT(e) true
#define NONE false
#define OP(id, text, arity, form, zero, work, real, integer)                                                 \
    [O_##id] = {text, arity, F_##form, zero, W_##work, real, integer, false},
#define OPS(id, text, arity, form, real, integer)                                                            \
    [O_##id] = {text, arity, F_##form, NAN, W_SIMPLE, real, integer, false},
#define LEAF(id, text, arity, zero) [O_##id] = {text, arity, F_CALL, zero, W_SIMPLE, false, false, true},
#include "ops.h"
#undef REAL
#undef INT
#undef NONE
#undef OP
#undef OPS
#undef LEAF
    [O_LAST_E] = {"?", 0, F_CALL, NAN, W_SIMPLE, false, false, true}};

const OpInfo *op_info(Op op) { return &info[op]; }

bool op_compares(Op op)
{ return op == O_LT || op == O_LE || op == O_GT || op == O_GE || op == O_EQ || op == O_NE; }

double op_identity(Op op) { return op == O_MUL ? 1 : op == O_MAX ? -INFINITY : op == O_MIN ? INFINITY : 0; }

double op_eval(Op op, double a, double b)
{
    switch (op) {
#define REAL(e) return e;
#define NONE break;
#define OP(id, text, arity, form, zero, work, real, integer)                                                 \
    case O_##id: real
#define OPS(id, text, arity, form, real, integer)                                                            \
    case O_##id: real
#define LEAF(id, ...)                                                                                        \
    case O_##id: break;
#include "ops.h"
#undef REAL
#undef NONE
#undef OP
#undef OPS
#undef LEAF
    case O_LAST_E: break;
    }
    return NAN;
}

static int64_t extracted(uint64_t x, uint64_t bits)
{
    int64_t out = 0;
    for (int k = 0; bits; bits &= bits - 1) out |= (int64_t)(x >> __builtin_ctzll(bits) & 1) << k++;
    return out;
}

int64_t op_eval_int(Op op, int64_t a, int64_t b)
{
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
#define INT(e) return (int64_t)(e);
#define NONE break;
#define OP(id, text, arity, form, zero, work, real, integer)                                                 \
    case O_##id: integer
#define OPS(id, text, arity, form, real, integer)                                                            \
    case O_##id: integer
#define LEAF(id, ...)                                                                                        \
    case O_##id: break;
#include "ops.h"
#undef INT
#undef NONE
#undef OP
#undef OPS
#undef LEAF
    case O_LAST_E: break;
    }
    return 0;
}

bool op_is_whole(double x) { return x >= -0x1p63 && x < 0x1p63 && x == (double)(int64_t)x; }

bool op_eval_in(sc_dtype type, Op op, double a, double b, double *out)
{
    const bool wraps = type == SC_I32;
    if ((type == SC_I64 || wraps) && info[op].integers) {
        if (!op_is_whole(a) || !op_is_whole(b)) return false;
        const int64_t x = (int64_t)a, y = (int64_t)b;
        const int64_t v = wraps ? (int32_t)op_eval_int(op, (int32_t)x, (int32_t)y) : op_eval_int(op, x, y);
        *out = (double)v;
        return v > -(INT64_C(1) << 53) && v < INT64_C(1) << 53;
    }
    *out = type == SC_F32 ? (float)op_eval(op, (float)a, (float)b) : op_eval(op, a, b);
    return true;
}
