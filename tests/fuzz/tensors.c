/* tensors.c: the arrays of a tensor, validated, and converted from format to format.
 *
 * Choices make a format, extents and, fibre by fibre, entries that are in order; then perhaps one number is made
 * wrong. What was not touched must be valid. What is valid is read by a plain walk over its levels into a list of
 * (coordinates, value), and so is everything that conversions make of it: the same entries with the same values. All
 * arrays have exactly the size that was asked for and hold no zeros before they are set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define MAXPLACE 128 /* positions of a level */
#define SLOTS 4096   /* of a table of entries, which is at most half full */

/* ---- memory ---- */
typedef struct {
    void *block[128];
    int n;
    int asked[3][SC_MAXLEVEL + 1]; /* by one conversion */
    bool refused;
} Heap;

static void *heap_get(Heap *h, size_t size)
{
    if (h->n == SC_LEN(h->block)) fuzz_die("more than %d arrays", h->n);
    void *p = h->block[h->n++] = malloc(size ? size : 1);
    if (!p) exit(2);
    return memset(p, SC_POISON, size ? size : 1);
}

static void heap_free(Heap *h)
{
    while (h->n) free(h->block[--h->n]);
}

static void *heap_alloc(void *ctx, int what, int level, sc_dtype type, int64_t n)
{
    Heap *h = ctx;
    if (n < 0) fuzz_die("%lld elements are asked for", (long long)n);
    if (h->asked[what][level + 1]++) fuzz_die("array %d of level %d is asked for twice", what, level);
    if (n > SLOTS / 2) h->refused = true;
    return n > SLOTS / 2 ? NULL : heap_get(h, (size_t)n * sc_dtype_size(type));
}

/* ---- formats ---- */
static const char *const kinds[] = {"dense",     "compressed", "singleton", "ell",
                                    "diagonals", "bitmask",    "planar"};

typedef struct {
    sc_format format;
    int64_t dim[SC_MAXDIM];
} Shape;

static void add_level(Bytes *b, char *out, size_t size, int d, char part, int block, bool first)
{
    static const uint8_t likely[] = {SC_COMPRESSED, SC_DENSE, SC_COMPRESSED, SC_DENSE, SC_SINGLETON, SC_ELL};
    const int kind = part == '%' && !fuzz_one_in(b, 4) ? SC_DENSE : likely[fuzz_below(b, SC_LEN(likely))];
    const bool repeats = (kind == SC_COMPRESSED || kind == SC_SINGLETON) && fuzz_below(b, 3);
    size_t n = strlen(out);
    n += (size_t)snprintf(out + n, size - n, "%s%s(%d", first ? "" : ", ", kinds[kind], d);
    if (part) n += (size_t)snprintf(out + n, size - n, "%c%d", part, block);
    if (kind == SC_ELL) n += (size_t)snprintf(out + n, size - n, ", %d", fuzz_below(b, 6));
    snprintf(out + n, size - n, "%s)", repeats ? ", nonunique" : "");
}

/* A format of ndim dimensions: one that has a name, or levels in any order; false where the choice is no format. */
static bool choose_format(Bytes *b, int ndim, sc_format *f)
{
    static const char *const named[] = {"csr",
                                        "csc",
                                        "coo",
                                        "dcsr",
                                        "dcsc",
                                        "csf",
                                        "bsr(2,3)",
                                        "bsc(2,2)",
                                        "ell(4)",
                                        "dense",
                                        "dia(1)",
                                        "dia(4)",
                                        "dia(16)",
                                        "bitmask",
                                        "compressed(1), bitmask(0)",
                                        "dense(0/2), compressed(1/3), planar(0%2), dense(1%3)",
                                        "compressed(1/2), compressed(0/2), planar(1%2), dense(0%2)"};
    char text[512] = "", order[SC_MAXDIM];
    sc_err err = {0};
    if (fuzz_below(b, 2)) return !sc_format_parse(f, named[fuzz_below(b, SC_LEN(named))], ndim, &err);
    for (int d = 0; d < ndim; d++) order[d] = (char)d;
    for (int d = 0; d < ndim; d++) {
        const int k = d + fuzz_below(b, ndim - d);
        const char swap = order[d];
        order[d] = order[k], order[k] = swap;
    }
    const int cut = fuzz_one_in(b, 4) ? fuzz_below(b, ndim) : -1; /* the dimension in blocks */
    const int block = 2 + fuzz_below(b, 3);
    for (int d = 0; d < ndim; d++) add_level(b, text, sizeof text, order[d], d == cut ? '/' : 0, block, !d);
    if (cut >= 0) add_level(b, text, sizeof text, order[cut], '%', block, false);
    return !sc_format_parse(f, text, ndim, &err);
}

