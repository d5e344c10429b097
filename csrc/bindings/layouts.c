/* layouts.c: layouts derived from a tensor, kept with its core.
 *
 * Not every write to values moves a version (x.data, memory of NumPy). So most derived layouts hold structure and a
 * permutation only, and kernels read the values where they are; tensors of one structure with different values share
 * them: those of the core they were made from. Where entries keep their order, as from csr to bit masks, there is no
 * permutation either.
 *
 * Cuts, dense(j/N), .., compressed(j%N), and slices of diagonals are there for speed alone, and reading values in
 * another order than they lie in would cost what they gain. They have values of their own, and the number of the bytes
 * that these were made from: before each use the values are read through, unless nobody can have written, and put in
 * order again where the number differs. So have layouts that move values, of tensors that are multiplied often, where
 * products ask for them. */
#include "bind.h"

#include <stdatomic.h>
#include <string.h>

#define KEPT 4 /* sizes of a tensor that its derived layouts may take */
#define NARROW                                                                                               \
    4 /* bytes that a value counts as there, at least: permutations are no narrower for truth values */
#define TRIES 8     /* renewals before a layout can be given up */
#define RENEWAL 256 /* products of an entry that pay for putting its value in order again */
/* Of slices of diagonals, in the time that an entry of csr takes: the end of a row of csr; to see that a value is what it
 * was; a row on a diagonal, entry or not. And what they must gain. */
#define ROW 4.0
#define SAME .35
#define PLACE .3
#define GAIN 1.1
#define LARGER 1.5 /* as many bytes as of csr may be read */
/* The same of slices of sorted rows: a slot, entry or not, and each byte of its value; to see that this is what it was;
 * rows of a window, and of a matrix whose windows are large. */
#define SLOT .8
#define SLOT_BYTE .025
#define SAME_BYTE .03
#define WINDOW 1024
#define MANY_ROWS (64 * WINDOW)
#define LEAST_ROWS (4 * WINDOW)
#define BLOCK 16 /* entries of full blocks that are faster than slices, and need no look at values */

static bool is_sliced(const sc_format *f)
{ return f->nlevel && sc_kind_of(&f->level[f->nlevel - 1])->sliced; }

/* Layouts with values of their own. */
static bool owns_values(const sc_format *f)
{
    const sc_levelspec *top = &f->level[0], *end = &f->level[f->nlevel - 1];
    if (is_sliced(f)) return true;
    return top->part == SC_DIV && end->part == SC_MOD && sc_kind_of(end)->pos;
}

/* Newest first: the newest stays, older ones while all together stay within
 * so many times the size of the tensor. */
static void bound_derived(sc_core *c)
{
    const int64_t narrow = sc_max(NARROW - (int64_t)sc_dtype_size(c->t.dtype), 0) * c->t.view.nval;
    int64_t kept = 0, limit = KEPT * (sc_core_bytes(c) + narrow);
    for (sc_derived **p = &c->derived; *p;) {
        kept += sc_derived_bytes(*p);
        if (p == &c->derived || kept <= limit) {
            p = &(*p)->next;
            continue;
        }
        sc_derived *old = *p;
        *p = old->next;
        sc_derived_free(old);
    }
}

/* The permutation as an array of the index type, or null where an entry has no source. */
static PyObject *narrow(sc_sink *sink, const int64_t *perm, int64_t n, sc_dtype itype)
{
    if (itype == SC_I64) return sc_sink_take(sink, perm, n);
    sc_dl_managed *m = sc_dense_alloc(sink->dl, itype, 1, &n);
    if (!m) return PyErr_NoMemory();
    int32_t *to = m->tensor.data;
    for (int64_t i = 0; i < n; i++) to[i] = (int32_t)perm[i];
    return sc_dense_object(sink->dl, m);
}

