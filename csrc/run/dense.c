/* dense.c: steps that the library computes: indices that lie together become one, one that both operands have is a batch, the others are loops. */
#include "run.h"

typedef struct
{ /* an index, and how far apart its elements are in the operands and the result: 0 where it is in none of their dimensions */
    int64_t size, a, b, out;
} Axis;

void sc_dense_shape(const Dense *d, int ndim, const sc_tensor *in, int64_t *dim)
{
    for (int i = 0; i < ndim; i++)
        dim[i] = d->in_a[i] >= 0 ? in[d->a].view.dim[d->in_a[i]] : in[d->b].view.dim[d->in_b[i]];
}

/* The outer one goes on where the inner one ends. */
static bool joins(const Axis *outer, Axis *inner)
{
    if (outer->a != inner->size * inner->a || outer->b != inner->size * inner->b ||
        outer->out != inner->size * inner->out)
        return false;
    inner->size *= outer->size;
    return true;
}

/* What is around a product of matrices, innermost first; m and n take in what they can. */
static int around(const Dense *d, const sc_view *a, const sc_view *b, const sc_tensor *out, Axis *m, Axis *n,
                  Axis *rest)
{
    int count = 0;
    for (int i = out->format.ndim - 1; i >= 0; i--) {
        const int x = d->in_a[i], y = d->in_b[i];
        const Axis axis = {out->view.dim[i], x < 0 ? 0 : a->stride[x], y < 0 ? 0 : b->stride[y],
                           out->view.stride[i]};
        if (i == d->om)
            *m = axis;
        else if (i == d->on)
            *n = axis;
        else if (axis.size != 1 && !(x >= 0 && y < 0 && joins(&axis, m)) &&
                 !(y >= 0 && x < 0 && joins(&axis, n)) && !(count && joins(&axis, &rest[count - 1])))
            rest[count++] = axis;
    }
    return count;
}

static const void *at(const void *base, int64_t elements, sc_dtype t)
{ return (const char *)base + elements * (int64_t)sc_dtype_size(t); }

/* One product at each place of the indices in `rest`. */
static int each(const sc_dense_product *p, const Axis *rest, int count, sc_err *err)
{
    if (!count) return sc_this_process.multiply(p, err);
    const Axis *x = &rest[count - 1];
    sc_dense_product q = *p;
    for (int64_t i = 0; i < x->size; i++) {
        q.a = at(p->a, i * x->a, p->dtype);
        q.b = at(p->b, i * x->b, p->dtype);
        q.out = (void *)(uintptr_t)at(p->out, i * x->out, p->dtype);
        if (each(&q, rest, count - 1, err)) return err->code;
    }
    return SC_OK;
}

int sc_dense_run(const Dense *d, const sc_tensor *in, const sc_tensor *out, sc_err *err)
{
    const sc_view *a = &in[d->a].view, *b = &in[d->b].view;
    Axis m = {1, 0, 0, 0}, n = m, batch = m, rest[SC_MAXDIM];
    int count = around(d, a, b, out, &m, &n, rest);
    for (int i = 0; i < count; i++)
        if (batch.size == 1 && rest[i].a && rest[i].b) {
            batch = rest[i];
            for (count--; i < count; i++) rest[i] = rest[i + 1];
        }
    const sc_dense_product p = {.a = a->val,
                                .b = b->val,
                                .out = out->view.val,
                                .dtype = out->dtype,
                                .batch = batch.size,
                                .m = m.size,
                                .n = n.size,
                                .k = a->dim[d->ak],
                                .a_stride = {batch.a, m.a, a->stride[d->ak]},
                                .b_stride = {batch.b, b->stride[d->bk], n.b},
                                .out_stride = {batch.out, m.out, n.out}};
    return each(&p, rest, count, err);
}