static bool has_kind(const sc_format *f, int d, int kind)
{
    bool found = false;
    for (int l = 0; l < f->nlevel; l++) found |= f->level[l].dim == d && f->level[l].kind == kind;
    return found;
}

/* Small extents that blocks divide; now and then a large one, where no level is as long. */
static void choose_dims(Bytes *b, Shape *s, sc_dtype itype)
{
    for (int d = 0; d < s->format.ndim; d++) {
        s->dim[d] = fuzz_below(b, 10);
        if (!fuzz_one_in(b, 4)) s->dim[d] = s->dim[d] / 6 * 6;
        if (fuzz_one_in(b, 12) && !has_kind(&s->format, d, SC_DENSE) && !has_kind(&s->format, d, SC_BITMASK))
            s->dim[d] = itype == SC_I64 ? 3000000000 + fuzz_below(b, 7) : INT32_MAX;
    }
}

/* ---- entries ---- */
static int64_t choose_coordinate(Bytes *b, int64_t extent)
{
    const uint32_t c = fuzz_byte(b);
    return extent > 256 && c & 1 ? extent - 1 - c / 2 : (int64_t)(c % (uint64_t)extent);
}

typedef struct {
    Bytes *b;
    sc_tensor *t;
    Heap *h;
    int64_t parent; /* positions above the level that is made */
} Maker;

static int64_t extent_of(const sc_tensor *t, int l)
{
    const sc_levelspec *s = &t->format.level[l];
    const int64_t n = t->view.dim[s->dim];
    return s->part == SC_MOD ? s->block : s->part == SC_DIV ? (n + s->block - 1) / s->block : n;
}

static void put(const sc_tensor *t, const void *array, int64_t i, int64_t v)
{
    if (t->itype == SC_I64)
        ((int64_t *)(intptr_t)array)[i] = v;
    else
        ((int32_t *)(intptr_t)array)[i] = (int32_t)v;
}

static void *index_array(Maker *m, int64_t n)
{ return heap_get(m->h, (size_t)n * sc_dtype_size(m->t->itype)); }

typedef struct {
    int64_t c[SC_MAXLEVEL];
} Tuple;

/* Coordinates of the levels from head on, of one fibre, in order. */
static int compare_tuples(const Tuple *x, const Tuple *y, int n)
{
    for (int k = 0; k < n; k++)
        if (x->c[k] != y->c[k]) return x->c[k] < y->c[k] ? -1 : 1;
    return 0;
}

/* Whether y may follow x where this many levels share positions. */
static bool may_follow(const sc_format *f, int head, const Tuple *x, const Tuple *y, int n)
{
    if (f->level[head].unique) return y->c[0] > x->c[0]; /* the others follow the first */
    for (int k = 0; k < n; k++) {
        const bool same = !compare_tuples(x, y, k);
        if (same && y->c[k] < x->c[k] + f->level[head + k].unique) return false;
    }
    return true;
}

static int chain_length(const sc_format *f, int head)
{
    int n = 1;
    while (head + n < f->nlevel && f->level[head + n].kind == SC_SINGLETON) n++;
    return n;
}

