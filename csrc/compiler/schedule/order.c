/* order.c: orders of loops, and what they ask of formats. */
#include <string.h>

#include "private.h"

/* ---- formats that fit an order ---- */
static int place_of(const Order *o, Index ix)
{
    for (int k = 0; k < o->n; k++)
        if (o->loop[k].var == ix.var && (o->loop[k].part == ix.part || !o->loop[k].part || !ix.part))
            return k;
    return -1;
}

/* Every level that cannot be entered by coordinate comes after those above it. */
bool order_follows(const Tensor *t, const Order *o)
{
    int deepest = -1;
    for (int l = 0; l < t->format.nlevel; l++) {
        const int k = place_of(o, tensor_level_index(t, l));
        if (sc_kind_of(&t->format.level[l])->crd && k < deepest) return false;
        if (k > deepest) deepest = k;
    }
    return true;
}

/* Levels in the order of the loops: csr or csc of a matrix, else compressed ones. Dense levels at the end stay there:
 * they can be entered by coordinate. */
sc_format order_format(const Tensor *t, const Order *o)
{
    const int tail = sc_format_dense_tail(&t->format);
    const sc_levelspec *end = t->format.level + t->format.nlevel - tail;
    uint32_t stays = 0;
    for (int l = 0; l < tail; l++) stays |= 1u << end[l].dim;
    sc_format f = {.ndim = t->ndim};
    for (int k = 0; k < o->n; k++)
        for (int d = 0; d < t->ndim; d++)
            if (!in(stays, d) && t->dimvar[d] == o->loop[k].var && o->loop[k].part != SC_MOD)
                schedule_plain_level(&f, t, d);
    memcpy(f.level + f.nlevel, end, sizeof *end * (size_t)tail);
    f.nlevel += tail;
    return f;
}

/* ---- many indices ---- */
/* The indices as they come, each one behind those of the levels above it in every operand; where operands disagree, the
 * first that is left. */
Order order_natural(const Prog *p, const Order *all)
{
    Order o = *all;
    uint32_t taken = 0;
    o.n = 0;
    while (o.n < all->n) {
        int pick = -1;
        for (int k = 0; k < all->n && pick < 0; k++) {
            Order next = o;
            if (in(taken, k) || (all->loop[k].part == SC_MOD && !in(taken, k - 1))) continue;
            next.loop[next.n++] = all->loop[k];
            for (int q = 0; q < all->n; q++)
                if (q != k && !in(taken, q)) next.loop[next.n++] = all->loop[q];
            pick = k;
            for (int t = 0; t < p->nin; t++) {
                const Tensor *x = p->tensor[t];
                for (int l = 1; l < x->format.nlevel; l++)
                    if (!sc_format_is_dense(&x->format) &&
                        index_same(tensor_level_index(x, l), all->loop[k]) &&
                        place_of(&o, tensor_level_index(x, l - 1)) < 0)
                        pick = -1;
            }
        }
        for (int k = 0; k < all->n && pick < 0; k++)
            if (!in(taken, k)) pick = k;
        taken |= 1u << pick;
        o.loop[o.n++] = all->loop[pick];
    }
    return o;
}

bool order_legal(const Order *o)
{
    for (int k = 0; k < o->n; k++)
        if (o->loop[k].part == SC_MOD)
            for (int q = k + 1; q < o->n; q++)
                if (o->loop[q].var == o->loop[k].var) return false;
    return true;
}

Order order_moved(const Order *o, int from, int to)
{
    Order m = *o;
    const Index ix = o->loop[from];
    memmove(m.loop + from, m.loop + from + 1, (size_t)(o->n - 1 - from) * sizeof ix);
    memmove(m.loop + to + 1, m.loop + to, (size_t)(o->n - 1 - to) * sizeof ix);
    m.loop[to] = ix;
    return m;
}