bool sc_bind_in_place(const int64_t *perm, int64_t n, int64_t of)
{
    int64_t moved = n ^ of;
    for (int64_t i = 0; i < n && !moved; i++) moved |= perm[i] ^ i;
    return !moved;
}

static bool complete(const int64_t *perm, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (perm[i] < 0) return false;
    return true;
}

/* From now on the values of d are those of c, found through the permutation, if it is one. */
static int adopt(const sc_state *s, sc_core *c, sc_core *d, PyObject *perm)
{
    static const char nothing[64];
    sc_component *mine = &d->comp[d->ncomp - 1];
    sc_borrowed b;
    const bool moved = perm != Py_True;
    if (!perm || (moved && sc_bind_borrow(s, perm, &b))) return Py_XDECREF(perm), -1;
    Py_DECREF(mine->tensor);
    Py_DECREF(mine->seen);
    mine->tensor = Py_NewRef(c->comp[c->ncomp - 1].tensor);
    mine->seen = Py_NewRef(c->comp[c->ncomp - 1].seen);
    mine->n = c->comp[c->ncomp - 1].n;
    mine->dtype = c->comp[c->ncomp - 1].dtype; /* that of its array may be another one of the same size */
    d->perm = perm;
    d->perm_data = !moved ? NULL : b.n ? b.t.view.val : nothing;
    return sc_core_refresh(s, d);
}

static sc_digest fingerprint(const sc_core *c)
{
    const size_t n = (size_t)c->t.view.nval * sc_dtype_size(c->t.dtype);
    sc_digest digest;
    Py_BEGIN_ALLOW_THREADS;
    digest = sc_fingerprint(c->t.view.val, n);
    Py_END_ALLOW_THREADS;
    return digest;
}

/* Of c in another layout: the values are read where they are, unless it has values of its own. */
static int settle(const sc_state *s, sc_core *c, sc_derived *d, bool own, PyObject *perm)
{
    if (!own) return adopt(s, c, d->core, perm);
    d->source = perm;
    return perm ? 0 : -1;
}

static sc_derived *build(const sc_state *s, sc_core *c, const sc_format *f, bool own)
{
    sc_derived *d = sc_malloc(sizeof *d);
    if (!d) return PyErr_NoMemory(), NULL;
    *d = (sc_derived){.generation = c->generation};
    sc_tensor from = c->t, to = {.format = *f, .itype = c->t.itype};
    sc_sink sink = {.dl = s->dl};
    int64_t *perm = NULL;
    sc_err e = {0};
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_convert_layout(&from, &to, sc_sink_alloc, &sink, &perm, &e);
    Py_END_ALLOW_THREADS;
    if (rc)
        sc_bind_raise(s, &e);
    else
        d->core = sc_core_wrap(s, &to, &sink, c);
    const int64_t n = to.view.nval;
    const bool fits = to.itype == SC_I64 || n <= INT32_MAX; /* below coordinates there may be more values */
    if (d->core && perm && !own && sc_bind_in_place(perm, n, c->t.view.nval))
        settle(s, c, d, own, Py_NewRef(Py_True));
    else if (d->core && perm && fits && (is_sliced(f) || complete(perm, n)))
        settle(s, c, d, own, narrow(&sink, perm, n, to.itype));
    sc_sink_clear(&sink);
    if (d->core && !PyErr_Occurred()) return d;
    sc_derived_free(d);
    return NULL;
}

/* 1: as good as new, 0: must be built again, -1 with an exception. */
static int still_good(const sc_state *s, const sc_core *c, sc_derived *d)
{
    if (d->generation != c->generation || !d->core->perm) return 0;
    return sc_core_refresh(s, d->core) ? -1 : 1;
}

/* The layout that the core of the same structure has, with the values of c. */
static sc_core *derive_shared(const sc_state *s, sc_core *c, const sc_format *f)
{
    if (sc_core_refresh(s, c->origin)) return NULL;
    sc_core *d = sc_core_derive(s, c->origin, f);
    if (!d || !d->perm) return d;
    (void)sc_core_counted(d); /* once for all */
    sc_core *own = sc_core_with_values(s, d, c->comp[c->ncomp - 1].tensor);
    Py_DECREF((PyObject *)d);
    return own;
}

