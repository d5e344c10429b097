/* convert_fold.c: dense tensors of three dimensions and more to sparse ones.
 *
 * Where the dimensions in front of the last one lie as one does, the tensor is a matrix of as many rows, which becomes
 * csr by the short way. Columns and values are those of the result where rows stay in order: levels that are dense but
 * for the last, coo and csf, whose other coordinates follow from the numbers of rows. Any other format is made of the
 * entries. */
#include <string.h>

#include "convert.h"

typedef enum { ROWS, LIST, TREE, OTHER } kind; /* dense levels, coo, csf */

typedef struct {
    const sc_conversion *c;
    int last; /* the level of columns */
    kind to;
    void *taken[3]; /* pos, crd, val that are not those of the result */
    int64_t rows;
    const void *pos; /* of rows */
    void *crd[SC_MAXLEVEL];
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
    if (x->to == ROWS || (x->to != OTHER && what != SC_POS))
        return x->c->alloc(x->c->ctx, what, level < 0 ? level : x->last, t, n);
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

/* ---- coo ---- */
static void name_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const folding *x = arg;
    const sc_dtype itype = x->c->to->itype;
    (void)lane;
    for (int64_t r = begin; r < end; r++) {
        const int64_t first = sc_index(x->pos, itype, r), last = sc_index(x->pos, itype, r + 1);
        int64_t row = r;
        for (int l = x->last - 1; l >= 0 && first < last; l--) {
            const int64_t extent = x->c->to->view.dim[l], at = row % extent;
            for (int64_t k = first; k < last; k++) sc_index_put(x->crd[l], itype, k, at);
            row /= extent;
        }
    }
}

static int list(folding *x, const sc_tensor *matrix)
{
    const sc_conversion *c = x->c;
    const int64_t n = matrix->view.nval;
    void *pos;
    int rc = sc_convert_pos(c, 0, 2, &pos);
    for (int l = 0; l < x->last && !rc; l++) rc = sc_convert_crd(c, l, n, &x->crd[l]);
    if (rc) return rc;
    sc_index_put(pos, c->to->itype, 0, 0);
    sc_index_put(pos, c->to->itype, 1, n);
    sc_parallel_ranges(sc_team_lanes((double)n), x->rows, name_range, x);
    x->crd[x->last] = (void *)(uintptr_t)matrix->view.level[1].crd;
    for (int l = 0; l <= x->last; l++)
        c->to->view.level[l] =
            (sc_level){.pos = l ? NULL : pos, .crd = x->crd[l], .size = c->to->view.dim[l], .npos = n};
    return SC_OK;
}

/* ---- csf ---- */
/* The nodes of level l, whose numbers are id[0] to id[n - 1], get their coordinates and positions of what is above;
 * returns how many that is, whose numbers are in id then; negative: a code. */
static int64_t level_of(const folding *x, int l, int64_t *id, int64_t n, int *rc)
{
    const sc_conversion *c = x->c;
    const sc_dtype itype = c->to->itype;
    const int64_t extent = c->to->view.dim[l];
    int64_t above = l ? 0 : 1;
    void *pos, *crd;
    for (int64_t k = 0; l && k < n; k++) above += !k || id[k] / extent != id[k - 1] / extent;
    if ((*rc = sc_convert_crd(c, l, n, &crd)) || (*rc = sc_convert_pos(c, l, above + 1, &pos))) return 0;
    int64_t m = 0, parent = -1;
    sc_index_put(pos, itype, 0, 0);
    for (int64_t k = 0; k < n; k++) {
        const int64_t up = id[k] / extent;
        sc_index_put(crd, itype, k, id[k] % extent);
        if (up == parent) continue;
        parent = id[m] = up;
        sc_index_put(pos, itype, m++, k);
    }
    sc_index_put(pos, itype, above, n);
    c->to->view.level[l] = (sc_level){.pos = pos, .crd = crd, .size = extent, .npos = n};
    return above;
}

static int tree(folding *x, const sc_tensor *matrix)
{
    const sc_conversion *c = x->c;
    const sc_dtype itype = c->to->itype;
    int64_t n = 0, *id = sc_convert_take(c, x->rows, sizeof *id);
    void *pos;
    if (!id) return SC_ENOMEM;
    for (int64_t r = 0; r < x->rows; r++) {
        id[n] = r;
        n += sc_index(x->pos, itype, r) < sc_index(x->pos, itype, r + 1);
    }
    int rc = sc_convert_pos(c, x->last, n + 1, &pos);
    for (int64_t k = 0; k < n && !rc; k++) sc_index_put(pos, itype, k, sc_index(x->pos, itype, id[k]));
    if (!rc) sc_index_put(pos, itype, n, matrix->view.nval);
    if (!rc) c->to->view.level[x->last] = matrix->view.level[1], c->to->view.level[x->last].pos = pos;
    for (int l = x->last - 1; l >= 0 && !rc; l--) n = level_of(x, l, id, n, &rc);
    sc_work_give(id);
    return rc;
}

/* ---- the ways ---- */
static kind kind_of(const sc_format *to)
{
    static const char *const name[] = {[LIST] = "coo", [TREE] = "csf"};
    const sc_format rows = by_rows(to->ndim);
    sc_format f;
    sc_err e = {0};
    if (sc_format_equal(&rows, to)) return ROWS;
    for (kind k = LIST; k <= TREE; k++)
        if (!sc_format_parse(&f, name[k], to->ndim, &e) && sc_format_equal(&f, to)) return k;
    return OTHER;
}

static int others(const folding *x, const sc_tensor *matrix, int (*of_entries)(const sc_conversion *))
{
    sc_tensor t = {.format = by_rows(x->last + 1), .dtype = x->c->from->dtype, .itype = x->c->to->itype};
    sc_conversion c = *x->c;
    memcpy(t.view.dim, c.from->view.dim, sizeof t.view.dim);
    unfold(matrix, &t);
    c.from = &t, c.lent = true, c.perm = NULL;
    return of_entries(&c);
}

int sc_convert_fold(const sc_conversion *c, int (*of_entries)(const sc_conversion *))
{
    folding x = {
        .c = c, .last = c->from->format.ndim - 1, .to = kind_of(&c->to->format), .rows = rows_of(c->from)};
    sc_tensor matrix;
    int rc = matrix_of(&x, &matrix);
    x.pos = matrix.view.level[1].pos;
    if (!rc && !(c->over && *c->over)) {
        c->to->view.val = matrix.view.val, c->to->view.nval = matrix.view.nval;
        if (x.to == ROWS) unfold(&matrix, c->to);
        rc = x.to == LIST   ? list(&x, &matrix)
             : x.to == TREE ? tree(&x, &matrix)
             : x.to == ROWS ? SC_OK
                            : others(&x, &matrix, of_entries);
    }
    for (int k = 0; k < SC_LEN(x.taken); k++) sc_work_give(x.taken[k]);
    return rc;
}
