/* convert_list.c: from any tensor to a list of keys.
 *
 * A sparse source is unrolled from the root: the keys of a level's positions
 * are those of the positions above plus the level's own coordinate, shifted to
 * where the target wants it. The halves of a blocked dimension add up to the
 * whole coordinate the same way, with i/b scaled by b. Only when the target has
 * blocks of its own are whole coordinates divided again, in one pass at the end.
 *
 * A dense source is read in the order of the target's levels, blocks included,
 * so that its list comes out sorted. */
#include <string.h>

#include "convert.h"

void sc_list_free(sc_list *s)
{
    for (int w = 0; w < SC_MAXLEVEL; w++) sc_work_give(s->key[w]);
    sc_work_give(s->idx);
    memset(s, 0, sizeof *s);
}

/* ---- layout of keys ---- */
static int bits_of(int64_t extent)
{
    int n = 0;
    for (int64_t last = extent - 1; last > 0; last >>= 1) n++;
    return n;
}

/* Packs n fields of these extents into words of at most 63 bits, in order. */
static int layout(sc_field *field, const int64_t *extent, int n)
{
    int word = 0, used = 0, first = 0;
    for (int k = 0; k <= n; k++) {
        int bits = k < n ? bits_of(extent[k]) : 64;
        if (used + bits > 63) {
            for (int j = k - 1, shift = 0; j >= first; j--) {
                field[j].shift = shift;
                shift += bits_of(extent[j]);
            }
            if (k == n) break;
            word++;
            first = k;
            used = 0;
        }
        field[k] = (sc_field){.word = word, .mask = ((uint64_t)1 << bits) - 1};
        used += bits;
    }
    return word + 1;
}

static void target_layout(const sc_tensor *to, sc_list *s)
{
    int64_t extent[SC_MAXLEVEL];
    for (int l = 0; l < to->format.nlevel; l++)
        extent[l] = sc_level_extent(&to->format.level[l], to->view.dim);
    s->nword = layout(s->field, extent, to->format.nlevel);
}

/* Whole dimensions in the order in which the target meets them: field[d] is of
 * dimension d. Returns the number of words. */
static int whole_layout(const sc_tensor *to, sc_field *field)
{
    int64_t extent[SC_MAXDIM] = {0};
    int dim[SC_MAXDIM], n = 0;
    sc_field f[SC_MAXDIM];
    for (int l = 0; l < to->format.nlevel; l++) {
        if (to->format.level[l].part == SC_MOD) continue;
        dim[n] = to->format.level[l].dim;
        extent[n++] = to->view.dim[to->format.level[l].dim];
    }
    int words = layout(f, extent, n);
    for (int k = 0; k < n; k++) field[dim[k]] = f[k];
    return words;
}

/* ---- unrolling a sparse source ---- */
typedef struct {
    const sc_tensor *from;
    int level;
    const uint64_t *above; /* keys of the positions above, one word */
    uint64_t *key;
    uint64_t scale; /* what a coordinate of the level counts in this word */
    int64_t fibres;
    bool stray[SC_MAXLANE];
} unrolling;

/* Adds coordinate c of the level to key; padding has no entry, and nothing below it has: an extent of zero leaves no room
 * for the coordinates in a block. */
SC_INLINE uint64_t extend(const unrolling *u, uint64_t key, int64_t c, int64_t extent, bool pads, bool *stray)
{
    if (__builtin_expect((uint64_t)c >= (uint64_t)extent, 0)) {
        *stray |= !(pads && c == -1);
        return key | SC_DEAD;
    }
    return (key + (uint64_t)c * u->scale) | (key & SC_DEAD);
}

SC_INLINE bool compressed_range(const unrolling *u, sc_dtype itype, int64_t begin, int64_t end)
{
    const sc_level *v = &u->from->view.level[u->level];
    int64_t extent = sc_level_extent(&u->from->format.level[u->level], u->from->view.dim);
    bool stray = false;
    int64_t f = begin < end ? sc_split_fibre(v->pos, itype, u->fibres, begin) : 0;
    for (int64_t q = begin; q < end; f++) {
        int64_t last = sc_min(sc_index(v->pos, itype, f + 1), end);
        for (uint64_t key = u->above[f]; q < last; q++)
            u->key[q] = extend(u, key, sc_index(v->crd, itype, q), extent, false, &stray);
    }
    return stray;
}

