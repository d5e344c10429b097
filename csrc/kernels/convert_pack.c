/* convert_pack.c: builds the target's levels from a sorted list.
 *
 * Level by level, every entry knows its position in the level above (`at`) and
 * learns the one in this level (`to`): a dense level multiplies, the others
 * count where a new coordinate begins. An entry begins a position when its own
 * position above or its coordinate differs from the previous entry's, so lanes
 * count their ranges, a prefix sum over lanes follows, and a second pass writes.
 *
 * The positions of a nonunique level are those of the chain of singletons that
 * it heads; a chain that ends nonunique keeps every entry. */
#include <string.h>

#include "convert.h"

typedef struct {
    const sc_conversion *c;
    const sc_list *list;
    int level, last;     /* last: end of the chain of this level */
    bool all;            /* every entry is a position of its own */
    int64_t above, npos; /* positions above, and here */
    int64_t *at, *to;
    void *pos, *crd;
    int64_t count[SC_MAXLANE], most[SC_MAXLANE]; /* most: coordinates of a row */
} packing;

static const sc_levelspec *spec(const packing *p) { return &p->c->to->format.level[p->level]; }

/* Where the last coordinate lies that decides positions. */
static sc_field last_of(const packing *p) { return p->list->field[p->last]; }

/* Does entry e, not the first one, begin a position of this level? */
SC_INLINE bool begins(const packing *p, sc_field last, int64_t e)
{ return p->all | sc_list_begins(p->list, last, e); }

/* ---- dense ---- */
static void dense_range(void *arg, int lane, int64_t begin, int64_t end)
{
    packing *p = arg;
    int64_t size = sc_level_size(spec(p), p->c->to->view.dim);
    (void)lane;
    for (int64_t e = begin; e < end; e++) p->to[e] = p->at[e] * size + sc_list_at(p->list, p->level, e);
}

/* The fibres above are in order, as the entries are. */
static void planar_range(void *arg, int lane, int64_t begin, int64_t end)
{
    packing *p = arg;
    const sc_level *up = &p->c->to->view.level[p->level - 1];
    const sc_dtype it = p->c->to->itype;
    const int64_t fibres = p->level > 1 ? up[-1].npos : 1, size = sc_level_size(spec(p), p->c->to->view.dim);
    int64_t f = begin < end ? sc_split_fibre(up->pos, it, fibres, p->at[begin]) : 0;
    (void)lane;
    for (int64_t e = begin; e < end; e++) {
        while (sc_index(up->pos, it, f + 1) <= p->at[e]) f++;
        const int64_t lo = sc_index(up->pos, it, f), n = sc_index(up->pos, it, f + 1) - lo;
        p->to[e] = lo * size + sc_list_at(p->list, p->level, e) * n + p->at[e] - lo;
    }
}

static int pack_dense(packing *p, int lanes)
{
    int64_t size = sc_level_size(spec(p), p->c->to->view.dim);
    if (!sc_mul(p->above, size, &p->npos))
        return sc_error(p->c->err, SC_EVALUE,
                        "the dense levels of the target overflow: %lld times %lld positions",
                        (long long)p->above, (long long)size);
    return sc_parallel_pieces(lanes, (double)p->list->n, p->list->n,
                              sc_kind_of(spec(p))->planar ? planar_range : dense_range, p);
}

/* ---- compressed ---- */
static void count_range(void *arg, int lane, int64_t begin, int64_t end)
{
    packing *p = arg;
    const sc_field last = last_of(p);
    int64_t n = begin == 0 && end > 0;
    for (int64_t e = sc_max(begin, 1); e < end; e++) n += begins(p, last, e);
    p->count[lane] += n;
}

