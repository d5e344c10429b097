/* slabs.c: what a dense tensor has at the coordinates of one compressed level, moved to where they lie side by side, and
 * back.
 *
 * Products with slabs are products of dense matrices, which a library computes (run/dense.c), once the other tensors
 * have the same coordinates and no others. */
#include "../slabs.h"

#include <string.h>

#include "kernels.h"

bool sc_format_is_slabs(const sc_format *f)
{
    const sc_levelspec *top = f->level;
    return f->nlevel > 1 && top->kind == SC_COMPRESSED && top->unique && top->part == SC_WHOLE &&
           sc_format_dense_tail(f) == f->nlevel - 1;
}

static int64_t count(const sc_tensor *t) { return t->view.level[0].npos; }

sc_view sc_slabs_view(const sc_tensor *t)
{
    sc_view v = t->view;
    int64_t n = 1;
    v.dim[t->format.level[0].dim] = count(t);
    for (int l = t->format.nlevel - 1; l >= 0; l--) {
        const int d = t->format.level[l].dim;
        v.stride[d] = n;
        n *= v.dim[d];
    }
    return v;
}

/* Both have the same dimensions, but for the listed one. */
typedef struct {
    const sc_level *list;
    sc_dtype itype;
    int ndim, listed;
    size_t size; /* of an element */
    char *packed, *dense;
    const int64_t *dim, *stride, *apart; /* of the packed one, and the strides of the dense one */
    bool back;                           /* from the packed one to the dense one */
} slab_move;

static int64_t coordinate(const slab_move *m, int d, int64_t x)
{ return d == m->listed ? sc_index(m->list->crd, m->itype, x) : x; }

static void move_run(const slab_move *m, int64_t begin, int64_t end, char *packed, char *dense)
{
    const int d = m->ndim - 1;
    const int64_t near = m->stride[d], far = m->apart[d];
    if (near == 1 && far == 1 && d != m->listed) {
        packed += (size_t)begin * m->size, dense += (size_t)begin * m->size;
        memcpy(m->back ? dense : packed, m->back ? packed : dense, (size_t)(end - begin) * m->size);
        return;
    }
#define MOVE(size)                                                                                           \
    for (int64_t x = begin; x < end; x++) {                                                                  \
        const int64_t at = coordinate(m, d, x) * far;                                                        \
        if (m->back)                                                                                         \
            sc_value_move(dense, at, packed, x * near, size);                                                \
        else                                                                                                 \
            sc_value_move(packed, x * near, dense, at, size);                                                \
    }
    SC_BY_SIZE(m->size, MOVE);
#undef MOVE
}

static void move(const slab_move *m, int d, int64_t begin, int64_t end, char *packed, char *dense)
{
    const int64_t size = (int64_t)m->size, near = m->stride[d] * size, far = m->apart[d] * size;
    if (d + 1 == m->ndim) return move_run(m, begin, end, packed, dense);
    for (int64_t x = begin; x < end; x++)
        move(m, d + 1, 0, m->dim[d + 1], packed + x * near, dense + coordinate(m, d, x) * far);
}

static void move_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const slab_move *m = arg;
    (void)lane;
    move(m, 0, begin, end, m->packed, m->dense);
}

static void move_all(const slab_move *m, int64_t n)
{ sc_parallel_ranges(sc_team_lanes((double)n), m->dim[0], move_range, (void *)(uintptr_t)m); }

static slab_move between(const sc_tensor *slabs, const sc_view *packed, const sc_tensor *dense, int listed)
{
    return (slab_move){.list = slabs->view.level,
                       .itype = slabs->itype,
                       .ndim = dense->format.ndim,
                       .listed = listed,
                       .size = sc_dtype_size(dense->dtype),
                       .packed = packed->val,
                       .dense = dense->view.val,
                       .dim = packed->dim,
                       .stride = packed->stride,
                       .apart = dense->view.stride};
}

void *sc_slabs_take(const sc_tensor *slabs, const sc_tensor *dense, int listed, bool filled, sc_view *v)
{
    int64_t n = 1;
    *v = dense->view;
    v->dim[listed] = count(slabs);
    for (int d = dense->format.ndim; d-- > 0; n *= v->dim[d]) v->stride[d] = n;
    v->nval = n;
    v->val = sc_work_take((size_t)sc_max(n, 1) * sc_dtype_size(dense->dtype));
    const slab_move m = between(slabs, v, dense, listed);
    if (v->val && filled) move_all(&m, n);
    return v->val;
}

void sc_slabs_put(const sc_tensor *slabs, const sc_view *v, const sc_tensor *dense, int listed)
{
    slab_move m = between(slabs, v, dense, listed);
    m.back = true;
    sc_fill_view(&dense->view, dense->format.ndim, dense->dtype, 0);
    move_all(&m, v->nval);
}
