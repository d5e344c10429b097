/* convert_csr.c: short ways from (dense, compressed): copy, expand to
 * coordinates, transpose; and the counting sort that transposing rests on.
 *
 * What stays as it is, is not copied: the result has the source's array.
 * Transposing reads the rows in order and puts each entry behind those already
 * in its column, so columns come out sorted without sorting. */
#include <stdlib.h>
#include <string.h>

#include "convert.h"

/* ---- copying ---- */
typedef struct {
    void *out;
    const void *in;
    sc_dtype to, from;
} copying;

static void narrow_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const copying *c = arg;
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
    const copying *c = arg;
    size_t size = sc_dtype_size(c->to), at = (size_t)begin * size;
    (void)lane;
    if (begin < end) memcpy((char *)c->out + at, (const char *)c->in + at, (size_t)(end - begin) * size);
}

void sc_convert_copy(void *out, const void *in, int64_t n, sc_dtype t)
{
    copying c = {out, in, t, t};
    sc_parallel_ranges(sc_team_lanes((double)n / 4), n, copy_range, &c);
}

void sc_convert_narrow(void *out, sc_dtype itype, const void *in, sc_dtype from, int64_t n)
{
    copying c = {out, in, itype, from};
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
    if (n && c->from->itype == c->to->itype) {
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

int sc_convert_same(const sc_conversion *c)
{
    int64_t above = 1;
    int rc;
    for (int l = 0; l < c->from->format.nlevel; l++) {
        const sc_level *from = &c->from->view.level[l];
        sc_level *to = &c->to->view.level[l];
        void *pos = NULL, *crd = NULL;
        if (c->to->format.level[l].kind == SC_COMPRESSED) {
            if ((rc = sc_convert_pos(c, l, above + 1, &pos))) return rc;
            sc_convert_narrow(pos, c->to->itype, from->pos, c->from->itype, above + 1);
        }
        if (c->to->format.level[l].kind != SC_DENSE) {
            if ((rc = sc_convert_crd_keep(c, l, from->crd, from->npos, &crd))) return rc;
        }
        *to = (sc_level){.pos = pos, .crd = crd, .size = from->size, .npos = from->npos};
        above = from->npos;
    }
    return sc_convert_val_keep(c);
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
    const void *pos = x->c->from->view.level[1].pos;
    sc_dtype from = x->c->from->itype;
    int64_t r = begin < end ? sc_split_fibre(pos, from, x->c->from->view.level[0].npos, begin) : 0;
    (void)lane;
    for (int64_t q = begin; q < end; r++) {
        int64_t last = sc_min(sc_index(pos, from, r + 1), end);
#define RUN(itype)                                                                                           \
    for (; q < last; q++) sc_index_put(x->row, itype, q, r)
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
    sc_parallel_ranges(sc_team_lanes((double)n / 2), n, expand_range, &x);
    for (int l = 0; l < 2; l++)
        level[l] = (sc_level){.crd = l ? col : row, .size = c->from->view.level[l].size, .npos = n};
    level[0].pos = pos;
    return sc_convert_val_keep(c);
}

/* ---- counting sort ---- */
/* Fewer lanes where their counts would outweigh the items. */
int sc_counting_init(const sc_conversion *c, sc_counting *k, int64_t nkey, int64_t nitem)
{
    k->nkey = nkey;
    k->type = nitem <= INT32_MAX ? SC_I32 : SC_I64;
    k->lanes = sc_team_lanes((double)nitem);
    while (k->lanes > 1 && k->lanes * (double)nkey > 2 * (double)nitem) k->lanes--;
    k->place = sc_convert_take(c, nkey, (size_t)k->lanes * sc_dtype_size(k->type));
    return k->place ? SC_OK : SC_ENOMEM;
}

typedef struct {
    const sc_counting *k;
    int64_t *pos, sum[SC_MAXLANE];
} summing;

static void sum_range(void *arg, int lane, int64_t begin, int64_t end)
{
    summing *s = arg;
    int64_t n = 0;
    for (int t = 0; t < s->k->lanes; t++) {
        const void *count = sc_counting_lane(s->k, t);
        for (int64_t i = begin; i < end; i++) n += sc_index(count, s->k->type, i);
    }
    s->sum[lane] = n;
}

SC_INLINE void place_keys(const sc_counting *k, sc_dtype type, int64_t *pos, int64_t n, int64_t begin,
                          int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        pos[i] = n;
        for (int t = 0; t < k->lanes; t++) {
            void *count = sc_counting_lane(k, t);
            int64_t here = sc_index(count, type, i);
            sc_index_put(count, type, i, n);
            n += here;
        }
    }
}

static void place_range(void *arg, int lane, int64_t begin, int64_t end)
{
    summing *s = arg;
#define RUN(type) place_keys(s->k, type, s->pos, s->sum[lane], begin, end)
    SC_BY_INDEX(s->k->type, RUN);
#undef RUN
}

void sc_counting_places(const sc_counting *k, int64_t *pos)
{
    summing s = {.k = k, .pos = pos};
    int lanes = sc_team_lanes((double)k->nkey * k->lanes);
    int64_t n = 0;
    sc_parallel_ranges(lanes, k->nkey, sum_range, &s);
    for (int t = 0; t < lanes; t++) {
        int64_t here = s.sum[t];
        s.sum[t] = n;
        n += here;
    }
    sc_parallel_ranges(lanes, k->nkey, place_range, &s);
    pos[k->nkey] = n;
}

/* ---- transposing ---- */
typedef struct {
    const sc_conversion *c;
    sc_counting k;
    int64_t *perm;
    void *crd, *val;
    bool stray[SC_MAXLANE];
} transposing;

SC_INLINE bool count_keys(void *count, sc_dtype type, const void *crd, sc_dtype itype, int64_t nkey,
                          int64_t begin, int64_t end)
{
    bool stray = false;
    for (int64_t q = begin; q < end; q++) {
        int64_t x = sc_index(crd, itype, q);
        if (__builtin_expect((uint64_t)x >= (uint64_t)nkey, 0))
            stray = true;
        else
            sc_index_put(count, type, x, sc_index(count, type, x) + 1);
    }
    return stray;
}

static void count_range(void *arg, int lane, int64_t begin, int64_t end)
{
    transposing *x = arg;
    void *count = sc_counting_lane(&x->k, lane);
    const void *crd = x->c->from->view.level[1].crd;
    memset(count, 0, (size_t)x->k.nkey * sc_dtype_size(x->k.type));
#define RUN(itype)                                                                                           \
    x->stray[lane] = x->k.type == SC_I32 ? count_keys(count, SC_I32, crd, itype, x->k.nkey, begin, end)      \
                                         : count_keys(count, SC_I64, crd, itype, x->k.nkey, begin, end)
    SC_BY_INDEX(x->c->from->itype, RUN);
#undef RUN
}

SC_INLINE void put_entries(const transposing *x, void *place, sc_dtype type, sc_dtype from, sc_dtype to,
                           size_t size, int64_t begin, int64_t end)
{
    const sc_view *v = &x->c->from->view;
    const void *pos = v->level[1].pos, *crd = v->level[1].crd;
    int64_t r = begin < end ? sc_split_fibre(pos, from, v->level[0].npos, begin) : 0;
    for (int64_t q = begin; q < end; r++) {
        int64_t last = sc_min(sc_index(pos, from, r + 1), end);
        for (; q < last; q++) {
            int64_t col = sc_index(crd, from, q), at = sc_index(place, type, col);
            sc_index_put(place, type, col, at + 1);
            sc_index_put(x->crd, to, at, r);
            sc_value_move(x->val, at, v->val, q, size);
            if (x->perm) x->perm[at] = q;
        }
    }
}

SC_INLINE void put_typed(const transposing *x, void *place, sc_dtype type, size_t size, int64_t begin,
                         int64_t end)
{
    if (x->c->from->itype == SC_I64 && x->c->to->itype == SC_I64)
        put_entries(x, place, type, SC_I64, SC_I64, size, begin, end);
    else if (x->c->from->itype == SC_I64)
        put_entries(x, place, type, SC_I64, SC_I32, size, begin, end);
    else if (x->c->to->itype == SC_I64)
        put_entries(x, place, type, SC_I32, SC_I64, size, begin, end);
    else
        put_entries(x, place, type, SC_I32, SC_I32, size, begin, end);
}

static void put_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const transposing *x = arg;
    void *place = sc_counting_lane(&x->k, lane);
#define RUN(size)                                                                                            \
    if (x->k.type == SC_I32)                                                                                 \
        put_typed(x, place, SC_I32, size, begin, end);                                                       \
    else                                                                                                     \
        put_typed(x, place, SC_I64, size, begin, end)
    SC_BY_SIZE(sc_dtype_size(x->c->from->dtype), RUN);
#undef RUN
}

static int transpose(transposing *x, int64_t *pos, int64_t n)
{
    const sc_conversion *c = x->c;
    void *out;
    int rc;
    sc_parallel_ranges(x->k.lanes, n, count_range, x);
    for (int t = 0; t < x->k.lanes; t++)
        if (x->stray[t]) return sc_convert_stray(c);
    sc_counting_places(&x->k, pos);
    if ((rc = sc_convert_pos(c, 1, x->k.nkey + 1, &out)) || (rc = sc_convert_crd(c, 1, n, &x->crd)) ||
        (rc = sc_convert_val(c, n, &x->val)) || (rc = sc_convert_perm(c, n, &x->perm)))
        return rc;
    sc_convert_narrow(out, c->to->itype, pos, SC_I64, x->k.nkey + 1);
    sc_parallel_ranges(x->k.lanes, n, put_range, x);
    sc_convert_csr_levels(c->to, n);
    c->to->view.level[1].pos = out;
    c->to->view.level[1].crd = x->crd;
    return SC_OK;
}

int sc_convert_csr_transpose(const sc_conversion *c)
{
    transposing x = {.c = c};
    int64_t n = c->from->view.level[1].npos, nkey = c->from->view.dim[c->from->format.level[1].dim];
    int rc = sc_counting_init(c, &x.k, nkey, n);
    int64_t *pos = rc ? NULL : sc_convert_take(c, nkey + 1, sizeof *pos);
    if (!rc) rc = pos ? transpose(&x, pos, n) : SC_ENOMEM;
    free(x.k.place);
    free(pos);
    return rc;
}