SC_INLINE bool slots_range(const unrolling *u, sc_dtype itype, int64_t begin, int64_t end)
{
    const sc_levelspec *s = &u->from->format.level[u->level];
    const void *crd = u->from->view.level[u->level].crd;
    int64_t size = sc_kind_of(s)->one ? 1 : u->from->view.level[u->level].size;
    int64_t extent = sc_level_extent(s, u->from->view.dim), p = begin < end ? begin / size : 0,
            c = begin - p * size;
    bool stray = false;
    for (int64_t q = begin; q < end; q++) {
        u->key[q] = extend(u, u->above[p], crd ? sc_index(crd, itype, q) : c, extent, true, &stray);
        if (++c == size) c = 0, p++;
    }
    return stray;
}

/* The coordinates of the positions of a fibre, one after the other. */
SC_INLINE bool planes_range(const unrolling *u, sc_dtype itype, int64_t begin, int64_t end)
{
    const sc_level *v = &u->from->view.level[u->level];
    const int64_t extent = sc_level_extent(&u->from->format.level[u->level], u->from->view.dim);
    const int64_t fibres = u->level > 1 ? v[-2].npos : 1, size = v->size;
    bool stray = false;
    int64_t f = begin < end ? sc_split_fibre(v[-1].pos, itype, fibres, begin / size) : 0;
    for (int64_t q = begin; q < end; f++) {
        const int64_t lo = sc_index(v[-1].pos, itype, f), n = sc_index(v[-1].pos, itype, f + 1) - lo;
        for (const int64_t last = sc_min((lo + n) * size, end); q < last; q++) {
            const int64_t at = q - lo * size;
            u->key[q] = extend(u, u->above[lo + at % n], at / n, extent, false, &stray);
        }
    }
    return stray;
}

/* A position for every row of a slice on each of its diagonals. */
SC_INLINE bool slices_range(const unrolling *u, sc_dtype itype, int64_t begin, int64_t end)
{
    const sc_levelspec *s = &u->from->format.level[u->level];
    const sc_level *v = &u->from->view.level[u->level];
    const int64_t extent = sc_level_extent(s, u->from->view.dim), width = s->width;
    bool stray = false;
    int64_t f = begin < end ? sc_split_fibre(v->pos, itype, sc_slices(s, u->fibres), begin / width) : 0;
    for (int64_t p = begin; p < end; p++) {
        const int64_t q = p / width, row = f * width + p % width;
        if (q >= sc_index(v->pos, itype, f + 1)) {
            f++, p--;
            continue;
        }
        const bool here = sc_index(v->crd, itype, 2 * q + 1) >> p % width & 1;
        const int64_t c = here ? row + sc_index(v->crd, itype, 2 * q) : -1;
        stray |= here && (c < 0 || row >= u->fibres);
        u->key[p] = extend(u, row < u->fibres ? u->above[row] : 0, c, extent, true, &stray);
    }
    return stray;
}

/* The rows of slices that are sorted, each at its place. */
SC_INLINE bool sell_range(const unrolling *u, sc_dtype itype, int64_t begin, int64_t end)
{
    const sc_levelspec *s = &u->from->format.level[u->level];
    const sc_level *v = &u->from->view.level[u->level];
    const int64_t extent = sc_level_extent(s, u->from->view.dim), width = s->width, step = width + 1;
    bool stray = false;
    for (int64_t row = begin; row < end; row++) {
        const int64_t at = row / s->block * sc_window_step(s);
        const int64_t place = sc_index(v->pos, itype, at + s->block / width + 1 + row % s->block);
        const int64_t k = place % width, last = sc_index(v->pos, itype, at + place / width + 1);
        const uint64_t key = row < u->fibres ? u->above[row] : SC_DEAD;
        for (int64_t q = sc_index(v->pos, itype, at + place / width); q < last; q++) {
            const int64_t bits = sc_index(v->crd, itype, q * step);
            const int64_t c = bits >> k & 1 ? sc_index(v->crd, itype, q * step + 1 + k) : -1;
            u->key[q * width + k] = extend(u, key, c, extent, true, &stray);
        }
    }
    return stray;
}

