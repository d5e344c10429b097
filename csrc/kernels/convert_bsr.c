/* convert_bsr.c: short ways from and to blocks, (dense, compressed) over tiles.
 *
 * Everything goes a row of blocks at a time. Sparse rows mark the blocks that
 * they touch in a bitmap, with a second one over its words and a third one over those; reading the
 * marks back gives the blocks in order, without sorting, to say where each one's values go. Where they are
 * only counted each is when its mark is made. */
#include <string.h>

#include "convert.h"

typedef struct {
    const sc_conversion *c;
    int64_t rows, cols, high, wide, area; /* of the matrix, of a block */
    int64_t in_row, in_col;               /* steps inside a block */
    int64_t row_step, col_step;           /* of the dense side */
    int64_t *pos;                         /* of block rows; counts at first */
    uint64_t *table;                      /* marks of every lane */
    uint64_t inverse;                     /* 2^64 / wide, rounded up; 0: divide */
    void *crd, *val;
    int64_t *perm;
    bool clears; /* a row of blocks of the dense result is one piece: its lane clears it */
    bool stray[SC_MAXLANE];
} tiling;

/* Blocks of a row of blocks: a bit each, a bit for each word of those, a bit for each word of these, where their values
 * begin. */
typedef struct {
    uint64_t *word, *top, *peak;
    int64_t *slot, peaks;
} marks;

static tiling tiling_of(const sc_conversion *c, const sc_format *f)
{
    const int64_t *dim = c->from->view.dim;
    bool by_rows = f->level[2].dim == f->level[0].dim;
    tiling x = {.c = c, .rows = dim[f->level[0].dim], .cols = dim[f->level[1].dim]};
    x.high = f->level[0].block;
    x.wide = f->level[1].block;
    x.area = x.high * x.wide;
    x.inverse = x.wide > 1 && x.cols <= UINT32_MAX ? UINT64_MAX / (uint64_t)x.wide + 1 : 0;
    x.in_row = by_rows ? x.wide : 1;
    x.in_col = by_rows ? 1 : x.high;
    return x;
}

/* ---- the arrays of a blocked result ---- */
static int result(tiling *x, bool perm)
{
    const sc_conversion *c = x->c;
    int64_t count = x->rows / x->high, n, size = sc_level_size(&c->to->format.level[2], c->to->view.dim);
    void *pos;
    int rc;
    for (int64_t b = 0; b < count; b++) x->pos[b + 1] += x->pos[b];
    if (!sc_mul(x->pos[count], x->area, &n))
        return sc_error(c->err, SC_EVALUE, "the blocks of the target overflow: %lld of %lld values",
                        (long long)x->pos[count], (long long)x->area);
    if ((rc = sc_convert_pos(c, 1, count + 1, &pos)) || (rc = sc_convert_crd(c, 1, x->pos[count], &x->crd)) ||
        (rc = sc_convert_val(c, n, &x->val)) || (perm && (rc = sc_convert_perm(c, n, &x->perm))))
        return rc;
    sc_convert_narrow(pos, c->to->itype, x->pos, SC_I64, count + 1);
    sc_level *level = c->to->view.level;
    level[0] = (sc_level){.size = count, .npos = count};
    level[1] = (sc_level){.pos = pos, .crd = x->crd, .size = x->cols / x->wide, .npos = x->pos[count]};
    level[2] = (sc_level){.size = size, .npos = x->pos[count] * size};
    level[3] = (sc_level){.size = x->area / size, .npos = n};
    return SC_OK;
}

/* ---- (dense, compressed) to blocks ---- */
/* The block of a column: columns below 2^32 by a multiplication. */
SC_INLINE int64_t block_of(const tiling *x, int64_t col)
{ return x->inverse ? (int64_t)((unsigned __int128)x->inverse * (uint64_t)col >> 64) : col / x->wide; }

/* Elements of a lane's marks. */
typedef struct {
    int64_t blocks, words, tops, peaks, all;
} marks_size;

