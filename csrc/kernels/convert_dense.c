/* convert_dense.c: short ways from and to strided tensors.
 *
 * Looking for what is not zero takes two passes, count and write. Both go along
 * whichever dimension lies closer in memory: a row at a time, or, where columns
 * are contiguous, down a tile of rows that is narrow enough for the places
 * being written to stay in the cache. Where the values of a row are neighbours,
 * the first pass leaves a bit for each, so that the second only reads what it
 * writes. */
#include <string.h>

#include "convert.h"
#include "convert_wide.h"

#define TILE 64
#define ROUND (1 << 18) /* values that are counted before it is asked how many there are */

/* ---- strided to strided ---- */
typedef struct {
    const sc_conversion *c;
    int64_t inner;
} copying;

static void copy_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    const copying *x = arg;
    const sc_format *f = &x->c->to->format;
    const sc_view *from = &x->c->from->view, *to = &x->c->to->view;
    size_t size = sc_dtype_size(x->c->from->dtype);
    int64_t step = f->nlevel ? from->stride[f->level[f->nlevel - 1].dim] : 1;
    (void)lane;
    for (int64_t row = begin; row < end; row++) {
        int64_t at = 0, rest = row;
        for (int l = f->nlevel - 2; l >= 0; l--) {
            int d = f->level[l].dim;
            at += rest % from->dim[d] * from->stride[d];
            rest /= from->dim[d];
        }
        if (step == 1) {
            memcpy((char *)to->val + (size_t)(row * x->inner) * size,
                   (const char *)from->val + at * (int64_t)size, (size_t)x->inner * size);
            continue;
        }
#define RUN(n)                                                                                               \
    for (int64_t j = 0; j < x->inner; j++)                                                                   \
    sc_value_move(to->val, row * x->inner + j, from->val, at + j * step, n)
        SC_BY_SIZE(size, RUN);
#undef RUN
    }
}

int sc_convert_dense_copy(const sc_conversion *c)
{
    const sc_format *f = &c->to->format;
    int64_t rows = 1;
    copying x = {c, f->nlevel ? c->from->view.dim[f->level[f->nlevel - 1].dim] : 1};
    void *val;
    for (int l = 0; l + 1 < f->nlevel; l++) rows *= c->from->view.dim[f->level[l].dim];
    int rc = sc_convert_val(c, rows * x.inner, &val);
    if (!rc && rows && x.inner)
        sc_parallel_ranges(sc_team_lanes((double)rows * (double)x.inner / 2), rows, copy_rows, &x);
    return rc;
}

/* ---- strided to (dense, compressed) ---- */
typedef struct {
    const sc_conversion *c;
    int64_t rows, cols, row_step, col_step;
    int64_t first;  /* of the rows that are counted now */
    int64_t *pos;   /* counts, then positions */
    uint64_t *bits; /* what is not zero, in rows of words; null where columns are not neighbours */
    int64_t words;
    void *crd, *val;
    void *row; /* coordinates of rows, for a result that lists them */
} sifting;

/* A row whose values are neighbours: marked once, picked by the marks. */
static void mark_row(const sifting *x, sc_dtype t, int64_t r)
{
    const char *val = x->c->from->view.val;
    x->pos[r + 1] =
        sc_wide_mark(val + r * x->row_step * (int64_t)sc_dtype_size(t), t, x->cols, x->bits + r * x->words);
}

static void pick_row(const sifting *x, sc_dtype t, sc_dtype itype, int64_t r, int64_t end)
{
    const char *val = x->c->from->view.val;
    size_t size = sc_dtype_size(t);
    sc_wide_pick(val + r * x->row_step * (int64_t)size, size, x->cols, x->bits + r * x->words, itype, x->crd,
                 x->val, x->pos[r], x->pos[end]);
}

SC_INLINE void count_row(const sifting *x, sc_dtype t, int64_t r)
{
    const void *val = x->c->from->view.val;
    int64_t n = 0;
    for (int64_t j = 0; j < x->cols; j++) n += sc_value_nonzero(val, r * x->row_step + j * x->col_step, t);
    x->pos[r + 1] = n;
}

