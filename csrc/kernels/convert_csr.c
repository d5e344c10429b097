/* convert_csr.c: short ways from (dense, compressed): copy, expand to
 * coordinates, transpose.
 *
 * What stays as it is, is not copied: the result has the source's array.
 * Transposing reads the rows in order and puts each entry behind those already
 * in its column, so columns come out sorted without sorting. */
#include <string.h>

#include "convert.h"

/* ---- copying ---- */
typedef struct {
    void *out;
    const void *in;
    sc_dtype to, from;
} casting;

static void narrow_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const casting *c = arg;
    (void)lane;
#define PUT(to, from)                                                                                        \
    for (int64_t i = begin; i < end; i++) sc_index_put(c->out, to, i, sc_index(c->in, from, i))
    if (c->to == SC_I64 && c->from == SC_I32)
        PUT(SC_I64, SC_I32);
    else
        PUT(SC_I32, SC_I64);
#undef PUT
}

static void copy_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const casting *c = arg;
    size_t size = sc_dtype_size(c->to), at = (size_t)begin * size;
    (void)lane;
    if (begin < end) memcpy((char *)c->out + at, (const char *)c->in + at, (size_t)(end - begin) * size);
}

void sc_convert_copy(void *out, const void *in, int64_t n, sc_dtype t)
{
    casting c = {out, in, t, t};
    sc_parallel_ranges(sc_team_lanes((double)n / 4), n, copy_range, &c);
}

void sc_convert_narrow(void *out, sc_dtype itype, const void *in, sc_dtype from, int64_t n)
{
    casting c = {out, in, itype, from};
    if (itype == from)
        sc_convert_copy(out, in, n, itype);
    else
        sc_parallel_ranges(sc_team_lanes((double)n / 4), n, narrow_range, &c);
}

static void identity_range(void *arg, int lane, int64_t begin, int64_t end)
{
    int64_t *p = arg;
    (void)lane;
    for (int64_t i = begin; i < end; i++) p[i] = i;
}

int sc_convert_perm_identity(const sc_conversion *c, int64_t n)
{
    int64_t *p;
    int rc = sc_convert_perm(c, n, &p);
    if (p) sc_parallel_ranges(sc_team_lanes((double)n / 4), n, identity_range, p);
    return rc;
}

int sc_convert_crd_keep(const sc_conversion *c, int level, const void *crd, int64_t n, void **out)
{
    if (n && c->from->itype == c->to->itype && !c->passing) {
        *out = (void *)(uintptr_t)crd;
        return SC_OK;
    }
    int rc = sc_convert_crd(c, level, n, out);
    if (!rc) sc_convert_narrow(*out, c->to->itype, crd, c->from->itype, n);
    return rc;
}

int sc_convert_val_keep(const sc_conversion *c)
{
    int64_t n = c->from->view.nval;
    void *val;
    if (n && !c->lent) {
        c->to->view.val = c->from->view.val;
        c->to->view.nval = n;
    } else {
        int rc = sc_convert_val(c, n, &val);
        if (rc) return rc;
        sc_convert_copy(val, c->from->view.val, n, c->from->dtype);
    }
    return sc_convert_perm_identity(c, n);
}

static int same_level(const sc_conversion *c, int l, int64_t above)
{
    const sc_level *from = &c->from->view.level[l];
    const sc_levelspec *s = &c->to->format.level[l];
    const sc_kind *is = sc_kind_of(s);
    const int64_t n = sc_pos_length(s, from->size, above),
                  m = sc_crd_length(s, from->size, above, from->npos);
    void *pos = NULL, *crd = NULL;
    int rc = sc_kind_has_pos(is) ? sc_convert_pos(c, l, n, &pos) : SC_OK;
    if (!rc && pos) sc_convert_narrow(pos, c->to->itype, from->pos, c->from->itype, n);
    if (!rc && is->crd)
        rc = (is->words ? sc_convert_words_keep : sc_convert_crd_keep)(c, l, from->crd, m, &crd);
    c->to->view.level[l] = (sc_level){.pos = pos, .crd = crd, .size = from->size, .npos = from->npos};
    return rc;
}

int sc_convert_levels(const sc_conversion *c, int n, int64_t *above)
{
    int rc = SC_OK;
    *above = 1;
    for (int l = 0; l < n && !rc; *above = c->from->view.level[l++].npos) rc = same_level(c, l, *above);
    return rc;
}

int sc_convert_same(const sc_conversion *c)
{
    int64_t above;
    const int rc = sc_convert_levels(c, c->from->format.nlevel, &above);
    return rc ? rc : sc_convert_val_keep(c);
}

void sc_convert_csr_levels(sc_tensor *t, int64_t n)
{
    int64_t rows = t->view.dim[t->format.level[0].dim];
    t->view.level[0].size = t->view.level[0].npos = rows;
    t->view.level[1].size = t->view.dim[t->format.level[1].dim];
    t->view.level[1].npos = n;
}

/* ---- to coordinates ---- */
typedef struct {
    const sc_conversion *c;
    void *row;
} expanding;