static marks_size marks_size_of(const tiling *x)
{
    marks_size n = {.blocks = x->cols / x->wide};
    n.words = n.blocks / 64 + 1, n.tops = n.words / 64 + 1, n.peaks = n.tops / 64 + 1;
    n.all = n.blocks + n.words + n.tops + n.peaks;
    return n;
}

static marks lane_marks(const tiling *x, int lane)
{
    const marks_size n = marks_size_of(x);
    marks m = {.word = x->table + lane * n.all, .peaks = n.peaks};
    m.top = m.word + n.words, m.peak = m.top + n.tops;
    m.slot = (int64_t *)(m.peak + n.peaks);
    return m;
}

/* Bytes of those that are bits. */
static size_t bits_size(const marks *m) { return (size_t)((uint64_t *)m->slot - m->word) * sizeof *m->word; }

/* Says the word and the bit of the block of entry q, or that it has none. */
SC_INLINE bool block_at(const tiling *x, sc_dtype itype, int64_t q, int64_t *word, uint64_t *bit)
{
    const int64_t col = sc_index(x->c->from->view.level[1].crd, itype, q), block = block_of(x, col);
    *word = block >> 6, *bit = (uint64_t)1 << (block & 63);
    return __builtin_expect((uint64_t)col < (uint64_t)x->cols, 1);
}

/* The number of blocks that a row of blocks has. */
SC_INLINE int64_t count_blocks(const tiling *x, const marks *m, sc_dtype itype, int64_t b, bool *stray)
{
    const void *pos = x->c->from->view.level[1].pos;
    const int64_t begin = sc_index(pos, itype, b * x->high), end = sc_index(pos, itype, (b + 1) * x->high);
    int64_t n = 0, w;
    uint64_t bit;
    for (int64_t q = begin; q < end; q++) {
        if (!block_at(x, itype, q, &w, &bit)) {
            *stray = true;
            continue;
        }
        n += !(m->word[w] & bit);
        m->word[w] |= bit;
    }
    for (int64_t q = begin; q < end; q++)
        if (block_at(x, itype, q, &w, &bit)) m->word[w] = 0;
    return n;
}

SC_INLINE void mark_rows(const tiling *x, const marks *m, sc_dtype itype, int64_t b)
{
    const void *pos = x->c->from->view.level[1].pos;
    const int64_t end = sc_index(pos, itype, (b + 1) * x->high);
    int64_t w;
    uint64_t bit;
    for (int64_t q = sc_index(pos, itype, b * x->high); q < end; q++) {
        (void)block_at(x, itype, q, &w, &bit);
        m->word[w] |= bit;
        m->top[w >> 6] |= (uint64_t)1 << (w & 63);
        m->peak[w >> 12] |= (uint64_t)1 << (w >> 6 & 63);
    }
}

/* The lowest bit, which is taken away. */
SC_INLINE int64_t take_bit(uint64_t *word)
{
    const int64_t bit = __builtin_ctzll(*word);
    *word &= *word - 1;
    return bit;
}

/* Takes the marks away; block by block gets a place from `first` on. */
SC_INLINE void take_marks(const tiling *x, const marks *m, sc_dtype itype, int64_t first)
{
    for (int64_t p = 0; p < m->peaks; p++)
        while (m->peak[p]) {
            const int64_t t = 64 * p + take_bit(&m->peak[p]);
            while (m->top[t]) {
                const int64_t w = 64 * t + take_bit(&m->top[t]);
                for (; m->word[w]; first++) {
                    const int64_t block = 64 * w + take_bit(&m->word[w]);
                    m->slot[block] = first * x->area;
                    sc_index_put(x->crd, itype, first, block);
                }
            }
        }
}