SC_INLINE void count_tile(const sifting *x, sc_dtype t, int64_t begin, int64_t end)
{
    const void *val = x->c->from->view.val;
    int64_t n[TILE] = {0};
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t r = begin; r < end; r++)
            n[r - begin] += sc_value_nonzero(val, r * x->row_step + j * x->col_step, t);
    for (int64_t r = begin; r < end; r++) x->pos[r + 1] = n[r - begin];
}

/* Writes an entry wherever the row still has some to come, then moves on if it was one. */
SC_INLINE void write_row(const sifting *x, sc_dtype t, sc_dtype itype, int64_t r)
{
    const void *val = x->c->from->view.val;
    int64_t at = r * x->row_step, end = x->pos[r + 1];
    for (int64_t k = x->pos[r], j = 0; k < end; j++, at += x->col_step) {
        sc_index_put(x->crd, itype, k, j);
        sc_value_move(x->val, k, val, at, sc_dtype_size(t));
        k += sc_value_nonzero(val, at, t);
    }
}

SC_INLINE void write_tile(const sifting *x, sc_dtype t, sc_dtype itype, int64_t begin, int64_t end)
{
    const void *val = x->c->from->view.val;
    int64_t k[TILE];
    for (int64_t r = begin; r < end; r++) k[r - begin] = x->pos[r];
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t r = begin; r < end; r++) {
            int64_t at = r * x->row_step + j * x->col_step;
            if (!sc_value_nonzero(val, at, t)) continue;
            sc_index_put(x->crd, itype, k[r - begin], j);
            sc_value_move(x->val, k[r - begin]++, val, at, sc_dtype_size(t));
        }
}

static bool by_tiles(const sifting *x) { return x->row_step < x->col_step && x->rows > 1; }

SC_INLINE void count_typed(const sifting *x, sc_dtype t, int64_t begin, int64_t end)
{
    if (by_tiles(x))
        for (int64_t r = begin; r < end; r += TILE) count_tile(x, t, r, sc_min(r + TILE, end));
    else if (x->bits)
        for (int64_t r = begin; r < end; r++) mark_row(x, t, r);
    else
        for (int64_t r = begin; r < end; r++) count_row(x, t, r);
}

SC_INLINE void write_typed(const sifting *x, sc_dtype t, sc_dtype itype, int64_t begin, int64_t end)
{
    if (by_tiles(x))
        for (int64_t r = begin; r < end; r += TILE) write_tile(x, t, itype, r, sc_min(r + TILE, end));
    else if (x->bits)
        for (int64_t r = begin; r < end; r++) pick_row(x, t, itype, r, end);
    else
        for (int64_t r = begin; r < end; r++) write_row(x, t, itype, r);
}

static void count_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const sifting *x = arg;
    (void)lane;
#define RUN(t) count_typed(x, t, x->first + begin, x->first + end)
    SC_BY_DTYPE(x->c->from->dtype, RUN);
#undef RUN
}

static void write_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const sifting *x = arg;
    (void)lane;
#define RUN(t)                                                                                               \
    if (x->c->to->itype == SC_I64)                                                                           \
        write_typed(x, t, SC_I64, begin, end);                                                               \
    else                                                                                                     \
        write_typed(x, t, SC_I32, begin, end)
    SC_BY_DTYPE(x->c->from->dtype, RUN);
#undef RUN
}

static void name_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    const sifting *x = arg;
    (void)lane;
#define RUN(itype)                                                                                           \
    for (int64_t r = begin; r < end; r++)                                                                    \
        for (int64_t k = x->pos[r]; k < x->pos[r + 1]; k++) sc_index_put(x->row, itype, k, r)
    SC_BY_INDEX(x->c->to->itype, RUN);
#undef RUN
}

/* pos of the result: rows, or one list. */
static int sift_pos(const sifting *x, int64_t n, bool list)
{
    sc_dtype itype = x->c->to->itype;
    void *pos;
    int rc = sc_convert_pos(x->c, !list, list ? 2 : x->rows + 1, &pos);
    if (rc) return rc;
    x->c->to->view.level[!list].pos = pos;
    if (list) {
        sc_index_put(pos, itype, 0, 0);
        sc_index_put(pos, itype, 1, n);
    } else
        sc_convert_narrow(pos, itype, x->pos, SC_I64, x->rows + 1);
    return SC_OK;
}

