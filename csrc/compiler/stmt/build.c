/* build.c: constructors of statements that simplify as they build.
 *
 * Every value goes through here, from the lowering as from the S parser, so a
 * printed module parses back to the same tree. Rules: constants fold in the
 * arithmetic of their type; integers wrap, their sums and products with
 * constants are reassociated and the constant goes last; floats change only
 * where IEEE says the result is the same for every operand, NaN and -0 included.
 * Transcendental functions fold at 0 alone: elsewhere their value would depend
 * on the machine that compiles. A conversion to lanes > 1 converts first and
 * splats after; a conversion to bool is a comparison with zero. */
#include "stmt.h"

#include <math.h>

static bool is_const(const Val *v) { return v->op == O_CONST; }
static Type bool_of(Type t) { return (Type){SC_BOOL, t.lanes}; }

static Val *new_val(Prog *p, Op op, Type t, Val *a, Val *b, Val *c)
{
    Val *v = NEW(p, Val);
    *v = (Val){.op = op, .type = t, .kid = {a, b, c}};
    return v;
}

/* ---- constants ---- */
static int64_t wrap(sc_dtype t, uint64_t x)
{
    if (t == SC_BOOL) return x != 0;
    return t == SC_I16 ? (int16_t)(uint16_t)x : t == SC_I32 ? (int32_t)(uint32_t)x : (int64_t)x;
}

static Val *const_int(Prog *p, Type t, uint64_t x)
{
    Val *v = new_val(p, O_CONST, t, NULL, NULL, NULL);
    v->i = wrap((sc_dtype)t.dtype, x);
    return v;
}

static Val *const_float(Prog *p, Type t, double x)
{
    Val *v = new_val(p, O_CONST, t, NULL, NULL, NULL);
    v->f = t.dtype == SC_F64 ? x : (double)(float)x;
    if (type_is_half(t))
        v->f = (double)sc_half_get((sc_dtype)t.dtype, sc_half_put((sc_dtype)t.dtype, (float)x));
    return v;
}

Val *val_int(Prog *p, int64_t x) { return const_int(p, I64, (uint64_t)x); }

/* A float that does not fit the integer type becomes its least value, as on x86. */
static int64_t to_int(double x)
{ return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN; }

Val *val_const(Prog *p, Type t, double x)
{
    if (type_is_float(t)) return const_float(p, t, x);
    if (t.dtype == SC_BOOL) return const_int(p, t, x != 0);
    if (x - x == 0) return const_int(p, t, (uint64_t)to_int(x));
    int64_t whole = 0; /* an infinity is the farthest integer there is */
    union {
        int64_t l;
        int32_t i;
        int16_t h;
    } far = {.l = 0};
    sc_number_put((sc_dtype)t.dtype, &far, 0, x);
    whole = t.dtype == SC_I64 ? far.l : t.dtype == SC_I32 ? far.i : far.h;
    return const_int(p, t, (uint64_t)whole);
}

bool val_is_int(const Val *v, int64_t x) { return is_const(v) && !type_is_float(v->type) && v->i == x; }

static bool is_float_const(const Val *v, double x)
{ return is_const(v) && type_is_float(v->type) && v->f == x && !signbit(v->f) == !signbit(x); }

/* ---- folding ---- */
/* What a constant cannot stand for: division that C does not define, shifts that depend on the width. */
static bool folds_int(Op op, sc_dtype t, int64_t b)
{
    if (op == O_DIV || op == O_MOD) return b != 0 && b != -1;
    if (op == O_SHL || op == O_SHR) return b >= 0 && b < 8 * (int64_t)sc_dtype_size(t);
    return op != O_CTZ && op != O_COUNT && op != O_EXTRACT;
}

static bool folds_float(Op op, double a)
{
    const bool by_machine = op == O_EXP || op == O_LOG || op == O_TANH || op == O_SIGMOID;
    return !by_machine || a == 0;
}

static Val *fold(Prog *p, Op op, Type t, const Val *a, const Val *b)
{
    Type result = op_compares(op) ? bool_of(t) : t;
    if (type_is_float(t)) {
        if (!op_info(op)->reals || !folds_float(op, a->f)) return NULL;
        return val_const(p, result, op_eval(op, a->f, b ? b->f : 0));
    }
    const int64_t y = b ? b->i : 0;
    if (!op_info(op)->integers || !folds_int(op, (sc_dtype)t.dtype, y)) return NULL;
    return const_int(p, result, (uint64_t)op_eval_int(op, a->i, y));
}