/* The tuples of one fibre: a few, put in order, what may not follow left out. */
static int choose_fibre(Maker *m, int head, int n, Tuple *out)
{
    static const int counts[] = {0, 1, 1, 2, 3, 5, 8};
    const sc_format *f = &m->t->format;
    int want = counts[fuzz_below(m->b, SC_LEN(counts))], made = 0;
    for (int k = 0; k < n; k++)
        if (!extent_of(m->t, head + k)) want = 0;
    for (int e = 0; e < want; e++) {
        Tuple x = {{0}};
        int at = e;
        for (int k = 0; k < n; k++) x.c[k] = choose_coordinate(m->b, extent_of(m->t, head + k));
        for (; at > 0 && compare_tuples(&x, &out[at - 1], n) < 0; at--) out[at] = out[at - 1];
        out[at] = x;
    }
    for (int e = 0; e < want; e++)
        if (!made || may_follow(f, head, &out[made - 1], &out[e], n)) out[made++] = out[e];
    return made;
}

static bool make_compressed(Maker *m, int head)
{
    const int n = chain_length(&m->t->format, head);
    static Tuple all[MAXPLACE];
    Tuple fibre[8];
    void *pos = index_array(m, m->parent + 1);
    int64_t count = 0;
    put(m->t, pos, 0, 0);
    for (int64_t p = 0; p < m->parent; p++) {
        const int more = choose_fibre(m, head, n, fibre);
        if (count + more > MAXPLACE) return false;
        memcpy(all + count, fibre, (size_t)more * sizeof *fibre);
        put(m->t, pos, p + 1, count += more);
    }
    for (int k = 0; k < n; k++) {
        void *crd = index_array(m, count);
        for (int64_t p = 0; p < count; p++) put(m->t, crd, p, all[p].c[k]);
        m->t->view.level[head + k] =
            (sc_level){.pos = k ? NULL : pos, .crd = crd, .size = extent_of(m->t, head + k), .npos = count};
    }
    m->parent = count;
    return true;
}

/* Rows of rising coordinates, then padding; singletons below have any, and padding where the row has. */
static bool make_slots(Maker *m, int head)
{
    const int n = chain_length(&m->t->format, head), width = m->t->format.level[head].width;
    const int64_t count = m->parent * width;
    if (count > MAXPLACE) return false;
    for (int k = 0; k < n; k++)
        m->t->view.level[head + k] = (sc_level){
            .crd = index_array(m, count), .size = k ? extent_of(m->t, head + k) : width, .npos = count};
    for (int64_t p = 0; p < count; p++) {
        const void *crd = m->t->view.level[head].crd;
        const int64_t before = p % width ? sc_index(crd, m->t->itype, p - 1) : -1;
        bool pads = (p % width && before < 0) || fuzz_below(m->b, 3) == 2;
        int64_t c = before + 1 + fuzz_below(m->b, 3);
        for (int k = 0; k < n; k++) pads |= c >= extent_of(m->t, head) || !extent_of(m->t, head + k);
        put(m->t, crd, p, pads ? -1 : c);
        for (int k = 1; k < n; k++)
            put(m->t, m->t->view.level[head + k].crd, p,
                pads ? -1 : choose_coordinate(m->b, extent_of(m->t, head + k)));
    }
    m->parent = count;
    return true;
}

/* Slices of the rows above: rising diagonals, and bits of rows that can have them. */
static bool make_slices(Maker *m, int l)
{
    static int64_t all[2 * MAXPLACE];
    const int width = m->t->format.level[l].width;
    const int64_t slices = (m->parent + width - 1) / width, extent = extent_of(m->t, l);
    void *pos = index_array(m, slices + 1);
    int64_t n = 0;
    put(m->t, pos, 0, 0);
    for (int64_t s = 0; s < slices; s++) {
        int64_t d = -(s + 1) * width;
        for (int k = fuzz_below(m->b, 4); k > 0; k--) {
            int64_t bits = 0;
            d += 1 + fuzz_below(m->b, 12);
            for (int64_t p = s * width; p < (s + 1) * width && p < m->parent; p++)
                if (p + d >= 0 && p + d < extent && fuzz_below(m->b, 3))
                    bits |= (int64_t)1 << (p - s * width);
            if (!bits) continue;
            if ((n + 1) * width > MAXPLACE) return false;
            all[2 * n] = d, all[2 * n++ + 1] = bits;
        }
        put(m->t, pos, s + 1, n);
    }
    void *crd = index_array(m, 2 * n);
    for (int64_t k = 0; k < 2 * n; k++) put(m->t, crd, k, all[k]);
    m->parent = n * width;
    m->t->view.level[l] = (sc_level){.pos = pos, .crd = crd, .size = width, .npos = m->parent};
    return true;
}

