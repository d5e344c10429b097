/* convert_fold.c: dense tensors of three dimensions and more to sparse ones.
 *
 * Where the dimensions in front of the last one lie as one does, the tensor is a matrix of as many rows, which becomes
 * csr by the short way. That is the result, where its levels are dense but for the last; any other format is made of it,
 * which looks at entries alone. */
#include <string.h>

#include "convert.h"

typedef struct {
    const sc_conversion *c;
    int last;       /* the level of columns */
    bool own;       /* arrays are not of the result */
    void *taken[3]; /* pos, crd, val */
} folding;

static int64_t rows_of(const sc_tensor *t)
{
    int64_t rows = 1;
    for (int d = 0; d + 1 < t->format.ndim; d++) rows *= t->view.dim[d];
    return rows;
}

/* A level for each dimension in order, dense but for the last. */
static sc_format by_rows(int ndim)
{
    sc_format f = {.ndim = ndim, .nlevel = ndim};
    for (int d = 0; d < ndim; d++)
        f.level[d] =
            (sc_levelspec){.kind = d + 1 < ndim ? SC_DENSE : SC_COMPRESSED, .unique = 1, .dim = (uint8_t)d};
    return f;
}

bool sc_convert_folds(const sc_conversion *c)
{
    const sc_tensor *t = c->from;
    const int n = t->format.ndim;
    if (n < 3 || !sc_format_is_dense(&t->format) || sc_format_is_dense(&c->to->format)) return false;
    int64_t elements = 1;
    for (int d = 0; d < n; d++)
        if (!t->view.dim[d] || !sc_mul(elements, t->view.dim[d], &elements)) return false;
    for (int d = 0; d + 2 < n; d++)
        if (t->view.dim[d] > 1 && t->view.stride[d] != t->view.stride[d + 1] * t->view.dim[d + 1])
            return false;
    return rows_of(t) < INT64_MAX - 1;
}

/* Arrays of csr as those of the result, or in memory that is given back. */
static void *take(void *ctx, int what, int level, sc_dtype t, int64_t n)
{
    folding *x = ctx;
    if (!x->own) return x->c->alloc(x->c->ctx, what, level < 0 ? level : x->last, t, n);
    void **to = &x->taken[what == SC_POS ? 0 : what == SC_CRD ? 1 : 2];
    return *to = sc_work_take((size_t)sc_max(n, 1) * sc_dtype_size(t));
}

/* The levels of the matrix as those of t. */
static void unfold(const sc_tensor *matrix, sc_tensor *t)
{
    int64_t npos = 1;
    const int last = t->format.nlevel - 1;
    for (int l = 0; l < last; l++) {
        npos *= t->view.dim[l];
        t->view.level[l] = (sc_level){.size = t->view.dim[l], .npos = npos};
    }
    t->view.level[last] = matrix->view.level[1];
    t->view.val = matrix->view.val;
    t->view.nval = matrix->view.nval;
}

static int matrix_of(folding *x, sc_tensor *matrix)
{
    const sc_tensor *from = x->c->from;
    const int n = from->format.ndim;
    sc_tensor source = *from;
    source.view.dim[0] = rows_of(from), source.view.dim[1] = from->view.dim[n - 1];
    source.view.stride[0] = from->view.stride[n - 2], source.view.stride[1] = from->view.stride[n - 1];
    *matrix = (sc_tensor){.format = by_rows(2), .dtype = from->dtype, .itype = x->c->to->itype};
    memcpy(matrix->view.dim, source.view.dim, 2 * sizeof *source.view.dim);
    sc_conversion c = *x->c;
    c.from = &source, c.to = matrix, c.alloc = take, c.ctx = x, c.perm = NULL;
    return sc_convert_dense_csr(&c);
}

int sc_convert_fold(const sc_conversion *c, int (*of_entries)(const sc_conversion *))
{
    const int n = c->from->format.ndim;
    const sc_format rows = by_rows(n);
    folding x = {.c = c, .last = n - 1, .own = !sc_format_equal(&rows, &c->to->format)};
    sc_tensor matrix, t = {.format = rows, .dtype = c->from->dtype, .itype = c->to->itype};
    memcpy(t.view.dim, c->from->view.dim, sizeof t.view.dim);
    int rc = matrix_of(&x, &matrix);
    if (!rc && !(c->over && *c->over)) {
        unfold(&matrix, x.own ? &t : c->to);
        sc_conversion rest = *c;
        rest.from = &t, rest.lent = true, rest.perm = NULL;
        if (x.own) rc = of_entries(&rest);
    }
    for (int k = 0; k < SC_LEN(x.taken); k++) sc_work_give(x.taken[k]);
    return rc;
}