SC_INLINE int64_t compress(packing *p, sc_dtype itype, int64_t q, int64_t begin, int64_t end)
{
    const sc_field last = last_of(p);
    for (int64_t e = begin; e < end; e++) {
        if (e == 0 || begins(p, last, e)) {
            for (int64_t f = e ? p->at[e - 1] : -1; f < p->at[e]; f++) sc_index_put(p->pos, itype, f + 1, q);
            sc_index_put(p->crd, itype, q++, sc_list_at(p->list, p->level, e));
        }
        p->to[e] = q - 1;
    }
    return q;
}

static void compressed_range(void *arg, int lane, int64_t begin, int64_t end)
{
    packing *p = arg;
#define RUN(itype) p->count[lane] = compress(p, itype, p->count[lane], begin, end)
    SC_BY_INDEX(p->c->to->itype, RUN);
#undef RUN
}

static int pack_compressed(packing *p, int lanes)
{
    memset(p->count, 0, sizeof p->count);
    if (sc_parallel_pieces(lanes, (double)p->list->n, p->list->n, count_range, p)) return SC_ESTOP;
    p->npos = sc_prefix(p->count, lanes);
    int rc = sc_convert_pos(p->c, p->level, p->above + 1, &p->pos);
    if (rc || (rc = sc_convert_crd(p->c, p->level, p->npos, &p->crd))) return rc;
    int64_t n = p->list->n;
    if (sc_parallel_pieces(lanes, (double)n, n, compressed_range, p)) return SC_ESTOP;
    for (int64_t f = n ? p->at[n - 1] : -1; f < p->above; f++)
        sc_index_put(p->pos, p->c->to->itype, f + 1, p->npos);
    return SC_OK;
}

/* ---- singleton ---- */
/* Coordinates of a position beyond the first, which a singleton cannot hold. */
SC_INLINE int64_t follow(packing *p, sc_dtype itype, int64_t begin, int64_t end, int64_t *surplus)
{
    int64_t n = 0;
    for (int64_t e = begin; e < end; e++) {
        const int64_t c = sc_list_at(p->list, p->level, e);
        p->to[e] = p->at[e];
        if (e == 0 || p->at[e] != p->at[e - 1]) {
            n++;
            sc_index_put(p->crd, itype, p->at[e], c);
        } else
            *surplus += c != sc_list_at(p->list, p->level, e - 1);
    }
    return n;
}

static void singleton_range(void *arg, int lane, int64_t begin, int64_t end)
{
    packing *p = arg;
    int64_t surplus = 0;
#define RUN(itype) p->count[lane] = follow(p, itype, begin, end, &surplus)
    SC_BY_INDEX(p->c->to->itype, RUN);
#undef RUN
    p->most[lane] = surplus;
}

static int pack_singleton(packing *p, int lanes)
{
    int head = p->level;
    while (sc_kind_of(&p->c->to->format.level[head])->one) head--;
    bool pads = sc_kind_of(&p->c->to->format.level[head])->padded;
    int rc = sc_convert_crd(p->c, p->level, p->above, &p->crd);
    if (rc) return rc;
    if (pads) sc_fill(p->crd, p->c->to->itype, p->above, -1);
    p->npos = p->above;
    sc_parallel_ranges(lanes, p->list->n, singleton_range, p);
    int64_t surplus = 0;
    for (int t = 0; t < lanes; t++) surplus += p->most[t];
    if (!surplus && (pads || sc_prefix(p->count, lanes) == p->npos)) return SC_OK;
    return sc_error(
        p->c->err, SC_EVALUE,
        "level %d (singleton) holds one coordinate for each of the %lld positions above it, but %s; use "
        "compressed(%d) there, or nonunique above",
        p->level, (long long)p->npos, surplus ? "some have several" : "some have none", spec(p)->dim);
}