/* Positions; in rounds, where more than so many entries would be too many. */
static int count(sifting *x)
{
    const sc_conversion *c = x->c;
    const int64_t round = c->over ? sc_max(1, ROUND / sc_max(x->cols, 1)) : x->rows;
    x->pos[0] = 0;
    for (; x->first < x->rows; x->first += round) {
        const int64_t n = sc_min(round, x->rows - x->first);
        const double work = (double)n * (double)x->cols;
        if (sc_parallel_pieces(sc_team_lanes(work), work, n, count_range, x)) return SC_ESTOP;
        for (int64_t r = x->first; r < x->first + n; r++) x->pos[r + 1] += x->pos[r];
        if (c->over && x->pos[x->first + n] > c->most) return *c->over = true, SC_OK;
    }
    return SC_OK;
}

static int sift(sifting *x, bool list)
{
    const sc_conversion *c = x->c;
    sc_level *level = c->to->view.level;
    int lanes = sc_team_lanes((double)x->rows * (double)x->cols), rc;
    const double work = (double)x->rows * (double)x->cols;
    if (count(x)) return SC_ESTOP;
    if (c->over && *c->over) return SC_OK;
    int64_t n = x->pos[x->rows];
    sc_convert_csr_levels(c->to, n);
    if ((rc = sift_pos(x, n, list)) || (list && (rc = sc_convert_crd(c, 0, n, &x->row))) ||
        (rc = sc_convert_crd(c, 1, n, &x->crd)) || (rc = sc_convert_val(c, n, &x->val)))
        return rc;
    if (sc_parallel_pieces(lanes, work, x->rows, write_range, x)) return SC_ESTOP;
    level[1].crd = x->crd;
    if (!list) return SC_OK;
    sc_parallel_ranges(lanes, x->rows, name_rows, x);
    level[0].crd = x->row;
    level[0].npos = n;
    return SC_OK;
}

static int sift_into(const sc_conversion *c, bool list)
{
    int row = c->to->format.level[0].dim, col = c->to->format.level[1].dim;
    const sc_view *v = &c->from->view;
    sifting x = {.c = c, .rows = v->dim[row], .cols = v->dim[col]};
    x.row_step = v->stride[row];
    x.col_step = v->stride[col];
    x.pos = sc_convert_take(c, x.rows + 1, sizeof *x.pos);
    x.words = (x.cols + 63) / 64;
    bool near = !by_tiles(&x) && (x.col_step == 1 || x.cols == 1);
    if (near) x.bits = sc_convert_take(c, x.rows * x.words, sizeof *x.bits);
    int rc = x.pos && (x.bits || !near) ? sift(&x, list) : SC_ENOMEM;
    sc_work_give(x.pos);
    sc_work_give(x.bits);
    return rc;
}

int sc_convert_dense_csr(const sc_conversion *c) { return sift_into(c, false); }
int sc_convert_dense_coo(const sc_conversion *c) { return sift_into(c, true); }

/* ---- (dense, compressed) to contiguous ---- */
typedef struct {
    const sc_conversion *c;
    int64_t row_step, col_step, cols;
    bool clears; /* rows of the source are rows of the result: each clears its own */
    bool stray[SC_MAXLANE];
} spreading;

SC_INLINE bool spread_rows(const spreading *x, sc_dtype itype, size_t size, int64_t begin, int64_t end)
{
    const sc_view *v = &x->c->from->view;
    const void *pos = v->level[1].pos, *crd = v->level[1].crd, *val = v->val;
    const int64_t cols = x->cols, step = x->clears ? 1 : x->col_step;
    bool stray = false;
    for (int64_t r = begin, q, last; r < end; r++) {
        char *row = (char *)x->c->to->view.val + (size_t)(r * x->row_step) * size;
        if (x->clears) memset(row, 0, (size_t)cols * size);
        last = sc_index(pos, itype, r + 1);
        for (q = sc_index(pos, itype, r); q < last; q++) {
            int64_t col = sc_index(crd, itype, q);
            if (__builtin_expect((uint64_t)col < (uint64_t)cols, 1))
                sc_value_move(row, col * step, val, q, size);
            else
                stray = true;
        }
    }
    return stray;
}

