/* infer.c: formats and types of results.
 *
 * requires: check. sets: format, dtype, itype and unit of results and
 * temporaries. What was declared stays; a result without a declaration is
 * dense, row-major, of the operands' type. A result that takes the structure of
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

static void infer_result(Prog *p, Tensor *t)
{
    sc_err err = {0};
    if (t->dtype == SC_NDTYPE) t->dtype = p->tensor[0]->dtype;
    if (t->dtype != p->tensor[0]->dtype)
        fail(p, SC_ENOTIMPL, -1, "%s is declared as %s; a result has the type of the operands, %s", t->name,
             sc_dtype_name(t->dtype), sc_dtype_name(p->tensor[0]->dtype));
    if (t->role == T_OUT && p->ask_like[t->arg - p->nin])
        t->like = p->tensor[p->ask_like[t->arg - p->nin] - 1];
    if (t->like) infer_like(p, t);
    if (!t->format.nlevel && sc_format_parse(&t->format, "dense", t->ndim, &err))
        fail(p, SC_EINTERNAL, -1, "%s", err.msg);
    t->unit = sc_format_is_dense(&t->format) ? t->ndim - 1 : -1;
}

void infer(Prog *p)
{
    for (int t = p->nin; t < p->ntensor; t++)
        if (p->tensor[t]->role == T_OUT) infer_result(p, p->tensor[t]);
    for (int a = 0; a < p->nassign; a++)
        if (p->assign[a].lhs->tensor->role == T_WORK) infer_result(p, p->assign[a].lhs->tensor);
}
