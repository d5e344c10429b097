/* infer.c: formats and types of results.
 *
 * requires: check. sets: type (what is computed in), format, dtype, itype and unit of results
 * and temporaries. What was declared stays; a result without a declaration is dense, row-major, of the type
 * that the operands' types promote to. 16 bit floats are computed with in f32; integers stay integers unless
 * the expression divides, takes a fraction or calls a function of reals, and truth values count as i64. A result that takes the structure of
 * an operand takes its format and index type as well. */
#include "ir.h"

static void infer_like(Prog *p, Tensor *t)
{
    const Tensor *like = t->like;
    bool same = like->ndim == t->ndim;
    for (int d = 0; same && d < t->ndim; d++) same = like->dimvar[d] == t->dimvar[d];
    if (!same)
        fail(p, SC_EVALUE, -1,
             "%s has the structure of %s, so it must have the same indices in the same order", t->name,
             like->name);
    t->format = like->format;
    t->itype = like->itype;
}

/* Whether e makes reals of integers. */
static bool is_real(const Expr *e)
{
    if (e->op == O_DIV || e->op == O_SQRT || e->op == O_EXP || e->op == O_LOG || e->op == O_TANH ||
        e->op == O_SIGMOID || (e->op == O_CONST && e->c != (double)(int64_t)e->c))
        return true;
    return (e->kid[0] && is_real(e->kid[0])) || (e->kid[1] && is_real(e->kid[1]));
}

/* Scalars without dimensions take part in promotion only among their kind, as in torch. */
static sc_dtype promoted(const Prog *p)
{
    sc_dtype t = SC_BOOL;
    bool any = false;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < p->nin; k++) {
            const Tensor *x = p->tensor[k];
            bool floats = x->dtype >= SC_F16;
            if ((x->ndim == 0) != pass || (pass && any && (t >= SC_F16 || !floats))) continue;
            t = any ? sc_dtype_promote(t, x->dtype) : x->dtype;
            any = true;
        }
    return t;
}

static void infer_types(Prog *p)
{
    sc_dtype t = promoted(p);
    bool real = false;
    for (int a = 0; a < p->nassign; a++) real |= is_real(p->assign[a].rhs);
    if (real && t < SC_F16) t = SC_F32;
    p->type = sc_dtype_computed(t);
    p->result_type = t < SC_F16 ? p->type : t;
}

static void infer_result(Prog *p, Tensor *t)
{
    sc_err err = {0};
    if (t->dtype == SC_NDTYPE) t->dtype = p->result_type;
    if (t->role == T_OUT && p->ask_like[t->arg - p->nin])
        t->like = p->tensor[p->ask_like[t->arg - p->nin] - 1];
    if (t->like) infer_like(p, t);
    if (!t->format.nlevel && sc_format_parse(&t->format, "dense", t->ndim, &err))
        fail(p, SC_EINTERNAL, -1, "%s", err.msg);
    t->unit = sc_format_is_dense(&t->format) ? t->ndim - 1 : -1;
}

void infer(Prog *p)
{
    infer_types(p);
    for (int t = p->nin; t < p->ntensor; t++)
        if (p->tensor[t]->role == T_OUT) infer_result(p, p->tensor[t]);
    for (int a = 0; a < p->nassign; a++)
        if (p->assign[a].lhs->tensor->role == T_WORK) infer_result(p, p->assign[a].lhs->tensor);
}
