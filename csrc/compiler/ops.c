/* ops.c: the operator table of ops.h as data and as functions on numbers. */
#include "stmt.h"

#include <math.h>

static const OpInfo info[] = {
#define OP(id, text, arity, form, zero) [O_##id] = {text, arity, F_##form, zero},
#include "ops.h"
#undef OP
#define OPS(id, text, arity, form) [O_##id] = {text, arity, F_##form, NAN},
#include "ops.h"
#undef OPS
    [O_LAST_E] = {"?", 0, F_CALL, NAN},      [O_CONST] = {"const", 0, F_CALL, NAN},
    [O_ACCESS] = {"access", 0, F_CALL, 0},   [O_REDUCE] = {"reduce", 1, F_CALL, 0},
    [O_VAR] = {"var", 0, F_CALL, NAN},       [O_PARAM] = {"param", 0, F_CALL, NAN},
    [O_LOAD] = {"load", 2, F_CALL, NAN},     [O_CAST] = {"cast", 1, F_CALL, 0},
    [O_HRED] = {"hred", 1, F_CALL, 0},       [O_SEARCH] = {"search", 3, F_CALL, 0},
    [O_PART] = {"part", 2, F_CALL, NAN},     [O_MEET] = {"meet", 2, F_CALL, NAN},
    [O_SPREAD] = {"spread", 3, F_CALL, NAN}, [O_FIRST] = {"first", 1, F_CALL, 0},
    [O_LANE] = {"lane", 1, F_CALL, 0},
};

bool op_compares(Op op) { return op >= O_LT && op <= O_NE; }

const OpInfo *op_info(Op op) { return &info[op]; }

double op_identity(Op op) { return op == O_MUL ? 1 : op == O_MAX ? -INFINITY : op == O_MIN ? INFINITY : 0; }

static double eval_unary(Op op, double a)
{
    switch (op) {
    case O_NEG: return -a;
    case O_RELU: return a > 0 || a != a ? a : 0;
    case O_ABS: return fabs(a);
    case O_SQRT: return sqrt(a);
    case O_EXP: return exp(a);
    case O_LOG: return log(a);
    case O_TANH: return tanh(a);
    case O_SIGMOID: return 1 / (1 + exp(-a));
    case O_STORED: return 1;
    default: return NAN;
    }
}

/* min and max propagate NaN. */
double op_eval(Op op, double a, double b)
{
    switch (op) {
    case O_ADD: return a + b;
    case O_SUB: return a - b;
    case O_MUL: return a * b;
    case O_DIV: return a / b;
    case O_MIN: return a < b || a != a ? a : b;
    case O_MAX: return a > b || a != a ? a : b;
    case O_LT: return a < b;
    case O_LE: return a <= b;
    case O_GT: return a > b;
    case O_GE: return a >= b;
    case O_EQ: return a == b;
    case O_NE: return a != b;
    default: return eval_unary(op, a);
    }
}