/* The same leaf, hence the same value. */
static bool same_leaf(const Val *a, const Val *b)
{
    if (a == b) return a->op != O_LOAD;
    if (a->op != b->op) return false;
    return (a->op == O_VAR && a->local == b->local) || (a->op == O_PARAM && a->param == b->param);
}

/* v as x + *c with integer *c. */
static Val *split_sum(Val *v, uint64_t *c)
{
    *c = 0;
    if ((v->op != O_ADD && v->op != O_SUB) || !is_const(v->kid[1])) return v;
    *c = v->op == O_ADD ? (uint64_t)v->kid[1]->i : 0 - (uint64_t)v->kid[1]->i;
    return v->kid[0];
}

static Val *add_const(Prog *p, Val *x, uint64_t c)
{
    int64_t k = wrap((sc_dtype)x->type.dtype, c);
    if (k == 0) return x;
    if (is_const(x)) return const_int(p, x->type, (uint64_t)x->i + c);
    if (k > 0 || wrap((sc_dtype)x->type.dtype, 0 - c) <= 0)
        return new_val(p, O_ADD, x->type, x, const_int(p, x->type, c), NULL);
    return new_val(p, O_SUB, x->type, x, const_int(p, x->type, 0 - c), NULL);
}

static Val *int_sum(Prog *p, Op op, Val *a, Val *b)
{
    uint64_t ca, cb;
    if (op == O_SUB && same_leaf(a, b)) return const_int(p, a->type, 0);
    if (is_const(b)) {
        Val *x = split_sum(a, &ca);
        return add_const(p, x, op == O_ADD ? ca + (uint64_t)b->i : ca - (uint64_t)b->i);
    }
    if (is_const(a)) return NULL; /* c - x */
    Val *x = split_sum(a, &ca), *y = split_sum(b, &cb);
    if (x == a && y == b) return NULL;
    return add_const(p, val_op(p, op, x, y), op == O_ADD ? ca + cb : ca - cb);
}

static Val *int_rule(Prog *p, Op op, Val *a, Val *b)
{
    switch (op) {
    case O_ADD:
    case O_SUB: return int_sum(p, op, a, b);
    case O_MUL:
        if (val_is_int(b, 0)) return b;
        if (val_is_int(b, 1)) return a;
        if (is_const(b) && a->op == O_MUL && is_const(a->kid[1]))
            return val_op(p, O_MUL, a->kid[0],
                          const_int(p, b->type, (uint64_t)a->kid[1]->i * (uint64_t)b->i));
        return NULL;
    case O_DIV: return val_is_int(b, 1) ? a : NULL;
    case O_MOD: return val_is_int(b, 1) ? const_int(p, a->type, 0) : NULL;
    case O_AND: return val_is_int(b, 0) ? b : b->type.dtype == SC_BOOL && val_is_int(b, 1) ? a : NULL;
    case O_OR: return val_is_int(b, 0) ? a : b->type.dtype == SC_BOOL && val_is_int(b, 1) ? b : NULL;
    case O_SHL:
    case O_SHR: return val_is_int(b, 0) ? a : NULL;
    case O_MIN:
    case O_MAX: return same_leaf(a, b) ? a : NULL;
    default: return NULL;
    }
}

static Val *float_rule(Op op, Val *a, Val *b)
{
    switch (op) {
    case O_ADD: return is_float_const(b, -0.0) ? a : is_float_const(a, -0.0) ? b : NULL;
    case O_SUB: return is_float_const(b, 0.0) ? a : NULL;
    case O_MUL: return is_float_const(b, 1) ? a : is_float_const(a, 1) ? b : NULL;
    case O_DIV: return is_float_const(b, 1) ? a : NULL;
    default: return NULL;
    }
}

static bool commutes(Op op) { return op == O_ADD || op == O_MUL || op == O_AND || op == O_OR; }

static void check_kids(Prog *p, Op op, const Val *a, const Val *b)
{
    if (b && !type_same(a->type, b->type))
        fail(p, SC_EINTERNAL, -1, "'%s' needs two values of one type, got %s and %s: convert one of them",
             op_info(op)->text, type_text(p, a->type), type_text(p, b->type));
}

/* Arithmetic on truth values: any for sums and maxima, all for products and minima. */
static Op bool_op(Op op)
{
    if (op == O_ADD || op == O_MAX) return O_OR;
    return op == O_MUL || op == O_MIN ? O_AND : op;
}