static void expand_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const expanding *x = arg;
    const sc_view *v = &x->c->from->view;
    const void *pos = v->level[1].pos, *stored = v->level[0].crd;
    sc_dtype from = x->c->from->itype;
    int64_t rows = v->level[0].npos, r = begin < end ? sc_split_fibre(pos, from, rows, begin) : 0;
    (void)lane;
    for (int64_t q = begin; q < end; r++) {
        int64_t last = sc_min(sc_index(pos, from, r + 1), end), row = stored ? sc_index(stored, from, r) : r;
#define RUN(itype)                                                                                           \
    for (; q < last; q++) sc_index_put(x->row, itype, q, row)
        SC_BY_INDEX(x->c->to->itype, RUN);
#undef RUN
    }
}

int sc_convert_csr_coo(const sc_conversion *c)
{
    int64_t n = c->from->view.level[1].npos;
    sc_level *level = c->to->view.level;
    void *pos, *row, *col;
    int rc = sc_convert_pos(c, 0, 2, &pos);
    if (rc || (rc = sc_convert_crd(c, 0, n, &row)) ||
        (rc = sc_convert_crd_keep(c, 1, c->from->view.level[1].crd, n, &col)))
        return rc;
    expanding x = {c, row};
    sc_index_put(pos, c->to->itype, 0, 0);
    sc_index_put(pos, c->to->itype, 1, n);
    if (sc_parallel_pieces(sc_team_lanes((double)n / 2), (double)n, n, expand_range, &x)) return SC_ESTOP;
    for (int l = 0; l < 2; l++)
        level[l] = (sc_level){.crd = l ? col : row, .size = c->from->view.level[l].size, .npos = n};
    level[0].pos = pos;
    return sc_convert_val_keep(c);
}

/* ---- rows that have entries, and all rows ---- */
/* The rows that have entries, and where they begin, unless they are only counted; returns their number. */
static int64_t list_rows(const void *from, sc_dtype type, int64_t rows, void *crd, void *pos, sc_dtype itype)
{
    int64_t n = 0;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t begin = sc_index(from, type, r);
        if (begin == sc_index(from, type, r + 1)) continue;
        if (crd) sc_index_put(crd, itype, n, r), sc_index_put(pos, itype, n, begin);
        n++;
    }
    return n;
}

/* (dense, compressed) to (compressed, compressed). */
int sc_convert_csr_dcsr(const sc_conversion *c)
{
    const sc_level *from = c->from->view.level;
    sc_level *to = c->to->view.level;
    const sc_dtype type = c->from->itype, itype = c->to->itype;
    const int64_t rows = from[0].npos, n = from[1].npos,
                  kept = list_rows(from[1].pos, type, rows, NULL, NULL, itype);
    void *root, *row, *pos, *col;
    int rc = sc_convert_pos(c, 0, 2, &root);
    if (rc || (rc = sc_convert_crd(c, 0, kept, &row)) || (rc = sc_convert_pos(c, 1, kept + 1, &pos)) ||
        (rc = sc_convert_crd_keep(c, 1, from[1].crd, n, &col)))
        return rc;
    list_rows(from[1].pos, type, rows, row, pos, itype);
    sc_index_put(root, itype, 0, 0), sc_index_put(root, itype, 1, kept);
    sc_index_put(pos, itype, kept, n);
    to[0] = (sc_level){.pos = root, .crd = row, .size = from[0].size, .npos = kept};
    to[1] = (sc_level){.pos = pos, .crd = col, .size = from[1].size, .npos = n};
    return sc_convert_val_keep(c);
}

/* And back. */
int sc_convert_dcsr_csr(const sc_conversion *c)
{
    const sc_level *from = c->from->view.level;
    const sc_dtype type = c->from->itype, itype = c->to->itype;
    const int64_t rows = c->from->view.dim[c->from->format.level[0].dim], n = from[1].npos;
    void *pos, *col;
    int rc = sc_convert_pos(c, 1, rows + 1, &pos);
    if (rc || (rc = sc_convert_crd_keep(c, 1, from[1].crd, n, &col))) return rc;
    int64_t r = 0;
    for (int64_t f = 0; f < from[0].npos; f++)
        for (const int64_t row = sc_index(from[0].crd, type, f), begin = sc_index(from[1].pos, type, f);
             r <= row; r++)
            sc_index_put(pos, itype, r, begin);
    for (; r <= rows; r++) sc_index_put(pos, itype, r, n);
    sc_convert_csr_levels(c->to, n);
    c->to->view.level[1].pos = pos;
    c->to->view.level[1].crd = col;
    return sc_convert_val_keep(c);
}

/* ---- transposing ---- */
#define FEW (1 << 21) /* entries that are transposed where they are */

typedef struct {
    const sc_conversion *c;
    sc_deal deal;
    void *pos, *crd, *val;
    int64_t *perm;
} transposing;

