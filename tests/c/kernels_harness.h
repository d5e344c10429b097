/* kernels_harness.h: what the tests of kernels/ share.
 *
 * Tensors are compared as dictionaries: every tensor is unpacked by a plain
 * recursion over its levels into a sorted list of (coordinates, value), which
 * shares nothing with the library. Values are small integers, so sums are
 * exact. Result arrays have exactly the size that was asked for, so that a
 * sanitizer sees any access outside them. */
#ifndef KERNELS_HARNESS_H
#define KERNELS_HARNESS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../csrc/base.h"
#include "../../csrc/plan.h"

static int failures;
#define CHECK(ok, ...)                                                                                       \
    do {                                                                                                     \
        if (!(ok)) {                                                                                         \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #ok);                                                  \
            printf(__VA_ARGS__);                                                                             \
            printf("\n");                                                                                    \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)

static uint64_t state = 88172645463325252u;
static int64_t below(int64_t n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return n > 0 ? (int64_t)((state >> 11) % (uint64_t)n) : 0;
}

/* ---- memory of results ---- */
typedef struct {
    void *p[64];
    int n, fail_at; /* fail_at: the request that gets nothing, 0 for none */
    int seen[4][16];
} pool;

static void *pool_alloc(void *ctx, int what, int level, sc_dtype dtype, int64_t n)
{
    pool *m = ctx;
    m->seen[what][level + 1]++;
    if (m->fail_at && --m->fail_at == 0) return NULL;
    size_t size = (size_t)n * sc_dtype_size(dtype);
    void *p = malloc(size ? size : 1);
    memset(p, 0xee, size);
    return m->p[m->n++] = p;
}

static void pool_free(pool *m)
{
    for (int i = 0; i < m->n; i++) free(m->p[i]);
    memset(m, 0, sizeof *m);
}

/* ---- dictionaries ---- */
typedef struct {
    int64_t c[SC_MAXDIM];
    double v;
} item;
typedef struct {
    item *e;
    int64_t n, cap;
    int ndim;
} dict;

static void dict_add(dict *d, const int64_t *c, double v)
{
    if (d->n == d->cap) {
        d->cap = d->cap ? 2 * d->cap : 64;
        d->e = realloc(d->e, (size_t)d->cap * sizeof *d->e);
    }
    memset(&d->e[d->n], 0, sizeof *d->e);
    memcpy(d->e[d->n].c, c, (size_t)d->ndim * sizeof *c);
    d->e[d->n++].v = v;
}

static int by_coordinates(const void *a, const void *b)
{
    const item *x = a, *y = b;
    for (int d = 0; d < SC_MAXDIM; d++)
        if (x->c[d] != y->c[d]) return x->c[d] < y->c[d] ? -1 : 1;
    return 0;
}

/* Sorts and sums duplicates (saturating at 1 for bool); zeros may be dropped. */
static void dict_finish(dict *d, bool logical, bool drop)
{
    int64_t k = 0;
    if (d->n) qsort(d->e, (size_t)d->n, sizeof *d->e, by_coordinates);
    for (int64_t i = 0; i < d->n; i++) {
        if (k && by_coordinates(&d->e[k - 1], &d->e[i]) == 0)
            d->e[k - 1].v += d->e[i].v;
        else
            d->e[k++] = d->e[i];
    }
    d->n = k;
    for (int64_t i = k = 0; i < d->n; i++) {
        if (logical) d->e[i].v = d->e[i].v != 0;
        if (!drop || d->e[i].v != 0) d->e[k++] = d->e[i];
    }
    d->n = k;
}

static double value_at(const void *p, sc_dtype t, int64_t i) { return sc_number_get(t, p, i); }
static void value_set(void *p, sc_dtype t, int64_t i, double v) { sc_number_put(t, p, i, v); }

static void unpack_level(const sc_tensor *t, int l, int64_t p, int64_t *c, dict *d)
{
    if (l == t->format.nlevel) {
        dict_add(d, c, value_at(t->view.val, t->dtype, p));
        return;
    }
    const sc_levelspec *s = &t->format.level[l];
    const sc_level *v = &t->view.level[l];
    int64_t begin = p * v->size, end = begin + v->size, before = c[s->dim], lo = 0, n = 1;
    if (s->kind == SC_PLANAR) { /* the positions of a fibre for one coordinate after the other */
        for (int64_t f = 0; lo + n <= p || !f; f++)
            lo = sc_index(v[-1].pos, t->itype, f), n = sc_index(v[-1].pos, t->itype, f + 1) - lo;
        for (int64_t x = 0; x < v->size; x++) {
            c[s->dim] = before + x;
            unpack_level(t, l + 1, lo * v->size + x * n + p - lo, c, d);
        }
        c[s->dim] = before;
        return;
    }
    if (s->kind == SC_COMPRESSED)
        begin = sc_index(v->pos, t->itype, p), end = sc_index(v->pos, t->itype, p + 1);
    if (s->kind == SC_SINGLETON) begin = p, end = p + 1;
    for (int64_t q = begin; q < end; q++) {
        int64_t x = s->kind == SC_DENSE ? q - begin : sc_index(v->crd, t->itype, q);
        if (x < 0) continue;
        c[s->dim] = before + (s->part == SC_DIV ? x * s->block : x);
        unpack_level(t, l + 1, q, c, d);
    }
    c[s->dim] = before;
}

static void unpack_dense(const sc_tensor *t, int k, int64_t at, int64_t *c, dict *d)
{
    if (k == t->format.ndim) {
        double v = value_at(t->view.val, t->dtype, at);
        if (v != 0) dict_add(d, c, v);
        return;
    }
    for (c[k] = 0; c[k] < t->view.dim[k]; c[k]++) unpack_dense(t, k + 1, at + c[k] * t->view.stride[k], c, d);
}

static dict unpack(const sc_tensor *t, bool drop)
{
    dict d = {.ndim = t->format.ndim};
    int64_t c[SC_MAXDIM] = {0};
    if (sc_format_is_dense(&t->format))
        unpack_dense(t, 0, 0, c, &d);
    else
        unpack_level(t, 0, 0, c, &d);
    dict_finish(&d, t->dtype == SC_BOOL, drop);
    return d;
}

static bool same(const dict *a, const dict *b)
{
    if (a->n != b->n) return false;
    for (int64_t i = 0; i < a->n; i++)
        if (by_coordinates(&a->e[i], &b->e[i]) != 0 || a->e[i].v != b->e[i].v) return false;
    return true;
}

/* Unsorted coordinates with duplicates, some explicit zeros. */
static void random_coo(sc_tensor *t, const int64_t *dim, int ndim, int64_t n, sc_dtype dtype, sc_dtype itype,
                       pool *m)
{
    char text[300];
    size_t at = 0;
    sc_err e = {0};
    for (int d = 0; d < ndim; d++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s(%d, nonunique)%s",
                               d ? "singleton" : "compressed", d, d + 1 < ndim ? ", " : "");
    memset(t, 0, sizeof *t);
    CHECK(!sc_format_parse(&t->format, text, ndim, &e), "%s", e.msg);
    t->dtype = dtype;
    t->itype = itype;
    for (int d = 0; d < ndim; d++) {
        void *crd = pool_alloc(m, SC_CRD, d, itype, n);
        for (int64_t i = 0; i < n; i++)
            value_set(crd, itype, i, (double)below(below(4) ? dim[d] : sc_min(dim[d], 2)));
        t->view.level[d] = (sc_level){.crd = crd, .size = dim[d], .npos = n};
        t->view.dim[d] = dim[d];
    }
    void *pos = pool_alloc(m, SC_POS, 0, itype, 2);
    value_set(pos, itype, 0, 0);
    value_set(pos, itype, 1, (double)n);
    t->view.level[0].pos = pos;
    t->view.val = pool_alloc(m, SC_VAL, -1, dtype, n);
    for (int64_t i = 0; i < n; i++) value_set(t->view.val, dtype, i, (double)below(4));
    t->view.nval = n;
}

/* ---- a team of plain threads ---- */
static int team_size = 1;
static int toy_width(void) { return team_size; }

typedef struct {
    sc_body *body;
    void *arg;
    int id, n;
} toy;

static void *toy_main(void *p)
{
    toy *t = p;
    t->body(t->arg, t->id, t->n);
    return NULL;
}

static void toy_fork(sc_body *body, void *arg, int n)
{
    pthread_t thread[16];
    toy t[16];
    for (int i = 1; i < n; i++) {
        t[i] = (toy){body, arg, i, n};
        pthread_create(&thread[i], NULL, toy_main, &t[i]);
    }
    body(arg, 0, n);
    for (int i = 1; i < n; i++) pthread_join(thread[i], NULL);
}

static const sc_team toy_team = {toy_fork, toy_width};

static void expect(int rc, int code, const sc_err *e, const char *part)
{
    CHECK(rc == code && e->code == code, "code %d, expected %d: %s", rc, code, e->msg);
    CHECK(strstr(e->msg, part), "\"%s\" does not say \"%s\"", e->msg, part);
}

#endif