/* ---- ell ---- */
/* Rows that begin in the range, whole. */
static void ell_range(void *arg, int lane, int64_t begin, int64_t end)
{
    packing *p = arg;
    int64_t width = spec(p)->width, slot = 0, most = 0, n = p->list->n;
    int64_t e = begin;
    while (e > 0 && e < end && p->at[e] == p->at[e - 1]) e++;
    if (e == end) n = e;
    for (; e < n && (e < end || p->at[e] == p->at[e - 1]); e++) {
        if (e == 0 || p->at[e] != p->at[e - 1])
            slot = 0;
        else
            slot += begins(p, last_of(p), e);
        most = sc_max(most, slot + 1);
        if (slot >= width) continue;
        p->to[e] = p->at[e] * width + slot;
        sc_index_put(p->crd, p->c->to->itype, p->to[e], sc_list_at(p->list, p->level, e));
    }
    p->most[lane] = most;
}

static int pack_ell(packing *p, int lanes)
{
    int64_t width = spec(p)->width, most = 0;
    if (!sc_mul(p->above, width, &p->npos))
        return sc_error(p->c->err, SC_EVALUE, "ell rows overflow: %lld times width %lld", (long long)p->above,
                        (long long)width);
    int rc = sc_convert_crd(p->c, p->level, p->npos, &p->crd);
    if (rc) return rc;
    sc_fill(p->crd, p->c->to->itype, p->npos, -1);
    sc_parallel_ranges(lanes, p->list->n, ell_range, p);
    for (int t = 0; t < lanes; t++) most = sc_max(most, p->most[t]);
    if (most <= width) return SC_OK;
    return sc_error(
        p->c->err, SC_EVALUE,
        "level %d (ell) of width %lld is too narrow: the longest row has %lld coordinates, use ell(%lld)",
        p->level, (long long)width, (long long)most, (long long)most);
}

/* ---- slices ---- */
static int pack_slices(packing *p)
{
    sc_level made = {0};
    const int rc = (sc_kind_of(spec(p))->sorted ? sc_sell_pack : sc_slices_pack)(
        p->c, p->list, p->level, p->above, p->at, p->to, &made);
    p->pos = (void *)(uintptr_t)made.pos;
    p->crd = (void *)(uintptr_t)made.crd;
    p->npos = made.npos;
    return rc;
}

/* ---- bit masks ---- */
static int pack_words(packing *p)
{
    sc_level made = {0};
    const int rc = sc_words_pack(p->c, p->list, p->level, p->above, p->at, p->to, &made);
    p->pos = (void *)(uintptr_t)made.pos;
    p->crd = (void *)(uintptr_t)made.crd;
    p->npos = made.npos;
    return rc;
}

/* ---- values ---- */
void sc_value_add(void *to, int64_t i, const void *from, int64_t j, sc_dtype t, float *sum)
{
    switch (t) {
    case SC_BOOL: ((uint8_t *)to)[i] |= ((const uint8_t *)from)[j]; break;
    case SC_I16: ((int16_t *)to)[i] = (int16_t)(((int16_t *)to)[i] + ((const int16_t *)from)[j]); break;
    case SC_I32:
        ((int32_t *)to)[i] = (int32_t)((uint32_t)((int32_t *)to)[i] + (uint32_t)((const int32_t *)from)[j]);
        break;
    case SC_I64:
        ((int64_t *)to)[i] = (int64_t)((uint64_t)((int64_t *)to)[i] + (uint64_t)((const int64_t *)from)[j]);
        break;
    case SC_F16:
    case SC_BF16:
        *sum += sc_half_get(t, ((const uint16_t *)from)[j]);
        ((uint16_t *)to)[i] = sc_half_put(t, *sum);
        break;
    case SC_F32: ((float *)to)[i] += ((const float *)from)[j]; break;
    case SC_F64: ((double *)to)[i] += ((const double *)from)[j]; break;
    case SC_NDTYPE: break;
    }
}

typedef struct {
    const packing *p;
    void *val;
    int64_t *perm;
} placing;