SC_INLINE void put_rows(const tiling *x, const marks *m, sc_dtype itype, size_t size, int64_t b)
{
    const sc_view *v = &x->c->from->view;
    for (int64_t i = 0; i < x->high; i++) {
        int64_t end = sc_index(v->level[1].pos, itype, b * x->high + i + 1);
        for (int64_t q = sc_index(v->level[1].pos, itype, b * x->high + i); q < end; q++) {
            int64_t col = sc_index(v->level[1].crd, itype, q), block = block_of(x, col);
            int64_t at = m->slot[block] + i * x->in_row + (col - block * x->wide) * x->in_col;
            sc_value_move(x->val, at, v->val, q, size);
            if (x->perm) x->perm[at] = q;
        }
    }
}

static void count_marked(void *arg, int lane, int64_t begin, int64_t end)
{
    tiling *x = arg;
    marks m = lane_marks(x, lane);
    bool stray = false;
    memset(m.word, 0, bits_size(&m));
#define RUN(itype)                                                                                           \
    for (int64_t b = begin; b < end; b++) x->pos[b + 1] = count_blocks(x, &m, itype, b, &stray)
    SC_BY_INDEX(x->c->from->itype, RUN);
#undef RUN
    x->stray[lane] = stray;
}

SC_INLINE void fill_rows(const tiling *x, const marks *m, sc_dtype itype, size_t size, int64_t begin,
                         int64_t end)
{
    for (int64_t b = begin; b < end; b++) {
        int64_t first = x->pos[b] * x->area, n = (x->pos[b + 1] - x->pos[b]) * x->area;
        mark_rows(x, m, itype, b);
        if (x->c->to->itype == SC_I64)
            take_marks(x, m, SC_I64, x->pos[b]);
        else
            take_marks(x, m, SC_I32, x->pos[b]);
        memset((char *)x->val + (size_t)first * size, 0, (size_t)n * size);
        for (int64_t k = 0; x->perm && k < n; k++) x->perm[first + k] = -1;
        put_rows(x, m, itype, size, b);
    }
}

static void fill_marked(void *arg, int lane, int64_t begin, int64_t end)
{
    const tiling *x = arg;
    marks m = lane_marks(x, lane);
#define RUN(itype, size) fill_rows(x, &m, itype, size, begin, end)
    SC_BY_INDEX_AND_SIZE(x->c->from->itype, sc_dtype_size(x->c->from->dtype), RUN);
#undef RUN
}

static int gather_blocks(tiling *x, int lanes)
{
    int64_t count = x->rows / x->high;
    x->pos[0] = 0;
    sc_parallel_ranges(lanes, count, count_marked, x);
    int rc = sc_convert_strays(x->c, x->stray, lanes);
    if (!rc) rc = result(x, true);
    if (!rc) sc_parallel_ranges(lanes, count, fill_marked, x);
    return rc;
}

int sc_convert_csr_bsr(const sc_conversion *c)
{
    tiling x = tiling_of(c, &c->to->format);
    int lanes = sc_team_lanes(2 * (double)c->from->view.nval);
    x.pos = sc_convert_take(c, x.rows / x.high + 1, sizeof *x.pos);
    x.table = sc_convert_take(c, marks_size_of(&x).all, (size_t)lanes * sizeof *x.table);
    int rc = x.pos && x.table ? gather_blocks(&x, lanes) : SC_ENOMEM;
    sc_work_give(x.pos);
    sc_work_give(x.table);
    return rc;
}

/* ---- strided to blocks ---- */
SC_INLINE bool occupied(const tiling *x, sc_dtype t, int64_t at)
{
    for (int64_t i = 0; i < x->high; i++)
        for (int64_t j = 0; j < x->wide; j++)
            if (sc_value_nonzero(x->c->from->view.val, at + i * x->row_step + j * x->col_step, t))
                return true;
    return false;
}