/* ---- values of their own ---- */
/* The values of c in the order of `old`, as a core of their own: kernels of other threads may still read those of that. */
static sc_core *reordered(const sc_state *s, const sc_core *c, sc_core *old, PyObject *source)
{
    int64_t n = old->t.view.nval;
    sc_borrowed b;
    sc_dl_managed *m = sc_dense_alloc(s->dl, old->t.dtype, 1, &n);
    if (!m) return PyErr_NoMemory(), NULL;
    void *values = m->tensor.data;
    PyObject *object = sc_dense_object(s->dl, m);
    if (!object || sc_bind_borrow(s, source, &b)) return Py_XDECREF(object), NULL;
    Py_BEGIN_ALLOW_THREADS;
    sc_gather_values(values, c->t.view.val, b.t.view.val, b.t.dtype, n, old->t.dtype);
    Py_END_ALLOW_THREADS;
    sc_core *core = sc_core_with_values(s, old, object);
    Py_DECREF(object);
    return core;
}

/* With values of its own, of the type that those of c have; or without. */
static sc_derived **find(sc_core *all, const sc_core *c, const sc_format *f, bool own)
{
    sc_derived **p = &all->derived;
    for (; *p; p = &(*p)->next) {
        const sc_derived *d = *p;
        const bool good = !own || (d->generation == all->generation && d->core->t.dtype == c->t.dtype);
        if ((d->source != NULL) == own && good && sc_format_equal(&d->core->t.format, f)) break;
    }
    return p;
}

static void forget(sc_derived **p)
{
    sc_derived *d = *p;
    if (!d) return;
    *p = d->next;
    sc_derived_free(d);
}

static void link_first(sc_core *c, sc_derived *d)
{
    d->next = c->derived;
    c->derived = d;
    bound_derived(c);
}

/* Whether products with vectors are faster where a diagonal of a slice has so many entries. What is read counts too: where
 * other work had the caches in between, time is that of memory. */
static bool pays(const sc_core *c, double shared)
{
    const double entries = (double)c->t.view.nval, rows = (double)c->t.view.level[0].size;
    const double value = (double)sc_dtype_size(c->t.dtype), index = (double)sc_dtype_size(c->t.itype);
    const double read = entries * value * (1 + SC_SLICE / shared);
    return entries + ROW * rows > GAIN * entries * (SAME + PLACE * SC_SLICE / shared) &&
           read < LARGER * (entries * (value + index) + rows * index);
}

/* The same of sorted rows, with so many slots for an entry. */
static bool sorted_pays(const sc_core *c, double slots)
{
    const double entries = (double)c->t.view.nval, rows = (double)c->t.view.level[0].size;
    const double value = (double)sc_dtype_size(c->t.dtype);
    const double each = SLOT * slots + value * (SAME_BYTE + SLOT_BYTE * slots);
    return slots > 0 && entries + ROW * rows > GAIN * entries * each;
}

static int window_of(const sc_core *c)
{
    const int64_t rows = c->t.view.level[0].size;
    return rows < LEAST_ROWS ? 0 : rows < MANY_ROWS ? WINDOW : SC_WINDOW;
}

/* Slices that did not turn out as a sample of them. */
static bool unpaid(const sc_core *all, const sc_core *c, const sc_core *made)
{
    const double slots = (double)made->t.view.nval / (double)c->t.view.nval;
    return all->shared > 0 ? !pays(c, SC_SLICE / slots) : all->window && !sorted_pays(c, slots);
}