/* The set bits of words, in order. A word with fewer bits than positions was not validated. */
SC_INLINE bool words_range(const unrolling *u, sc_dtype itype, int64_t begin, int64_t end)
{
    const sc_level *v = &u->from->view.level[u->level];
    const int64_t extent = v->size, words = sc_words(extent);
    bool stray = false;
    if (!words) return begin < end;
    int64_t w = begin < end ? sc_split_fibre(v->pos, itype, u->fibres * words, begin) : 0;
    for (int64_t q = begin; q < end; w++) {
        const int64_t last = sc_min(sc_index(v->pos, itype, w + 1), end), first = w % words * SC_WORD;
        uint32_t bits = sc_word(v->crd, itype, w);
        for (int64_t skip = q - sc_index(v->pos, itype, w); q < last && skip > 0; skip--) bits &= bits - 1;
        for (const uint64_t key = u->above[q < last ? w / words : 0]; q < last; q++, bits &= bits - 1)
            u->key[q] = extend(u, key, bits ? first + __builtin_ctz(bits) : extent, extent, false, &stray);
    }
    return stray;
}

static void unroll_range(void *arg, int lane, int64_t begin, int64_t end)
{
    unrolling *u = arg;
    if (sc_kind_of(&u->from->format.level[u->level])->pos) {
#define RUN(itype) u->stray[lane] |= compressed_range(u, itype, begin, end)
        SC_BY_INDEX(u->from->itype, RUN);
#undef RUN
    } else if (sc_kind_of(&u->from->format.level[u->level])->sorted) {
#define RUN(itype) u->stray[lane] |= sell_range(u, itype, begin, end)
        SC_BY_INDEX(u->from->itype, RUN);
#undef RUN
    } else if (sc_kind_of(&u->from->format.level[u->level])->sliced) {
#define RUN(itype) u->stray[lane] |= slices_range(u, itype, begin, end)
        SC_BY_INDEX(u->from->itype, RUN);
#undef RUN
    } else if (sc_kind_of(&u->from->format.level[u->level])->planar) {
#define RUN(itype) u->stray[lane] |= planes_range(u, itype, begin, end)
        SC_BY_INDEX(u->from->itype, RUN);
#undef RUN
    } else if (sc_kind_of(&u->from->format.level[u->level])->words) {
#define RUN(itype) u->stray[lane] |= words_range(u, itype, begin, end)
        SC_BY_INDEX(u->from->itype, RUN);
#undef RUN
    } else {
#define RUN(itype) u->stray[lane] |= slots_range(u, itype, begin, end)
        SC_BY_INDEX(u->from->itype, RUN);
#undef RUN
    }
}

/* One word of the keys of a level's positions; frees the word above. */
static int unroll(const sc_conversion *c, int level, int64_t above, uint64_t **key, uint64_t scale)
{
    unrolling u = {.from = c->from, .level = level, .above = *key, .scale = scale, .fibres = above};
    int64_t n = c->from->view.level[level].npos;
    int lanes = sc_team_lanes((double)n);
    u.key = sc_convert_take(c, n, sizeof *u.key);
    if (!u.key) return SC_ENOMEM;
    const sc_levelspec *s = &c->from->format.level[level];
    const int64_t units =
        sc_kind_of(s)->sorted ? sc_windows(s, above) * s->block : n; /* rows, or positions */
    const int rc = sc_parallel_pieces(lanes, (double)n, units, unroll_range, &u);
    sc_work_give(*key);
    *key = u.key;
    return rc ? rc : sc_convert_strays(c, u.stray, lanes);
}

static int unroll_all(const sc_conversion *c, sc_list *s, const sc_field *whole, int nword)
{
    const sc_format *f = &c->from->format;
    s->n = 1;
    for (int w = 0; w < nword; w++) {
        s->key[w] = sc_convert_take(c, 1, sizeof *s->key[w]);
        if (!s->key[w]) return SC_ENOMEM;
        s->key[w][0] = 0;
    }
    for (int l = 0; l < f->nlevel; l++) {
        const sc_levelspec *v = &f->level[l];
        uint64_t scale = (uint64_t)(v->part == SC_DIV ? v->block : 1) << whole[v->dim].shift;
        for (int w = 0; w < nword; w++) {
            int rc = unroll(c, l, s->n, &s->key[w], whole[v->dim].word == w ? scale : 0);
            if (rc) return rc;
        }
        s->n = c->from->view.level[l].npos;
    }
    return SC_OK;
}

/* ---- dropping padding, and zeros of a source without sparse levels ---- */
typedef struct {
    const sc_tensor *from;
    const sc_list *in;
    sc_list *out;
    int nword;
    bool zeros;
    int64_t count[SC_MAXLANE];
} dropping;