Val *val_op(Prog *p, Op op, Val *a, Val *b)
{
    Type t = a->type;
    Val *r = NULL;
    check_kids(p, op, a, b);
    if (t.dtype == SC_BOOL) op = bool_op(op);
    if (t.dtype == SC_BOOL && (op == O_RELU || op == O_ABS)) return a;
    if (is_const(a) && (!b || is_const(b))) r = fold(p, op, t, a, b);
    if (r) return r;
    if (b && !type_is_float(t) && is_const(a) && commutes(op)) {
        Val *swap = a;
        a = b;
        b = swap;
    }
    if (b)
        r = type_is_float(t) ? float_rule(op, a, b) : int_rule(p, op, a, b);
    else if (op == O_NEG && a->op == O_NEG)
        r = a->kid[0];
    return r ? r : new_val(p, op, op_compares(op) ? bool_of(t) : t, a, b, NULL);
}

Val *val_select(Prog *p, Val *c, Val *a, Val *b)
{
    check_kids(p, O_SELECT, a, b);
    if (is_const(c)) return c->i ? a : b;
    if (same_leaf(a, b)) return a;
    return new_val(p, O_SELECT, a->type, c, a, b);
}

static Val *cast_const(Prog *p, Type t, const Val *v)
{
    if (type_is_float(v->type)) return val_const(p, t, v->f);
    if (type_is_float(t)) return const_float(p, t, t.dtype == SC_F64 ? (double)v->i : (double)(float)v->i);
    return const_int(p, t, (uint64_t)v->i);
}

Val *val_cast(Prog *p, Type t, Val *v)
{
    if (type_same(t, v->type)) return v;
    if (is_const(v)) return cast_const(p, t, v);
    if (v->op == O_CAST && type_is_half(t) && v->type.dtype == SC_F32 && type_same(v->kid[0]->type, t))
        return v->kid[0]; /* every half is an f32 */
    bool through = type_is_half(t) ? v->type.dtype != SC_F32 : type_is_half(v->type) && t.dtype != SC_F32;
    if (through && t.dtype != v->type.dtype)
        return val_cast(p, t, val_cast(p, (Type){SC_F32, v->type.lanes}, v));
    if (t.dtype != v->type.dtype) {
        Type scalar = {t.dtype, v->type.lanes};
        if (t.lanes != v->type.lanes) return val_cast(p, t, val_cast(p, scalar, v));
        if (t.dtype == SC_BOOL) return val_op(p, O_NE, v, val_const(p, v->type, 0));
    }
    return new_val(p, O_CAST, t, v, NULL, NULL);
}

Val *val_hred(Prog *p, Op op, Val *v)
{
    if (v->type.lanes == 1) return v;
    Val *r = new_val(p, O_HRED, (Type){v->type.dtype, 1}, v, NULL, NULL);
    r->reduce = op;
    return r;
}

Val *val_lane(Prog *p, Val *v, int lane)
{
    Val *r = new_val(p, O_LANE, (Type){v->type.dtype, 1}, v, NULL, NULL);
    r->i = lane;
    return r;
}

Val *val_first(Prog *p, int lanes, Val *n)
{ return new_val(p, O_FIRST, (Type){SC_BOOL, (uint8_t)lanes}, n, NULL, NULL); }

Val *val_load(Prog *p, Buf *buf, int lanes, Val *index, Val *stride)
{
    if (stride && (lanes == 1 || val_is_int(stride, 1))) stride = NULL;
    Val *v = new_val(p, O_LOAD, (Type){(uint8_t)buf->dtype, (uint8_t)lanes}, index, stride, NULL);
    v->buf = buf;
    return v;
}

Val *val_search(Prog *p, Buf *buf, Val *from, Val *to, Val *x)
{
    Val *v = new_val(p, O_SEARCH, I64, from, to, x);
    v->buf = buf;
    return v;
}

Val *val_pick(Prog *p, Buf *buf, int lanes, Val *base, Val *stride, Val *crd)
{
    Val *v = val_load(p, buf, lanes, base, stride);
    v->op = O_PICK;
    v->kid[2] = crd;
    return v;
}

Val *val_pair(Prog *p, Buf *buf, Val *at)
{
    Val *v = new_val(p, O_PAIR, I64, at, NULL, NULL);
    v->buf = buf;
    return v;
}

Val *val_marks(Prog *p, Buf *buf, Val *at)
{
    Val *v = new_val(p, O_MARKS, I64, at, NULL, NULL);
    v->buf = buf;
    return v;
}