static sc_core *own_first(const sc_state *s, sc_core *all, sc_core *c, const sc_format *f, sc_seen seen)
{
    const int64_t generation = all->generation;
    sc_derived *d = build(s, c, f, true);
    if (!d) return NULL;
    d->generation = generation;
    d->seen = seen;
    d->before = all->products;
    sc_core *core = (sc_core *)Py_NewRef((PyObject *)d->core);
    forget(find(all, c, f, true)); /* of another thread, meanwhile */
    if (is_sliced(f) && unpaid(all, c, core)) {
        all->shared = -1; /* a few rows have diagonals of their own: the next product is as before */
        all->window = 0;
        d->unpaid = true;
    }
    if (!d->source)
        all->often = -1;
    else if (owns_values(f) && !is_sliced(f))
        all->often = f->level[0].block;
    link_first(all, d);
    return core;
}

/* Values that change all the time may cost more than the layout gains, unless products are wide: then it is given up. */
static sc_core *own_again(const sc_state *s, sc_core *all, sc_core *c, const sc_format *f, sc_seen seen)
{
    sc_derived *d = *find(all, c, f, true);
    sc_core *old = (sc_core *)Py_NewRef((PyObject *)d->core);
    PyObject *source = Py_NewRef(d->source);
    sc_core *core = reordered(s, c, old, source);
    Py_DECREF(source);
    Py_DECREF((PyObject *)old);
    sc_derived **now = find(all, c, f, true); /* other threads ran meanwhile */
    if (!core || !*now) return core;
    d = *now;
    old = d->core;
    d->core = (sc_core *)Py_NewRef((PyObject *)core);
    d->seen = seen;
    d->renewed++;
    Py_DECREF((PyObject *)old);
    const double paid = (double)d->renewed * (double)core->t.view.nval * RENEWAL;
    if (d->renewed >= TRIES && all->products - d->before < paid) {
        all->often = -1;
        forget(find(all, c, f, true));
    }
    return core;
}

/* Asked before the values are looked through, so that later writes are later than this. Where nobody but the core refers to
 * them, the ways to write are those of torch, which move their version, and those that begin with handing them out. */
static sc_seen ask(const sc_state *s, const sc_core *c)
{
    const sc_component *values = &c->comp[c->ncomp - 1];
    sc_seen now = {.serial = c->serial, .version = -1, .handed = s->handed};
    if (c->t.view.nval * (int64_t)sc_dtype_size(c->t.dtype) < SC_LARGE) return now;
    PyObject *alone = PyObject_CallFunctionObjArgs(s->alone, values->tensor, NULL);
    if (alone == Py_True) now.version = sc_bind_version(s, values->tensor);
    if (!alone) PyErr_Clear();
    Py_XDECREF(alone);
    return now;
}

static bool unwritten(const sc_seen *a, const sc_seen *b)
{ return a->version >= 0 && a->version == b->version && a->serial == b->serial && a->handed == b->handed; }

/* ---- places without entries ---- */
/* A matrix as a dense one, row-major. */
static sc_core *spread(const sc_state *s, sc_core *c, const sc_format *f)
{
    sc_tensor from = c->t, to = {.format = *f, .itype = c->t.itype};
    sc_sink sink = {.dl = s->dl};
    sc_core *core = NULL;
    sc_err e = {0};
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_convert(&from, &to, sc_sink_alloc, &sink, NULL, &e);
    Py_END_ALLOW_THREADS;
    if (rc)
        sc_bind_raise(s, &e);
    else
        core = sc_core_wrap(s, &to, &sink, c);
    sc_sink_clear(&sink);
    return core;
}

/* Made anew where values differ: to write all of it takes no longer than to read where each value comes from. */
static sc_core *spread_again(const sc_state *s, sc_core *all, sc_core *c, const sc_format *f, sc_seen seen)
{
    const int64_t generation = all->generation;
    sc_core *core = spread(s, c, f);
    sc_derived *d = core ? sc_malloc(sizeof *d) : NULL;
    if (!core) return NULL;
    if (!d) return Py_DECREF((PyObject *)core), (sc_core *)PyErr_NoMemory();
    *d = (sc_derived){.core = core,
                      .generation = generation,
                      .source = Py_NewRef(Py_True),
                      .seen = seen,
                      .before = all->products};
    Py_INCREF((PyObject *)core);
    forget(find(all, c, f, true));
    link_first(all, d);
    return core;
}