/* Words of the bits of coordinates, few or many. */
static bool make_words(Maker *m, int l)
{
    const int64_t extent = extent_of(m->t, l), words = sc_words(extent), n = m->parent * words;
    if (n > MAXPLACE) return false;
    void *pos = index_array(m, n + 1), *crd = index_array(m, n);
    int64_t total = 0;
    put(m->t, pos, 0, 0);
    for (int64_t w = 0; w < n; w++) {
        const int64_t rest = extent - w % words * SC_WORD;
        uint32_t bits = 0;
        for (int k = fuzz_below(m->b, 6); k > 0; k--) bits |= (uint32_t)1 << fuzz_below(m->b, SC_WORD);
        if (!fuzz_below(m->b, 6)) bits = UINT32_MAX;
        if (rest < SC_WORD) bits &= ((uint32_t)1 << rest) - 1;
        put(m->t, crd, w, bits);
        put(m->t, pos, w + 1, total += __builtin_popcount(bits));
    }
    m->parent = total;
    m->t->view.level[l] = (sc_level){.pos = pos, .crd = crd, .size = extent, .npos = total};
    return total <= MAXPLACE;
}

/* A singleton that is in no chain: one coordinate for each position of a dense level. */
static bool make_single(Maker *m, int l)
{
    void *crd = index_array(m, m->parent);
    if (m->parent && !extent_of(m->t, l)) return false;
    for (int64_t p = 0; p < m->parent; p++) put(m->t, crd, p, choose_coordinate(m->b, extent_of(m->t, l)));
    m->t->view.level[l] = (sc_level){.crd = crd, .size = extent_of(m->t, l), .npos = m->parent};
    return true;
}

static bool make_levels(Maker *m)
{
    const sc_format *f = &m->t->format;
    bool ok = true;
    m->parent = 1;
    for (int l = 0; l < f->nlevel && ok; l++) {
        const int kind = f->level[l].kind;
        if (kind == SC_DENSE || kind == SC_PLANAR) {
            m->parent *= extent_of(m->t, l);
            m->t->view.level[l] = (sc_level){.size = extent_of(m->t, l), .npos = m->parent};
            ok = m->parent <= MAXPLACE;
        } else if (kind == SC_SINGLETON) {
            ok = make_single(m, l);
        } else if (kind == SC_DIAGONALS) {
            ok = make_slices(m, l);
        } else if (kind == SC_BITMASK) {
            ok = make_words(m, l);
        } else {
            ok = kind == SC_ELL ? make_slots(m, l) : make_compressed(m, l);
            l += chain_length(f, l) - 1;
        }
    }
    return ok;
}

/* Small integers; zeros are likely, NaN is not. */
static double choose_value(Bytes *b, sc_dtype t)
{
    const int v = fuzz_below(b, 16);
    if (t == SC_BOOL) return v > 4;
    return v == 15 && t >= SC_F16 ? __builtin_nan("") : v > 11 ? 0 : v - 5;
}

/* Values, in place or somewhere else. */
static void make_values(Maker *m)
{
    sc_tensor *t = m->t;
    const int64_t n = t->view.nval = m->parent;
    const bool elsewhere = !sc_format_is_dense(&t->format) && fuzz_one_in(m->b, 5);
    const int64_t room = elsewhere ? n + 3 : n;
    t->view.val = heap_get(m->h, (size_t)room * sc_dtype_size(t->dtype));
    for (int64_t i = 0; i < room; i++) sc_number_put(t->dtype, t->view.val, i, choose_value(m->b, t->dtype));
    if (!elsewhere) return;
    void *perm = index_array(m, n);
    for (int64_t i = 0; i < n; i++) put(t, perm, i, fuzz_one_in(m->b, 8) ? -1 : (i * 5 + 1) % room);
    t->view.perm = perm;
}