SC_INLINE void put_entries(const transposing *x, const void *keys, sc_dtype type, uint32_t *place,
                           sc_dtype to, size_t size, int64_t begin, int64_t end)
{
    uint32_t room[SC_DEAL_BLOCK];
    int64_t f = sc_deal_fibre(&x->deal, begin), *perm = x->perm;
    const void *from = x->deal.val;
    void *crd = x->crd, *val = x->val;
    for (int64_t e = begin, last; e < end; e = last) {
        last = sc_min(e + SC_DEAL_BLOCK, end);
        const uint32_t *row = sc_deal_others(&x->deal, &f, e, last, room) - e;
        for (int64_t i = e; i < last; i++) {
            int64_t at = place[sc_deal_key(keys, type, i)]++;
            sc_index_put(crd, to, at, row[i]);
            sc_value_move(val, at, from, i, size);
            if (perm) perm[at] = i;
        }
    }
}

SC_INLINE void put_sized(const transposing *x, size_t size, uint32_t *place, int64_t begin, int64_t end)
{
#define RUN(keys, type)                                                                                      \
    if (x->c->to->itype == SC_I64)                                                                           \
        put_entries(x, keys, type, place, SC_I64, size, begin, end);                                         \
    else                                                                                                     \
        put_entries(x, keys, type, place, SC_I32, size, begin, end)
    SC_DEAL_BY_KEY(&x->deal, RUN);
#undef RUN
}

/* Entries that were dealt, at [begin, begin + n); the arrays of the result may be where they lie: other and from are
 * copies. */
SC_INLINE void put_dealt(const transposing *x, const uint32_t *other, const void *from, uint32_t *place,
                         sc_dtype to, size_t size, int64_t begin, int64_t n)
{
    const uint16_t *key = x->deal.low + begin;
    void *crd = x->crd, *val = x->val;
    int64_t *perm = x->perm;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = begin + place[key[i]]++;
        sc_index_put(crd, to, at, other[i]);
        sc_value_move(val, at, from, i, size);
        if (perm) perm[at] = sc_deal_source(&x->deal, begin + i);
    }
}

static void put_bucket(void *arg, int lane, int64_t bucket)
{
    transposing *x = arg;
    const size_t bytes = sc_dtype_size(x->c->from->dtype);
    const int64_t begin = x->deal.begin[bucket], n = x->deal.begin[bucket + 1] - begin;
    uint32_t *place = sc_deal_places(&x->deal, lane, bucket, x->pos, x->c->to->itype);
    char *from = place ? sc_deal_room(&x->deal, lane, n * (int64_t)(bytes + sizeof *place)) : NULL;
    if (!from) return;
    uint32_t *other = (uint32_t *)(from + (size_t)n * bytes);
    memcpy(from, (const char *)x->deal.val + (size_t)begin * bytes, (size_t)n * bytes);
    memcpy(other, x->deal.rest + begin, (size_t)n * sizeof *other);
#define RUN(itype, size) put_dealt(x, other, from, place, itype, size, begin, n)
    SC_BY_INDEX_AND_SIZE(x->c->to->itype, bytes, RUN);
#undef RUN
}

static void put_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const transposing *x = arg;
    uint32_t *place = sc_deal_lane(&x->deal, lane);
#define RUN(size) put_sized(x, size, place, begin, end)
    SC_BY_SIZE(sc_dtype_size(x->c->from->dtype), RUN);
#undef RUN
}

static int put(transposing *x)
{
    if (x->deal.dealt) return sc_deal_each(&x->deal, put_bucket, x);
    int rc = sc_deal_share(&x->deal, x->pos, x->c->to->itype);
    return rc ? rc : sc_parallel_pieces(x->deal.lanes, 4 * (double)x->deal.n, x->deal.n, put_range, x);
}

static int transpose(transposing *x)
{
    const sc_conversion *c = x->c;
    int64_t n = x->deal.n;
    int rc;
    if ((rc = sc_convert_pos(c, 1, x->deal.nkey + 1, &x->pos)) || (rc = sc_convert_crd(c, 1, n, &x->crd)) ||
        (rc = sc_convert_val(c, n, &x->val)))
        return rc;
    x->deal.to_rest = c->to->itype == SC_I32 ? x->crd : NULL;
    x->deal.to_val = x->val;
    if ((rc = sc_deal_open(&x->deal, c->perm, FEW)) || (rc = sc_convert_perm(c, n, &x->perm)) ||
        (rc = put(x)))
        return rc;
    sc_index_put(x->pos, c->to->itype, x->deal.nkey, n);
    sc_convert_csr_levels(c->to, n);
    c->to->view.level[1].pos = x->pos;
    c->to->view.level[1].crd = x->crd;
    return SC_OK;
}

int sc_convert_csr_transpose(const sc_conversion *c)
{
    const sc_view *v = &c->from->view;
    transposing x = {.c = c, .deal = {.c = c, .n = v->level[1].npos, .by = v->level[1].crd}};
    x.deal.nkey = v->dim[c->from->format.level[1].dim];
    int rc = transpose(&x);
    sc_deal_close(&x.deal);
    return rc;
}