/* Whoever writes to the values, and however: what they were is known by a number, which is found anew unless nobody could
 * have written. */
static sc_core *derive_own(const sc_state *s, sc_core *c, const sc_format *f)
{
    sc_core *all = sc_core_root(c);
    if (all != c && sc_core_refresh(s, all)) return NULL;
    sc_seen now = ask(s, c);
    sc_derived *d = *find(all, c, f, true);
    if (d && unwritten(&d->seen, &now)) return (sc_core *)Py_NewRef((PyObject *)d->core);
    now.digest = fingerprint(c);
    d = *find(all, c, f, true); /* other threads ran meanwhile */
    const bool same = d && sc_digest_equal(d->seen.digest, now.digest);
    if (!same && sc_format_is_dense(f)) return spread_again(s, all, c, f, now);
    if (!d) return own_first(s, all, c, f, now);
    if (!same) return own_again(s, all, c, f, now);
    d->seen = now;
    return (sc_core *)Py_NewRef((PyObject *)d->core);
}

sc_core *sc_core_spread(const sc_state *s, sc_core *c)
{
    sc_format f;
    sc_err e = {0};
    if (sc_format_parse(&f, "dense", 2, &e)) return sc_bind_raise(s, &e), NULL;
    return derive_own(s, c, &f);
}

/* Forgets the layouts that are so. */
static void drop(sc_core *all, bool is_so(const sc_derived *))
{
    for (sc_derived **p = &all->derived; *p;)
        if (is_so(*p))
            forget(p);
        else
            p = &(*p)->next;
}

static bool is_spread(const sc_derived *d) { return d->source && sc_format_is_dense(&d->core->t.format); }

void sc_core_unspread(sc_core *c) { drop(sc_core_root(c), is_spread); }

/* ---- products that go on and on ---- */
static atomic_int counting;

void sc_count_as(sc_counting how) { atomic_store_explicit(&counting, (int)how, memory_order_relaxed); }

sc_counting sc_counted_as(void) { return (sc_counting)atomic_load_explicit(&counting, memory_order_relaxed); }

/* What is known of a tensor, as far as it is to be told. */
static int32_t often(const sc_core *all) { return sc_counted_as() == SC_COUNTS_AS_NEW ? 0 : all->often; }

/* Slices that did not turn out as they were expected to. */
static bool is_unpaid(const sc_derived *d) { return d->unpaid; }

/* How many places have entries: 1: a quarter, 2: two of five. */
static uint8_t fullness(const sc_tensor *t)
{
    double places = 1;
    for (int d = 0; d < t->format.ndim; d++) places *= (double)t->view.dim[d];
    const double full = (double)t->view.nval / places;
    return full >= .4 ? 2 : full >= .25 ? 1 : 0;
}

sc_often sc_bind_in_place_facts(const sc_tensor *t)
{
    int rows, columns;
    sc_census_sides(t, &rows, &columns);
    return (sc_often){.many = true,
                      .full = fullness(t),
                      .rows = (uint8_t)rows,
                      .columns = (uint8_t)columns,
                      .reach = sc_census_reach(t)};
}

static void count(sc_core *all, const sc_core *c)
{
    all->in_place = sc_bind_in_place_facts(&c->t);
    const bool blocks = all->in_place.rows * all->in_place.columns >= BLOCK;
    const double found = blocks ? 0 : sc_census_diagonals(&c->t);
    all->shared = found >= 1 && pays(c, found) ? (int32_t)found : -1;
    const int window = blocks || all->shared > 0 ? 0 : window_of(c),
              lanes = sc_vector_bytes() / (int)sizeof(float);
    all->window = window && sorted_pays(c, sc_census_padding(&c->t, lanes, window)) ? (uint16_t)window : 0;
    all->counted_of = all->generation;
}