/* With `fill`, also copies the blocks. Returns where they end. */
SC_INLINE int64_t scan_blocks(const tiling *x, sc_dtype t, int64_t b, bool fill)
{
    int64_t k = fill ? x->pos[b] : 0, count = x->cols / x->wide;
    for (int64_t block = 0; block < count; block++) {
        int64_t at = b * x->high * x->row_step + block * x->wide * x->col_step;
        if (!occupied(x, t, at)) continue;
        if (fill) sc_index_put(x->crd, x->c->to->itype, k, block);
        for (int64_t i = 0; fill && i < x->high; i++)
            for (int64_t j = 0; j < x->wide; j++)
                sc_value_move(x->val, k * x->area + i * x->in_row + j * x->in_col, x->c->from->view.val,
                              at + i * x->row_step + j * x->col_step, sc_dtype_size(t));
        k++;
    }
    return k;
}

static void count_scanned(void *arg, int lane, int64_t begin, int64_t end)
{
    const tiling *x = arg;
    (void)lane;
#define RUN(t)                                                                                               \
    for (int64_t b = begin; b < end; b++) x->pos[b + 1] = scan_blocks(x, t, b, false)
    SC_BY_DTYPE(x->c->from->dtype, RUN);
#undef RUN
}

static void fill_scanned(void *arg, int lane, int64_t begin, int64_t end)
{
    const tiling *x = arg;
    (void)lane;
#define RUN(t)                                                                                               \
    for (int64_t b = begin; b < end; b++) (void)scan_blocks(x, t, b, true)
    SC_BY_DTYPE(x->c->from->dtype, RUN);
#undef RUN
}

int sc_convert_dense_bsr(const sc_conversion *c)
{
    tiling x = tiling_of(c, &c->to->format);
    int64_t count = x.rows / x.high;
    int lanes = sc_team_lanes((double)x.rows * (double)x.cols), rc;
    x.row_step = c->from->view.stride[c->to->format.level[0].dim];
    x.col_step = c->from->view.stride[c->to->format.level[1].dim];
    x.pos = sc_convert_take(c, count + 1, sizeof *x.pos);
    if (!x.pos) return SC_ENOMEM;
    x.pos[0] = 0;
    sc_parallel_ranges(lanes, count, count_scanned, &x);
    if (!(rc = result(&x, false))) sc_parallel_ranges(lanes, count, fill_scanned, &x);
    sc_work_give(x.pos);
    return rc;
}

/* ---- blocks to (dense, compressed) ---- */
/* A row of a block, whose values begin at `at`, as entries from q on. */
SC_INLINE void unroll_row(const tiling *x, sc_dtype to, size_t size, int64_t wide, int64_t col, int64_t at,
                          int64_t q)
{
    const void *val = x->c->from->view.val;
    for (int64_t j = 0; j < wide; j++) sc_index_put(x->crd, to, q + j, col + j);
    for (int64_t j = 0; j < wide; j++) sc_value_move(x->val, q + j, val, at + j * x->in_col, size);
    for (int64_t j = 0; x->perm && j < wide; j++) x->perm[q + j] = at + j * x->in_col;
}

SC_INLINE bool unroll_rows(const tiling *x, sc_dtype itype, size_t size, int64_t begin, int64_t end)
{
    const sc_view *v = &x->c->from->view;
    const int64_t blocks = x->cols / x->wide;
    void *pos = (void *)(uintptr_t)x->c->to->view.level[1].pos;
    bool stray = false;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = sc_index(v->level[1].pos, itype, b), last = sc_index(v->level[1].pos, itype, b + 1);
        for (int64_t i = 0, q = first * x->area; i < x->high; i++) {
            sc_index_put(pos, x->c->to->itype, b * x->high + i, q);
            for (int64_t k = first; k < last; k++, q += x->wide) {
                const int64_t block = sc_index(v->level[1].crd, itype, k), at = k * x->area + i * x->in_row;
                const int64_t col = (int64_t)((uint64_t)block * (uint64_t)x->wide);
                stray |= (uint64_t)block >= (uint64_t)blocks;
#define ROW(to, wide) unroll_row(x, to, size, wide, col, at, q)
                if (x->c->to->itype == SC_I64)
                    ROW(SC_I64, x->wide);
                else if (x->wide == 2)
                    ROW(SC_I32, 2);
                else if (x->wide == 4)
                    ROW(SC_I32, 4);
                else
                    ROW(SC_I32, x->wide);
#undef ROW
            }
        }
    }
    return stray;
}

