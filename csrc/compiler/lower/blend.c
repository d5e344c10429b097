/* blend.c: two tensors merged without a branch for every case.
 *
 * A term is the largest part of an expression that is absent where one of the tensors is. Where that tensor has no
 * entry at the coordinate of this step, the term is replaced by a zero that changes no sum. That gives the value with
 * the tensor absent, where terms reach the root of the expression only through sums, maxima and the like, and through
 * products with finite numbers. A term is computed from the entry that its tensor has next, and then selected or not:
 * nothing is multiplied by zero, so infinities and NaN do no harm. A Spread is the same for a vector of coordinates:
 * zeros are read in place of the entries, where that makes every term its zero. */
#include "private.h"

#include <math.h>

static unsigned read_by(const Blend *b, const Expr *e)
{ return (expr_reads(e, b->t[0]) ? 1u : 0) | (expr_reads(e, b->t[1]) ? 2u : 0); }

static bool is_term(Low *l, const Blend *b, const Expr *e)
{
    const unsigned in = read_by(b, e);
    return (in == 1 || in == 2) && !expr_absent(l->p, (Expr *)e, tensor_bit(l->p, b->t[in - 1]));
}

static bool is_factor(const Expr *e) { return e->op == O_CONST && isfinite(e->c) && e->c != 0; }

/* Cheap to compute, and no trap where the value is not used: integers are not divided. */
static bool is_short(const Low *l, const Expr *e)
{
    if (op_info(e->op)->work == W_SERIES) return false;
    if (e->op == O_DIV && l->p->type < SC_F16) return false;
    return (!e->kid[0] || is_short(l, e->kid[0])) && (!e->kid[1] || is_short(l, e->kid[1]));
}

bool blend_applies(Low *l, const Blend *b, const Expr *e)
{
    if (l->p->type == SC_BOOL || l->p->type == SC_I16 || !is_short(l, e)) return false;
    if (!read_by(b, e) || is_term(l, b, e)) return true;
    switch (e->op) {
    case O_ADD:
    case O_SUB:
    case O_MIN:
    case O_MAX: return blend_applies(l, b, e->kid[0]) && blend_applies(l, b, e->kid[1]);
    case O_MUL:
        return (is_factor(e->kid[0]) && blend_applies(l, b, e->kid[1])) ||
               (is_factor(e->kid[1]) && blend_applies(l, b, e->kid[0]));
    case O_DIV: return is_factor(e->kid[1]) && blend_applies(l, b, e->kid[0]);
    case O_NEG:
    case O_RELU:
    case O_ABS: return blend_applies(l, b, e->kid[0]);
    default: return op_compares(e->op) && blend_applies(l, b, e->kid[0]) && blend_applies(l, b, e->kid[1]);
    }
}

/* The zero that as operand k of the operation changes nothing, not even the sign of a zero; +0 where there is none. */
static double zero_of(Op op, int k) { return op == O_ADD || (op == O_SUB && !k) ? -0.0 : 0.0; }

/* ---- lanes ---- */
/* The value of a term with one access, where that reads `entry`; false where there is a stored() around it. */
static bool term_value(const Expr *e, double entry, double *out)
{
    double kid[2] = {0, 0};
    if (e->op == O_ACCESS || e->op == O_CONST) {
        *out = e->op == O_CONST ? e->c : entry;
        return true;
    }
    for (int k = 0; k < 2 && e->kid[k]; k++)
        if (!term_value(e->kid[k], entry, &kid[k])) return false;
    *out = op_eval(e->op, kid[0], kid[1]);
    return e->op != O_STORED;
}

/* Whether the term becomes this zero where +0 or -0 is read in place of its entry; *fill: which of the two. */
static bool vanishing(const Expr *e, double zero, double *fill)
{
    for (int k = 0; k < 2; k++) {
        double v;
        *fill = k ? -zero : zero;
        if (term_value(e, *fill, &v) && v == 0 && !signbit(v) == !signbit(zero)) return true;
    }
    return false;
}

static int accesses(const Expr *e)
{
    int n = e->op == O_ACCESS;
    for (int k = 0; k < 2; k++) n += e->kid[k] ? accesses(e->kid[k]) : 0;
    return n;
}

/* Every term becomes its zero where a zero is read in place of the entry; nothing else differs between lanes. */
static bool vanish(Low *l, const Blend *b, const Expr *e, double zero, uint32_t along)
{
    double fill;
    if (!read_by(b, e)) return !(expr_vars(e) & along);
    if (is_term(l, b, e)) return accesses(e) == 1 && vanishing(e, zero, &fill);
    for (int k = 0; k < 2 && e->kid[k]; k++)
        if (!vanish(l, b, e->kid[k], zero_of(e->op, k), along)) return false;
    return true;
}

/* Gives both as many lanes: a scalar becomes a vector beside one. */
static void level_lanes(Low *l, Val *kid[2])
{
    for (int k = 0; k < 2 && kid[1]; k++)
        if (kid[k]->type.lanes == 1)
            kid[k] = val_cast(l->p, (Type){kid[k]->type.dtype, kid[!k]->type.lanes}, kid[k]);
}