/* Groups of one position that begin in the range, whole. */
static void place_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const placing *v = arg;
    const int64_t *at = v->p->at;
    const sc_list *s = v->p->list;
    const void *from = v->p->c->from->view.val;
    sc_dtype t = v->p->c->from->dtype;
    int64_t e = begin, n = s->n;
    float sum = 0;
    (void)lane;
    while (e > 0 && e < end && at[e] == at[e - 1]) e++;
    if (e == end) n = e;
    for (; e < n && (e < end || at[e] == at[e - 1]); e++) {
        int64_t j = sc_list_source(s, e);
        if (e > 0 && at[e] == at[e - 1])
            sc_value_add(v->val, at[e], from, j, t, &sum);
        else
            sc_value_first(v->val, at[e], from, j, t, &sum);
        if (v->perm) v->perm[at[e]] = j;
    }
}

/* Are the values those of the source, in its order? */
static bool stay(const packing *p)
{
    bool same = p->npos == p->list->n && !p->list->idx;
    for (int64_t e = 0; e < p->list->n && same; e++) same = p->at[e] == e;
    return same;
}

static int pack_values(packing *p, int lanes)
{
    const sc_conversion *c = p->c;
    placing v = {.p = p};
    if (stay(p)) return sc_convert_val_keep(c);
    int rc = sc_convert_val(c, p->npos, &v.val);
    if (rc) return rc;
    bool sparse = !sc_format_is_dense(&c->from->format), merged = false;
    for (int64_t e = 1; e < p->list->n && !p->list->distinct && !merged; e++)
        merged = p->at[e] == p->at[e - 1];
    if (sparse && !merged && (rc = sc_convert_perm(c, p->npos, &v.perm))) return rc;
    const bool holes = merged || p->npos != p->list->n; /* positions without an entry */
    if (holes) sc_fill(v.val, c->from->dtype, p->npos, c->fill);
    if (holes && v.perm) sc_fill(v.perm, SC_I64, p->npos, -1);
    return sc_parallel_pieces(lanes, 2 * (double)p->list->n, p->list->n, place_range, &v);
}

/* ---- all levels ---- */
static int pack_level(packing *p, int l, int lanes)
{
    const sc_format *f = &p->c->to->format;
    sc_level *v = &p->c->to->view.level[l];
    const sc_kind *is = sc_kind_of(&f->level[l]);
    p->level = p->last = l;
    while (!f->level[p->last].unique && p->last + 1 < f->nlevel && sc_kind_of(&f->level[p->last + 1])->one)
        p->last++;
    p->all = p->last == f->nlevel - 1 && !f->level[p->last].unique;
    p->pos = p->crd = NULL;
    const int rc = !is->crd     ? pack_dense(p, lanes)
                   : is->pos    ? pack_compressed(p, lanes)
                   : is->one    ? pack_singleton(p, lanes)
                   : is->sliced ? pack_slices(p)
                   : is->words  ? pack_words(p)
                                : pack_ell(p, lanes);
    if (rc) return rc;
    *v = (sc_level){.pos = p->pos,
                    .crd = p->crd,
                    .size = sc_level_size(&f->level[l], p->c->to->view.dim),
                    .npos = p->npos};
    int64_t *swap = p->at;
    p->at = p->to;
    p->to = swap;
    p->above = p->npos;
    return SC_OK;
}

int sc_list_pack(const sc_conversion *c, const sc_list *s)
{
    packing p = {.c = c, .list = s, .above = 1, .npos = 1};
    int lanes = sc_team_lanes((double)s->n), rc = SC_ENOMEM;
    p.at = sc_convert_take(c, s->n, sizeof *p.at);
    p.to = sc_convert_take(c, s->n, sizeof *p.to);
    if (p.at && p.to) {
        sc_fill(p.at, SC_I64, s->n, 0);
        rc = SC_OK;
    }
    for (int l = 0; l < c->to->format.nlevel && !rc; l++) rc = pack_level(&p, l, lanes);
    if (!rc) rc = pack_values(&p, lanes);
    sc_work_give(p.at);
    sc_work_give(p.to);
    return rc;
}