static void dense_strides(sc_tensor *t, Bytes *b)
{
    const bool turned = fuzz_one_in(b, 3);
    int64_t stride = 1;
    for (int k = 0; k < t->format.ndim; k++) {
        const int d = turned ? k : t->format.ndim - 1 - k;
        t->view.stride[d] = stride;
        stride *= sc_max(t->view.dim[d], 1);
    }
}

/* ---- reading: a table of coordinates and values ---- */
typedef struct {
    int64_t c[SC_MAXDIM];
    double v;
} Item;
typedef struct {
    Item item[SLOTS / 2];
    uint16_t slot[SLOTS]; /* 1 + an item */
    int n;
    sc_dtype dtype;
} List;

/* Where the coordinates are, or would be. */
static uint16_t *find_slot(List *list, const int64_t *c)
{
    uint64_t h = 0;
    for (int d = 0; d < SC_MAXDIM; d++) h = (h ^ (uint64_t)c[d]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    for (;; h++) {
        uint16_t *at = &list->slot[h % SLOTS];
        if (!*at || !memcmp(list->item[*at - 1].c, c, sizeof list->item->c)) return at;
    }
}

static const Item *find(List *list, const int64_t *c)
{
    const uint16_t *at = find_slot(list, c);
    return *at ? &list->item[*at - 1] : NULL;
}

static void add_item(List *list, const int64_t *c, double v)
{
    uint16_t *at = find_slot(list, c);
    Item *e = &list->item[*at ? *at - 1 : list->n];
    if (*at) {
        e->v = list->dtype == SC_BOOL ? (e->v != 0 || v != 0) : e->v + v;
        return;
    }
    if (list->n == SLOTS / 2) fuzz_die("more entries than a tensor of this size has");
    *at = (uint16_t)++list->n;
    memcpy(e->c, c, sizeof e->c);
    e->v = v;
}

static double value_at(const sc_tensor *t, int64_t p)
{
    if (t->view.perm) p = sc_index(t->view.perm, t->itype, p);
    return p < 0 ? 0 : sc_number_get(t->dtype, t->view.val, p);
}

/* The row p of its slice; no level follows. */
static void walk_slice(const sc_tensor *t, int l, int64_t p, int64_t *c, List *out)
{
    const sc_levelspec *s = &t->format.level[l];
    const sc_level *v = &t->view.level[l];
    const int64_t end = sc_index(v->pos, t->itype, p / s->width + 1);
    for (int64_t q = sc_index(v->pos, t->itype, p / s->width); q < end; q++) {
        if (!(sc_index(v->crd, t->itype, 2 * q + 1) >> p % s->width & 1)) continue;
        c[s->dim] = p + sc_index(v->crd, t->itype, 2 * q);
        add_item(out, c, value_at(t, q * s->width + p % s->width));
        c[s->dim] = 0;
    }
}

static void walk(const sc_tensor *t, int l, int64_t p, int64_t *c, List *out);

/* The set bits of the words below position p. */
static void walk_words(const sc_tensor *t, int l, int64_t p, int64_t *c, List *out)
{
    const sc_level *v = &t->view.level[l];
    const int64_t words = sc_words(v->size), dim = t->format.level[l].dim, old = c[dim];
    for (int64_t at = 0, q = words ? sc_index(v->pos, t->itype, p * words) : 0; at < v->size; at++) {
        if (!(sc_word(v->crd, t->itype, p * words + at / SC_WORD) >> at % SC_WORD & 1)) continue;
        c[dim] = at;
        walk(t, l + 1, q++, c, out);
    }
    c[dim] = old;
}

static void walk(const sc_tensor *, int l, int64_t p, int64_t *c, List *);

/* The coordinates of position p above, as far apart as its fibre is long. */
static void walk_planes(const sc_tensor *t, int l, int64_t p, int64_t *c, List *out)
{
    const sc_level *v = &t->view.level[l];
    int64_t f = 0;
    while (sc_index(v[-1].pos, t->itype, f + 1) <= p) f++;
    const int64_t lo = sc_index(v[-1].pos, t->itype, f), n = sc_index(v[-1].pos, t->itype, f + 1) - lo;
    for (int64_t k = 0; k < v->size; k++) {
        c[t->format.level[l].dim] += k;
        walk(t, l + 1, lo * v->size + k * n + p - lo, c, out);
        c[t->format.level[l].dim] -= k;
    }
}

static void walk(const sc_tensor *t, int l, int64_t p, int64_t *c, List *out)
{
    if (l == t->format.nlevel) {
        add_item(out, c, value_at(t, p));
        return;
    }
    const sc_levelspec *s = &t->format.level[l];
    const sc_level *v = &t->view.level[l];
    int64_t begin = p, end = p + 1;
    if (s->kind == SC_PLANAR) {
        walk_planes(t, l, p, c, out);
        return;
    }
    if (s->kind == SC_DIAGONALS) {
        walk_slice(t, l, p, c, out);
        return;
    }
    if (s->kind == SC_BITMASK) {
        walk_words(t, l, p, c, out);
        return;
    }
    if (s->kind == SC_COMPRESSED)
        begin = sc_index(v->pos, t->itype, p), end = sc_index(v->pos, t->itype, p + 1);
    if (s->kind == SC_DENSE || s->kind == SC_ELL) begin = p * v->size, end = begin + v->size;
    for (int64_t q = begin; q < end; q++) {
        const int64_t at = s->kind == SC_DENSE ? q - begin : sc_index(v->crd, t->itype, q), old = c[s->dim];
        if (at < 0) continue;
        c[s->dim] = s->part == SC_DIV ? at * s->block : s->part == SC_MOD ? old + at : at;
        walk(t, l + 1, q, c, out);
        c[s->dim] = old;
    }
}

/* The elements of a dense tensor, or those that `where` says, in row-major order. */
static void walk_dense(const sc_tensor *t, const uint8_t *where, List *out)
{
    int64_t c[SC_MAXDIM] = {0}, n = 1;
    for (int d = 0; d < t->format.ndim; d++) n *= t->view.dim[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at = 0;
        for (int d = t->format.ndim; d-- > 0; rest /= t->view.dim[d]) {
            c[d] = rest % t->view.dim[d];
            at += c[d] * t->view.stride[d];
        }
        if (!where || where[i]) add_item(out, c, sc_number_get(t->dtype, t->view.val, at));
    }
}

static List *read_list(const sc_tensor *t, const uint8_t *where, Heap *h)
{
    List *list = heap_get(h, sizeof *list);
    int64_t c[SC_MAXDIM] = {0};
    memset(list->slot, 0, sizeof list->slot);
    list->n = 0;
    list->dtype = t->dtype;
    if (sc_format_is_dense(&t->format))
        walk_dense(t, where, list);
    else if (t->view.nval)
        walk(t, 0, 0, c, list);
    return list;
}

/* ---- comparing ---- */
static bool same(double a, double b) { return a == b || (a != a && b != b); }

static void describe(const Item *e, const char *what, const char *from, const char *to)
{
    fuzz_die("%s to %s: (%lld, %lld, %lld): %s, %g", from, to, (long long)e->c[0], (long long)e->c[1],
             (long long)e->c[2], what, e->v);
}

/* drops: entries whose value is zero may be missing. Zeros may be added where the levels of the result end dense.
   A result of repeated coordinates is summed here, so both sums are rounded. */
static void compare(List *want, List *got, bool drops, const sc_format *from, const sc_format *to)
{
    char source[400], target[400];
    const bool adds = to->nlevel && to->level[to->nlevel - 1].kind == SC_DENSE;
    sc_format_print(from, source, sizeof source);
    sc_format_print(to, target, sizeof target);
    for (int k = 0; k < want->n; k++) {
        const Item *e = &want->item[k], *f = find(got, e->c);
        if (!f && !(drops && e->v == 0)) describe(e, "is missing", source, target);
        if (f && !same(sc_number_as(got->dtype, e->v), sc_number_as(got->dtype, f->v)))
            describe(f, "another value", source, target);
    }
    for (int k = 0; k < got->n; k++)
        if (!find(want, got->item[k].c) && !(adds && got->item[k].v == 0))
            describe(&got->item[k], "was not there", source, target);
}

/* ---- conversions ---- */
typedef struct {
    sc_tensor t;
    List *list;
    bool huge; /* an extent that workspaces may be too large for */
} Subject;

static void check_perm(const sc_tensor *from, const sc_tensor *to, const int64_t *perm)
{
    for (int64_t i = 0; perm && i < to->view.nval; i++) {
        const double v = perm[i] < 0 ? 0 : sc_number_get(from->dtype, from->view.val, perm[i]);
        if (!same(v, sc_number_get(to->dtype, to->view.val, i)))
            fuzz_die("value %lld is not the one at %lld of the source", (long long)i, (long long)perm[i]);
    }
}

static bool without_sparse_levels(const sc_format *f)
{
    for (int l = 0; l < f->nlevel; l++)
        if (f->level[l].kind != SC_DENSE) return false;
    return true;
}

static bool row_major(const sc_tensor *t)
{
    int64_t stride = 1;
    for (int d = t->format.ndim; d-- > 0; stride *= sc_max(t->view.dim[d], 1))
        if (t->view.stride[d] != stride) return false;
    return true;
}

static uint8_t *choose_where(Bytes *b, const sc_tensor *t, Heap *h)
{
    uint8_t *where = heap_get(h, (size_t)t->view.nval);
    for (int64_t i = 0; i < t->view.nval; i++) where[i] = (uint8_t)fuzz_below(b, 2);
    return where;
}

/* The subject in another format; false where that is refused. */
static bool convert(Subject *x, sc_tensor to, Bytes *b, Heap *h)
{
    const bool dense = sc_format_is_dense(&x->t.format), layout = fuzz_one_in(b, 4);
    uint8_t *where = dense && row_major(&x->t) && fuzz_one_in(b, 3) ? choose_where(b, &x->t, h) : NULL;
    int64_t *perm = NULL, **wants = fuzz_below(b, 2) && !where ? &perm : NULL;
    const long fails = fuzz_one_in(b, 16) ? 1 + fuzz_below(b, 40) : 0;
    sc_err err = {0};
    memset(h->asked, 0, sizeof h->asked);
    h->refused = false;
    sc_fail_alloc(fails, fails > 0);
    const int rc = where    ? sc_convert_where(&x->t, where, 0, &to, heap_alloc, h, &err)
                   : layout ? sc_convert_layout(&x->t, &to, heap_alloc, h, wants, &err)
                            : sc_convert(&x->t, &to, heap_alloc, h, wants, &err);
    sc_fail_alloc(0, 0);
    if (rc == SC_ENOMEM && err.code == rc && (fails || h->refused || x->huge)) return false;
    if (rc) fuzz_refusal(rc, &err, "");
    if (rc) return false;
    if (sc_validate(&to, &err)) fuzz_die("a conversion made what is not valid: %s", err.msg);
    check_perm(&x->t, &to, perm);
    List *want = where ? read_list(&x->t, where, h) : x->list, *got = read_list(&to, NULL, h);
    compare(want, got, !where && !layout && without_sparse_levels(&x->t.format), &x->t.format, &to.format);
    x->t = to;
    x->list = got;
    return true;
}

static bool to_dense(const Subject *x, Bytes *b, Heap *h)
{
    Subject copy = *x;
    sc_tensor to = {.itype = SC_I32};
    sc_err err = {0};
    double n = 1;
    for (int d = 0; d < x->t.format.ndim; d++) n *= (double)x->t.view.dim[d];
    if (n > SLOTS / 2) return false;
    if (sc_format_parse(&to.format, "dense", x->t.format.ndim, &err)) fuzz_die("%s", err.msg);
    return convert(&copy, to, b, h);
}

/* ---- what is wrong is noticed, or harmless ---- */
static void make_wrong(Bytes *b, sc_tensor *t)
{
    static const int64_t numbers[] = {-1, -2, 0, 1, 2, 5, 1000, INT32_MAX};
    const int l = fuzz_below(b, t->format.nlevel);
    sc_level *v = &t->view.level[l];
    const int64_t n = numbers[fuzz_below(b, SC_LEN(numbers))];
    const int64_t above = l ? t->view.level[l - 1].npos : 1,
                  pos = sc_pos_length(&t->format.level[l], v->size, above),
                  crd = sc_crd_length(&t->format.level[l], v->size, above, v->npos);
    switch (fuzz_below(b, 8)) {
    case 0: v->size = n; break;
    case 1: t->view.nval = n; break;
    case 2: v->crd = NULL; break;
    case 3: v->pos = NULL; break;
    case 4: t->view.dim[t->format.level[l].dim] = n; break;
    case 5:
        if (v->pos) put(t, v->pos, fuzz_byte(b) % pos, n);
        break;
    default:
        if (v->crd && crd) put(t, v->crd, fuzz_byte(b) % crd, n);
        break;
    }
}

static bool blocks_divide(const sc_tensor *t)
{
    for (int l = 0; l < t->format.nlevel; l++)
        if (t->format.level[l].part != SC_WHOLE &&
            t->view.dim[t->format.level[l].dim] % t->format.level[l].block)
            return false;
    return true;
}

/* Whether the tensor is valid; one that nobody touched is. */
static bool valid(Bytes *b, sc_tensor *t)
{
    const bool wrong = !sc_format_is_dense(&t->format) && fuzz_one_in(b, 5), fits = blocks_divide(t);
    sc_err err = {0};
    if (wrong) make_wrong(b, t);
    const int rc = sc_validate(t, &err);
    if (rc) fuzz_refusal(rc, &err, "");
    if (rc && !wrong && fits) fuzz_die("a tensor that is right is refused: %s", err.msg);
    if (!rc && !fits && !wrong) fuzz_die("a block that does not divide its extent is accepted");
    return !rc;
}

static bool make_tensor(Bytes *b, Heap *h, sc_tensor *t)
{
    Shape shape = {0};
    const int ndim = 1 + fuzz_below(b, 3);
    *t =
        (sc_tensor){.dtype = (sc_dtype)fuzz_below(b, SC_NDTYPE), .itype = fuzz_below(b, 2) ? SC_I64 : SC_I32};
    if (!choose_format(b, ndim, &shape.format)) return false;
    choose_dims(b, &shape, t->itype);
    t->format = shape.format;
    memcpy(t->view.dim, shape.dim, sizeof shape.dim);
    Maker m = {.b = b, .t = t, .h = h};
    if (!make_levels(&m)) return false;
    if (sc_format_is_dense(&t->format)) dense_strides(t, b);
    make_values(&m);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes b = {data, size};
    Heap h = {.n = 0};
    Subject x = {.huge = false};
    fuzz_lanes(1 + fuzz_below(&b, 4));
    if (make_tensor(&b, &h, &x.t) && valid(&b, &x.t)) {
        x.list = read_list(&x.t, NULL, &h);
        for (int d = 0; d < x.t.format.ndim; d++) x.huge |= x.t.view.dim[d] > 1000000;
        to_dense(&x, &b, &h);
        for (int turn = 0; turn < 3; turn++) {
            sc_tensor to = {.itype = fuzz_below(&b, 2) ? SC_I64 : SC_I32};
            if (!choose_format(&b, x.t.format.ndim, &to.format) || !convert(&x, to, &b, &h)) continue;
            to_dense(&x, &b, &h);
        }
    }
    heap_free(&h);
    return 0;
}