static bool stays(const dropping *d, int64_t e)
{
    return !(d->in->key[0][e] & SC_DEAD) &&
           (!d->zeros || sc_value_nonzero(d->from->view.val, e, d->from->dtype));
}

static void count_range(void *arg, int lane, int64_t begin, int64_t end)
{
    dropping *d = arg;
    int64_t n = 0;
    for (int64_t e = begin; e < end; e++) n += stays(d, e);
    d->count[lane] += n;
}

static void drop_range(void *arg, int lane, int64_t begin, int64_t end)
{
    dropping *d = arg;
    int64_t k = d->count[lane];
    for (int64_t e = begin; e < end; e++) {
        if (!stays(d, e)) continue;
        for (int w = 0; w < d->nword; w++) d->out->key[w][k] = d->in->key[w][e];
        d->out->idx[k++] = e;
    }
    d->count[lane] = k;
}

static int drop(const sc_conversion *c, sc_list *s, int nword, bool zeros)
{
    sc_list out = {0};
    dropping d = {.from = c->from, .in = s, .out = &out, .nword = nword, .zeros = zeros};
    int lanes = sc_team_lanes((double)s->n);
    if (sc_parallel_pieces(lanes, (double)s->n, s->n, count_range, &d)) return SC_ESTOP;
    out.n = sc_prefix(d.count, lanes);
    bool ok = (out.idx = sc_convert_take(c, out.n, sizeof *out.idx));
    for (int w = 0; w < nword && ok; w++) ok = (out.key[w] = sc_convert_take(c, out.n, sizeof *out.key[w]));
    const int rc = ok ? sc_parallel_pieces(lanes, (double)s->n, s->n, drop_range, &d) : SC_ENOMEM;
    sc_list_free(s);
    *s = out;
    return rc;
}

/* ---- dividing whole coordinates into the target's blocks ---- */
typedef struct {
    const sc_format *to;
    const sc_list *in; /* its fields are whole dimensions */
    sc_list *out;
} dividing;

static void divide_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const dividing *d = arg;
    (void)lane;
    for (int64_t e = begin; e < end; e++) {
        uint64_t key[SC_MAXLEVEL] = {0};
        for (int l = 0; l < d->to->nlevel; l++) {
            const sc_levelspec *v = &d->to->level[l];
            int64_t c = sc_list_at(d->in, v->dim, e);
            if (v->part == SC_DIV) c /= v->block;
            if (v->part == SC_MOD) c %= v->block;
            key[d->out->field[l].word] |= (uint64_t)c << d->out->field[l].shift;
        }
        for (int w = 0; w < d->out->nword; w++) d->out->key[w][e] = key[w];
    }
}

static int divide(const sc_conversion *c, sc_list *s, const sc_field *whole)
{
    sc_list in = *s;
    dividing d = {&c->to->format, &in, s};
    bool ok = true;
    memcpy(in.field, whole, SC_MAXDIM * sizeof *whole);
    memset(s->key, 0, sizeof s->key);
    for (int w = 0; w < s->nword && ok; w++) ok = (s->key[w] = sc_convert_take(c, s->n, sizeof *s->key[w]));
    const double work = 4 * (double)s->n;
    const int rc = ok ? sc_parallel_pieces(sc_team_lanes(work), work, s->n, divide_range, &d) : SC_ENOMEM;
    in.idx = NULL;
    sc_list_free(&in);
    return rc;
}

int sc_list_sparse(const sc_conversion *c, sc_list *s)
{
    sc_field whole[SC_MAXDIM] = {{0}};
    bool blocks = false, drops = false, zeros = !c->whole;
    int nword = whole_layout(c->to, whole);
    target_layout(c->to, s);
    for (int l = 0; l < c->to->format.nlevel; l++) blocks |= c->to->format.level[l].part != SC_WHOLE;
    for (int l = 0; l < c->from->format.nlevel; l++) {
        drops |= sc_kind_of(&c->from->format.level[l])->padded;
        zeros &= !sc_kind_of(&c->from->format.level[l])->crd;
    }
    sc_field field[SC_MAXLEVEL];
    int words = s->nword;
    memcpy(field, s->field, sizeof field);
    int rc = unroll_all(c, s, whole, nword);
    if (!rc && (drops || zeros)) rc = drop(c, s, nword, zeros);
    s->nword = words;
    memcpy(s->field, field, sizeof field);
    return rc || !blocks ? rc : divide(c, s, whole);
}