static void unroll_range(void *arg, int lane, int64_t begin, int64_t end)
{
    tiling *x = arg;
#define RUN(itype, size) x->stray[lane] = unroll_rows(x, itype, size, begin, end)
    SC_BY_INDEX_AND_SIZE(x->c->from->itype, sc_dtype_size(x->c->from->dtype), RUN);
#undef RUN
}

int sc_convert_bsr_csr(const sc_conversion *c)
{
    tiling x = tiling_of(c, &c->from->format);
    int64_t n = c->from->view.nval;
    int lanes = sc_team_lanes((double)n), rc;
    void *pos;
    if ((rc = sc_convert_pos(c, 1, x.rows + 1, &pos)) || (rc = sc_convert_crd(c, 1, n, &x.crd)) ||
        (rc = sc_convert_val(c, n, &x.val)) || (rc = sc_convert_perm(c, n, &x.perm)))
        return rc;
    sc_convert_csr_levels(c->to, n);
    c->to->view.level[1].pos = pos;
    c->to->view.level[1].crd = x.crd;
    sc_parallel_ranges(lanes, x.rows / x.high, unroll_range, &x);
    sc_index_put(pos, c->to->itype, x.rows, n);
    return sc_convert_strays(c, x.stray, lanes);
}

/* ---- blocks to contiguous ---- */
SC_INLINE bool place_blocks(const tiling *x, sc_dtype itype, size_t size, int64_t begin, int64_t end)
{
    const sc_view *v = &x->c->from->view;
    bool stray = false;
    for (int64_t b = begin; b < end; b++) {
        int64_t slab = b * x->high * x->row_step, last = sc_index(v->level[1].pos, itype, b + 1);
        if (x->clears) memset((char *)x->val + (size_t)slab * size, 0, (size_t)(x->high * x->cols) * size);
        for (int64_t k = sc_index(v->level[1].pos, itype, b); k < last; k++) {
            int64_t block = sc_index(v->level[1].crd, itype, k);
            if ((uint64_t)block >= (uint64_t)(x->cols / x->wide)) {
                stray = true;
                continue;
            }
            for (int64_t i = 0; i < x->high; i++) {
                int64_t q = k * x->area + i * x->in_row,
                        at = slab + i * x->row_step + block * x->wide * x->col_step;
                for (int64_t j = 0; j < x->wide; j++, q += x->in_col, at += x->col_step) {
                    sc_value_move(x->val, at, v->val, q, size);
                    if (x->perm) x->perm[at] = q;
                }
            }
        }
    }
    return stray;
}

static void place_range(void *arg, int lane, int64_t begin, int64_t end)
{
    tiling *x = arg;
#define RUN(itype, size) x->stray[lane] = place_blocks(x, itype, size, begin, end)
    SC_BY_INDEX_AND_SIZE(x->c->from->itype, sc_dtype_size(x->c->from->dtype), RUN);
#undef RUN
}

int sc_convert_bsr_dense(const sc_conversion *c)
{
    tiling x = tiling_of(c, &c->from->format);
    int64_t n = x.rows * x.cols;
    int rc;
    x.row_step = c->to->view.stride[c->from->format.level[0].dim];
    x.col_step = c->to->view.stride[c->from->format.level[1].dim];
    x.clears = x.col_step == 1;
    if ((rc = sc_convert_val(c, n, &x.val)) || (rc = sc_convert_perm(c, n, &x.perm)) || n == 0) return rc;
    if (!x.clears) sc_fill(x.val, c->from->dtype, n, 0);
    if (x.perm) sc_fill(x.perm, SC_I64, n, -1);
    int lanes = sc_team_lanes((double)n / 4 + (double)c->from->view.nval);
    sc_parallel_ranges(lanes, x.rows / x.high, place_range, &x);
    return sc_convert_strays(c, x.stray, lanes);
}