static void spread_range(void *arg, int lane, int64_t begin, int64_t end)
{
    spreading *x = arg;
#define RUN(itype, size) x->stray[lane] = spread_rows(x, itype, size, begin, end)
    SC_BY_INDEX_AND_SIZE(x->c->from->itype, sc_dtype_size(x->c->from->dtype), RUN);
#undef RUN
}

static int spread_perm(const sc_conversion *c, int64_t n, const spreading *x)
{
    const sc_view *v = &c->from->view;
    int64_t *perm;
    int rc = sc_convert_perm(c, n, &perm);
    if (!perm) return rc;
    sc_fill(perm, SC_I64, n, -1);
    for (int64_t r = 0; r < v->level[0].npos; r++)
        for (int64_t q = sc_index(v->level[1].pos, c->from->itype, r);
             q < sc_index(v->level[1].pos, c->from->itype, r + 1); q++)
            perm[r * x->row_step + sc_index(v->level[1].crd, c->from->itype, q) * x->col_step] = q;
    return SC_OK;
}

int sc_convert_csr_dense(const sc_conversion *c)
{
    int row = c->from->format.level[0].dim, col = c->from->format.level[1].dim;
    int64_t rows = c->from->view.dim[row], cols = c->from->view.dim[col], n = rows * cols;
    spreading x = {
        .c = c, .row_step = c->to->view.stride[row], .col_step = c->to->view.stride[col], .cols = cols};
    void *val;
    int rc = sc_convert_val(c, n, &val);
    if (rc || n == 0) return rc ? rc : sc_convert_perm_identity(c, 0);
    x.clears = x.col_step == 1;
    if (!x.clears) sc_fill(val, c->from->dtype, n, 0);
    double work = (double)n / 4 + (double)c->from->view.nval;
    int lanes = sc_team_lanes(work);
    sc_parallel_ranges(lanes, rows, spread_range, &x);
    rc = sc_convert_strays(c, x.stray, lanes);
    return rc ? rc : spread_perm(c, n, &x);
}

/* ---- coordinates to contiguous ---- */
typedef struct {
    const sc_conversion *c;
    int64_t *perm;
    bool stray[SC_MAXLANE];
} densifying;

SC_INLINE bool scatter_entries(const densifying *x, sc_dtype itype, size_t size, int64_t begin, int64_t end)
{
    const sc_view *v = &x->c->from->view, *to = &x->c->to->view;
    int outer = x->c->from->format.level[0].dim, inner = !outer;
    bool stray = false;
    for (int64_t e = begin; e < end; e++) {
        int64_t i = sc_index(v->level[0].crd, itype, e), j = sc_index(v->level[1].crd, itype, e);
        if (((uint64_t)i >= (uint64_t)to->dim[outer]) | ((uint64_t)j >= (uint64_t)to->dim[inner])) {
            stray = true;
            continue;
        }
        int64_t at = i * to->stride[outer] + j * to->stride[inner];
        sc_value_move(to->val, at, v->val, e, size);
        if (x->perm) x->perm[at] = e;
    }
    return stray;
}

static void scatter_range(void *arg, int lane, int64_t begin, int64_t end)
{
    densifying *x = arg;
#define RUN(itype, size) x->stray[lane] = scatter_entries(x, itype, size, begin, end)
    SC_BY_INDEX_AND_SIZE(x->c->from->itype, sc_dtype_size(x->c->from->dtype), RUN);
#undef RUN
}

int sc_convert_coo_dense(const sc_conversion *c)
{
    densifying x = {.c = c};
    int64_t n = c->from->view.dim[0] * c->from->view.dim[1], entries = c->from->view.nval;
    void *val;
    int rc;
    if ((rc = sc_convert_val(c, n, &val)) || (rc = sc_convert_perm(c, n, &x.perm))) return rc;
    sc_fill(val, c->from->dtype, n, 0);
    if (x.perm) sc_fill(x.perm, SC_I64, n, -1);
    int lanes = sc_team_lanes((double)entries);
    sc_parallel_ranges(lanes, entries, scatter_range, &x);
    return sc_convert_strays(c, x.stray, lanes);
}