/* ---- reading a strided source ---- */
typedef struct {
    const sc_tensor *from;
    const uint8_t *where;
    bool whole; /* zeros are entries */
    sc_list *list;
    int n; /* levels of the target with more than one coordinate, and their extents and strides */
    int64_t extent[SC_MAXLEVEL], stride[SC_MAXLEVEL];
    sc_field field[SC_MAXLEVEL];
    int64_t inner; /* extent of the last of them */
    int64_t count[SC_MAXLANE];
} reading;

static void reading_init(reading *r, const sc_conversion *c, sc_list *s)
{
    const sc_format *f = &c->to->format;
    *r = (reading){.from = c->from, .where = c->where, .whole = c->whole, .list = s};
    for (int l = 0; l < f->nlevel; l++) {
        const sc_levelspec *v = &f->level[l];
        int64_t extent = sc_level_extent(v, c->from->view.dim);
        if (extent == 1) continue;
        r->extent[r->n] = extent;
        r->field[r->n] = s->field[l];
        const uint64_t stride =
            (uint64_t)c->from->view.stride[v->dim]; /* without elements it may be anything */
        r->stride[r->n++] = (int64_t)(stride * (v->part == SC_DIV ? (uint64_t)v->block : 1));
    }
    r->inner = r->n ? r->extent[r->n - 1] : 1;
}

/* Offset and key of the first element of row r, a run of the last level. */
static int64_t row_start(const reading *r, int64_t row, uint64_t *key)
{
    int64_t at = 0;
    memset(key, 0, sizeof *key * SC_MAXLEVEL);
    for (int k = r->n - 2; k >= 0; k--) {
        int64_t c = row % r->extent[k];
        row /= r->extent[k];
        at += c * r->stride[k];
        key[r->field[k].word] |= (uint64_t)c << r->field[k].shift;
    }
    return at;
}

static bool is_entry(const reading *r, int64_t at)
{
    if (r->where) return r->where[at];
    return r->whole || sc_value_nonzero(r->from->view.val, at, r->from->dtype);
}

static void count_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    reading *r = arg;
    int64_t n = 0, step = r->n ? r->stride[r->n - 1] : 0;
    uint64_t key[SC_MAXLEVEL];
    for (int64_t row = begin; row < end; row++) {
        int64_t at = row_start(r, row, key);
        for (int64_t j = 0; j < r->inner; j++) n += is_entry(r, at + j * step);
    }
    r->count[lane] += n;
}

static void read_rows(void *arg, int lane, int64_t begin, int64_t end)
{
    reading *r = arg;
    sc_list *s = r->list;
    int64_t k = r->count[lane], step = r->n ? r->stride[r->n - 1] : 0;
    sc_field last = r->n ? r->field[r->n - 1] : (sc_field){0};
    uint64_t key[SC_MAXLEVEL];
    for (int64_t row = begin; row < end; row++) {
        int64_t at = row_start(r, row, key);
        for (int64_t j = 0; j < r->inner; j++) {
            if (!is_entry(r, at + j * step)) continue;
            for (int w = 0; w < s->nword; w++) s->key[w][k] = key[w];
            s->key[last.word][k] |= (uint64_t)j << last.shift;
            s->idx[k++] = at + j * step;
        }
    }
    r->count[lane] = k;
}

int sc_list_dense(const sc_conversion *c, sc_list *s)
{
    reading r;
    int64_t rows = 1;
    target_layout(c->to, s);
    reading_init(&r, c, s);
    for (int k = 0; k + 1 < r.n; k++) rows *= r.extent[k];
    if (r.inner == 0) rows = 0;
    const double work = (double)rows * (double)r.inner;
    int lanes = sc_team_lanes(work);
    if (sc_parallel_pieces(lanes, work, rows, count_rows, &r)) return SC_ESTOP;
    s->n = sc_prefix(r.count, lanes);
    s->distinct = true;
    if (!(s->idx = sc_convert_take(c, s->n, sizeof *s->idx))) return SC_ENOMEM;
    for (int w = 0; w < s->nword; w++)
        if (!(s->key[w] = sc_convert_take(c, s->n, sizeof *s->key[w]))) return SC_ENOMEM;
    return sc_parallel_pieces(lanes, work, rows, read_rows, &r);
}