sc_often sc_core_often(sc_core *c)
{
    sc_core *all = sc_core_root(c);
    if (!often(all)) return (sc_often){0};
    if (all->shared < 0) drop(all, is_unpaid);
    if (!all->shared || all->counted_of != all->generation) count(all, c);
    sc_often o = all->in_place;
    if (all->often <= 0) return o;
    o.cut = (uint16_t)all->often;
    o.diagonal = (uint8_t)sc_max(all->shared, 0);
    o.window = all->window;
    return o;
}

/* What is multiplied with an entry, roughly: what the largest dense operand has for each row. */
double sc_bind_products(const sc_tensor *in, int nin, int k)
{
    int64_t rows = 1, each = SC_FEW;
    for (int d = 0; d < in[k].format.ndim; d++) rows = sc_max(rows, in[k].view.dim[d]);
    for (int q = 0; q < nin; q++)
        if (sc_format_is_dense(&in[q].format)) each = sc_max(each, in[q].view.nval / rows);
    return (double)in[k].view.nval * (double)each;
}

void sc_core_count(sc_core *c, double products)
{
    if (sc_counted_as() != SC_COUNTS) return;
    c = sc_core_root(c);
    c->products += products;
    if (!c->often && c->products > SC_MANY) c->often = 1;
}

sc_core *sc_core_derive(const sc_state *s, sc_core *c, const sc_format *f)
{
    if (owns_values(f)) return derive_own(s, c, f);
    if (c->origin) {
        sc_core *known = derive_shared(s, c, f);
        if (!known || known->perm) return known;
        Py_DECREF((PyObject *)known); /* entries were summed: built anew */
    }
    sc_derived **p = find(c, c, f, false);
    const int rc = *p ? still_good(s, c, *p) : 0;
    if (rc < 0) return NULL;
    if (rc) return (sc_core *)Py_NewRef((PyObject *)(*p)->core);
    forget(p);
    sc_derived *d = build(s, c, f, false);
    if (!d) return NULL;
    link_first(c, d);
    return (sc_core *)Py_NewRef((PyObject *)d->core);
}

sc_core *sc_core_derive_near(const sc_state *s, sc_core *c, const sc_format *f)
{
    sc_core *all = sc_core_root(c), *d = NULL;
    if (often(all) <= 0 || owns_values(f)) return sc_core_derive(s, c, f);
    if (!*find(all, c, f, true)) {
        d = sc_core_derive(s, c, f);
        if (!d || !d->perm_data || all->often <= 0) return d; /* nothing is moved */
    }
    if (d) forget(find(all, c, f, false)); /* the other one takes its place */
    Py_XDECREF((PyObject *)d);
    return derive_own(s, c, f);
}

static bool is_far(sc_derived *d)
{
    const sc_tensor *t = &d->core->t;
    if (!d->far)
        d->far = sc_census_far(t->view.perm, t->itype, t->view.nval, sc_dtype_size(t->dtype)) ? 1 : -1;
    return d->far > 0;
}

sc_core *sc_core_derive_far(const sc_state *s, sc_core *c, const sc_format *f)
{
    sc_core *all = sc_core_root(c);
    if (often(all) <= 0 || owns_values(f) || *find(all, c, f, true)) return sc_core_derive_near(s, c, f);
    sc_core *d = sc_core_derive(s, c, f);
    sc_derived *known = d && d->perm_data ? *find(all, all, f, false) : NULL;
    if (!known || !known->core->t.view.perm || !is_far(known)) return d;
    Py_DECREF((PyObject *)d);
    return sc_core_derive_near(s, c, f);
}