Val *val_part(Prog *p, Buf *buf, Val *from, Val *to)
{
    Val *v = new_val(p, O_PART, I64, from, to, NULL);
    v->buf = buf;
    return v;
}

Val *val_meet(Prog *p, Val *part, Val *other) { return new_val(p, O_MEET, I64, part, other, NULL); }

Val *val_bits(Prog *p, int lanes, Val *bits)
{ return new_val(p, O_BITS, (Type){SC_BOOL, (uint8_t)lanes}, bits, NULL, NULL); }

Val *val_masked(Prog *p, Buf *buf, int lanes, Val *at, Val *bits)
{
    Val *v = new_val(p, O_MASKED, (Type){(uint8_t)buf->dtype, (uint8_t)lanes}, at, bits, NULL);
    v->buf = buf;
    return v;
}

Val *val_expand(Prog *p, Buf *buf, int lanes, Val *at, Val *bits)
{
    Val *v = val_masked(p, buf, lanes, at, bits);
    v->op = O_EXPAND;
    return v;
}

Val *val_spread(Prog *p, Buf *buf, int lanes, Val *at, Val *bits, Val *fill)
{
    Val *v = new_val(p, O_SPREAD, (Type){(uint8_t)buf->dtype, (uint8_t)lanes}, at, bits, fill);
    v->buf = buf;
    return v;
}

Val *val_dot(Prog *p, Buf *buf, Val *at, Val *x, Val *y)
{
    Val *v = new_val(p, O_DOT, (Type){SC_F32, x->type.lanes}, at, x, y);
    v->buf = buf;
    return v;
}

Val *val_local(Prog *p, Local *l)
{
    Val *v = new_val(p, O_VAR, l->type, NULL, NULL, NULL);
    v->local = l;
    return v;
}

Val *val_param(Prog *p, Param *q)
{
    Val *v = new_val(p, O_PARAM, I64, NULL, NULL, NULL);
    v->param = q;
    return v;
}

/* name_fresh() avoids words of C; the vector types of the generated text are ours to avoid. */
static const char *unlike_type(Prog *p, const char *stem)
{ return type_named(stem, NULL) ? sc_arena_printf(&p->arena, "v_%s", stem) : name_stem(p, stem); }

static const char *name_new(Prog *p, const char *stem) { return name_fresh(p, unlike_type(p, stem)); }

/* ---- what a module declares ---- */
Param *module_param(Prog *p, ParamOrigin origin, int a, int b, const char *name)
{
    Module *m = prog_module(p);
    for (int k = 0; k < m->nparam; k++) {
        Param *q = m->param[k];
        if (q->origin == origin && q->a == a && q->b == b) return q;
    }
    if (m->nparam == SC_LEN(m->param))
        fail(p, SC_ENOTIMPL, -1, "the kernel needs more than %d run-time numbers: split the expression",
             SC_LEN(m->param));
    Param *q = NEW(p, Param);
    bool range = origin == P_BEGIN || origin == P_END;
    *q = (Param){.name = range ? (origin == P_BEGIN ? "begin" : "end") : name_new(p, name),
                 .origin = origin,
                 .a = a,
                 .b = b};
    return m->param[m->nparam++] = q;
}

/* One array has one name, written if any use writes it: the C text says restrict. */
Buf *module_buf(Prog *p, BufOrigin origin, int arg, int level, sc_dtype dtype, bool mut, const char *name)
{
    Module *m = prog_module(p);
    for (int k = 0; k < m->nbuf; k++) {
        Buf *b = m->buf[k];
        if (b->origin != origin || b->arg != arg || b->level != level || b->dtype != dtype) continue;
        b->mut |= mut;
        return b;
    }
    if (m->nbuf == SC_LEN(m->buf))
        fail(p, SC_ENOTIMPL, -1, "the kernel needs more than %d arrays: split the expression",
             SC_LEN(m->buf));
    Buf *b = NEW(p, Buf);
    *b = (Buf){
        .name = name_new(p, name), .dtype = dtype, .mut = mut, .origin = origin, .arg = arg, .level = level};
    return m->buf[m->nbuf++] = b;
}

Local *local_new(Prog *p, const char *stem, Type type, bool mut)
{
    Local *l = NEW(p, Local);
    *l = (Local){.name = unlike_type(p, stem), .type = type, .mut = mut, .slot = -1};
    return l;
}