static Val *chosen(Low *l, const Blend *b, const Expr *e, double zero)
{
    Prog *p = l->p;
    if (!read_by(b, e)) return lower_value(l, e);
    if (is_term(l, b, e) && l->e.spread) {
        vanishing(e, zero, &l->e.spread->fill);
        return lower_value(l, e);
    }
    if (is_term(l, b, e)) {
        Val *v = lower_let(l, "term", lower_value(l, e));
        return val_select(p, b->here[read_by(b, e) - 1], v, val_const(p, v->type, zero));
    }
    Val *kid[2] = {NULL};
    for (int k = 0; k < 2 && e->kid[k]; k++) kid[k] = chosen(l, b, e->kid[k], zero_of(e->op, k));
    level_lanes(l, kid);
    Val *v = val_op(p, e->op, kid[0], kid[1]);
    return op_compares(e->op) ? val_cast(p, kid[0]->type, v) : v;
}

Val *blend_value(Low *l, const Expr *e)
{
    const Blend *b = l->e.blend;
    l->e.blend = NULL;
    Val *v = chosen(l, b, e, 0.0);
    l->e.blend = b;
    return v;
}

static bool spreads_type(sc_dtype t) { return sc_dtype_size(t) >= 4; }

bool spread_applies(Low *l, const Spread *s, const Nest *n)
{
    const Tensor *r = n->eval.lhs->tensor;
    const int last = r->format.nlevel - 1;
    if (!l->slack || l->mode != BODY || !tensor_assembled(r) || !spreads_type(r->dtype)) return false;
    const Index ix = tensor_level_index(r, last);
    for (int k = 0; k < 2; k++) {
        const Tensor *t = s->both.t[k];
        const int at = t->format.nlevel - 1;
        if (lower_level(l, t) != at || !index_same(tensor_level_index(t, at), ix)) return false;
        if (t->perm || t->itype != r->itype || !spreads_type(t->dtype)) return false;
    }
    const Expr *rhs = eval_absent(l->p, &n->eval, l->e.absent);
    return rhs && spreads_type(l->p->type) && blend_applies(l, &s->both, rhs) &&
           vanish(l, &s->both, rhs, 0.0, 1u << ix.var);
}

Val *spread_access(Low *l, const Tensor *t)
{
    const Spread *s = l->e.spread;
    const int k = t == s->both.t[1];
    if (t != s->both.t[k]) return NULL;
    Buf *b = lower_buf(l, B_VAL, t, 0);
    Val *fill = val_const(l->p, (Type){(uint8_t)b->dtype, 1}, s->fill);
    return val_cast(l->p, (Type){(uint8_t)l->p->type, (uint8_t)s->lanes},
                    val_spread(l->p, b, s->lanes, s->at[k], s->bits[k], fill));
}

static int lanes_of(const Low *l, sc_dtype t) { return l->p->vector_bytes / (int)sc_dtype_size(t); }
static Val *count_of(Low *l, Val *bits) { return val_op(l->p, O_COUNT, bits, NULL); }

/* Stores the coordinates from number `off` on, and their values: a vector of each, where one begins there. */
static void spread_from(Low *l, Spread *s, const Nest *n, Val *const in[2], int off)
{
    Prog *p = l->p;
    const Tensor *r = n->eval.lhs->tensor;
    const int width = lanes_of(l, r->itype);
    Spread here = *s;
    Val *coords = NULL;
    for (int k = 0; k < 2; k++) {
        Val *skipped = count_of(l, val_op(p, O_AND, in[k], val_int(p, ((int64_t)1 << off) - 1)));
        here.bits[k] = val_op(p, O_SHR, in[k], val_int(p, off));
        if (off) here.at[k] = lower_let(l, "from", plus(l, s->at[k], skipped));
        Val *c = val_spread(p, s->f[k]->crd, width, here.at[k], here.bits[k],
                            val_const(p, (Type){(uint8_t)r->itype, 1}, 0));
        coords = coords ? val_op(p, O_OR, coords, c) : c;
    }
    result_append_lanes(l, r, off, off % width ? NULL : coords, NULL);
    if (off % s->lanes) return;
    l->e.spread = &here;
    l->e.blend = &here.both;
    Val *v = val_cast(p, (Type){(uint8_t)r->dtype, (uint8_t)s->lanes},
                      lower_value(l, eval_absent(p, &n->eval, l->e.absent)));
    l->e.spread = NULL;
    l->e.blend = NULL;
    result_append_lanes(l, r, off, NULL, v);
}

void spread_eval(Low *l, Spread *s, const Nest *n, Val *const in[2])
{
    Prog *p = l->p;
    const Tensor *r = n->eval.lhs->tensor;
    const int width = lanes_of(l, r->itype);
    Val *total = lower_let(l, "n", count_of(l, val_op(p, O_OR, in[0], in[1])));
    sc_dtype widest = l->p->type;
    lower_note(l, n);
    for (int k = 0; k < 3; k++) {
        sc_dtype t = k < 2 ? s->both.t[k]->dtype : r->dtype;
        if (sc_dtype_size(t) > sc_dtype_size(widest)) widest = t;
    }
    s->lanes = lanes_of(l, widest);
    for (int off = 0; off < 2 * width; off += width < s->lanes ? width : s->lanes) {
        Stmt *more = off ? lower_put(l, S_IF) : NULL, **outer = l->tail;
        if (more) {
            more->a = val_op(p, O_GT, total, val_int(p, off));
            l->tail = &more->body;
        }
        spread_from(l, s, n, in, off);
        if (more) l->tail = outer;
    }
    result_append_count(l, r, total);
}
