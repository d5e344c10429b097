/* dense.c: steps that the library computes: a product of two dense tensors, its indices in groups by who has them. */
#include "../slabs.h"
#include "run.h"

void sc_dense_shape(const Dense *d, int ndim, const sc_tensor *in, int64_t *dim)
{
    for (int i = 0; i < ndim; i++)
        dim[i] = i == d->each_out  ? in[d->list].view.dim[d->each_list]
                 : d->in_a[i] >= 0 ? in[d->a].view.dim[d->in_a[i]]
                                   : in[d->b].view.dim[d->in_b[i]];
}

/* Behind those that the group has; the last of them goes on where the new one ends, or is another axis. */
static void add(sc_dense_product *p, int group, const sc_dense_axis *x)
{
    const int n = p->n[group];
    sc_dense_axis *last = p->axis[group] + (n ? n - 1 : 0);
    if (x->size == 1) return;
    if (n && last->a == x->size * x->a && last->b == x->size * x->b && last->out == x->size * x->out)
        *last = (sc_dense_axis){last->size * x->size, x->a, x->b, x->out};
    else
        p->axis[group][p->n[group]++] = *x;
}

static void add_kept(sc_dense_product *p, const Dense *d, const sc_view *a, const sc_view *b,
                     const sc_view *out, int ndim)
{
    for (int i = 0; i < ndim; i++) {
        const int x = d->in_a[i], y = d->in_b[i];
        const sc_dense_axis axis = {out->dim[i], x < 0 ? 0 : a->stride[x], y < 0 ? 0 : b->stride[y],
                                    out->stride[i]};
        add(p, x < 0 ? SC_COLUMNS : y < 0 ? SC_ROWS : SC_BATCH, &axis);
    }
}

/* In the order in which they lie in the larger operand: one of the two may have to be copied. */
static void add_summed(sc_dense_product *p, const Dense *d, const sc_view *a, const sc_view *b)
{
    sc_dense_axis sum[SC_MAXDIM];
    for (int i = 0; i < d->nsum; i++) {
        const sc_dense_axis x = {a->dim[d->sum_a[i]], a->stride[d->sum_a[i]], b->stride[d->sum_b[i]], 0};
        int k = i;
        for (; k && (a->nval < b->nval ? sum[k - 1].b < x.b : sum[k - 1].a < x.a); k--) sum[k] = sum[k - 1];
        sum[k] = x;
    }
    for (int i = 0; i < d->nsum; i++) add(p, SC_SUMMED, &sum[i]);
}

/* What the library reads or writes of a tensor: all of it, or what it has at the coordinates of slabs, in memory that the
 * caller frees. */
typedef struct {
    sc_view view;
    void *room;
} reached;

static bool reach(const sc_tensor *t, const sc_tensor *slabs, int listed, bool filled, reached *s)
{
    *s = (reached){.view = sc_format_is_dense(&t->format) ? t->view : sc_slabs_view(t)};
    if (listed >= 0) s->room = sc_slabs_take(slabs, t, listed, filled, &s->view);
    return listed < 0 || s->room;
}

int sc_dense_multiply_views(const Dense *d, const sc_tensor *out, const sc_view *a, const sc_view *b,
                            const sc_view *to, sc_err *err)
{
    sc_dense_product p = {.a = a->val, .b = b->val, .out = to->val, .dtype = out->dtype};
    add_kept(&p, d, a, b, to, out->format.ndim);
    add_summed(&p, d, a, b);
    return sc_this_process.multiply(&p, err);
}

int sc_dense_run(const Dense *d, const sc_tensor *in, const sc_tensor *out, sc_err *err)
{
    const sc_tensor *slabs = d->slabs < 0 ? NULL : &in[d->slabs];
    reached a, b, to = {.room = NULL};
    const bool opened = reach(&in[d->a], slabs, d->listed_a, true, &a) &
                        reach(&in[d->b], slabs, d->listed_b, true, &b) &
                        reach(out, slabs, d->listed_out, false, &to);
    int rc = opened ? SC_OK : sc_error(err, SC_ENOMEM, "out of memory for a dense product");
    if (!rc) rc = sc_dense_multiply_views(d, out, &a.view, &b.view, &to.view, err);
    if (!rc && to.room) sc_slabs_put(slabs, &to.view, out, d->listed_out);
    sc_work_give(a.room);
    sc_work_give(b.room);
    sc_work_give(to.room);
    return rc;
}
