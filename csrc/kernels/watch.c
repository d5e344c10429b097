/* watch.c: spans that are counted and shown; see watch.h.
 *
 * A span is known by its text: expression, formats, types and extents of its operands, and the span it lies in. So calls
 * are one row as long as they mean the same, whichever program ran, and nothing that a row has can go away under it.
 * There is room for MOST rows; calls beyond are counted as lost. */
#include "../watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

enum { MOST = 1024, NAME = 256 };
typedef struct {
    uint64_t key, above; /* above: the key of the span it lies in, 0: none */
    char *what, *out;    /* texts; what: the expression, a tab, the operands */
    const char *way;
    int64_t calls, ns, bytes, entries; /* entries: that the first result stored in the last call */
} counted;

_Atomic int sc_watched_by;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static counted row[MOST];
static int n;
static int64_t lost;
static const sc_profiler *_Atomic profiler;
static _Thread_local sc_span *innermost;

/* ---- who looks ---- */
static void take_lock(void) { pthread_mutex_lock(&lock); }
static void give_lock(void) { pthread_mutex_unlock(&lock); }
static void in_child(void) { lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; }
static void watch_fork(void) { pthread_atfork(take_lock, give_lock, in_child); }

void sc_watch_profiler(const sc_profiler *p) { atomic_store(&profiler, p); }

static void forget(void)
{
    while (n) {
        free(row[--n].what);
        free(row[n].out);
    }
    lost = 0;
}

void sc_watch_set(int what, bool on)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_fork);
    take_lock();
    if (on)
        atomic_fetch_or(&sc_watched_by, what);
    else
        atomic_fetch_and(&sc_watched_by, ~what);
    if (!(atomic_load(&sc_watched_by) & SC_WATCH_COUNT)) forget();
    give_lock();
}

/* ---- texts ---- */
static void say_tensor(const sc_tensor *t, const char *before, sc_text *to)
{
    char name[400];
    const bool dense = sc_format_is_dense(&t->format);
    sc_format_print(&t->format, name, sizeof name);
    sc_text_add(to, "%s%s", before, dense ? "dense" : name);
    for (int d = 0; d < t->format.ndim; d++)
        sc_text_add(to, d ? "x%lld" : " %lld", (long long)t->view.dim[d]);
    sc_text_add(to, " %s", sc_dtype_name(t->dtype));
}

/* Of one line: a program has a line an assignment. */
static void say_what(const char *what, sc_text *to)
{
    while (*what == '\n' || *what == ' ') what++;
    for (const char *end; *what; what = *end ? end + 1 : end) {
        end = strchr(what, '\n');
        if (!end) end = what + strlen(what);
        sc_text_addn(to, what, (size_t)(end - what));
        if (*end) sc_text_add(to, "; ");
    }
}

static int64_t bytes_of(const sc_tensor *t)
{
    int64_t bytes = t->view.nval * (int64_t)sc_dtype_size(t->dtype), above = 1;
    if (sc_format_is_dense(&t->format)) return bytes;
    for (int l = 0; l < t->format.nlevel; above = t->view.level[l++].npos) {
        const sc_level *at = &t->view.level[l];
        const sc_levelspec *spec = &t->format.level[l];
        const int64_t pos = at->pos ? sc_pos_length(spec, at->size, above) : 0,
                      crd = at->crd ? sc_crd_length(spec, at->size, above, at->npos) : 0;
        bytes += (pos + crd) * (int64_t)sc_dtype_size(t->itype);
    }
    return bytes;
}

/* ---- spans ---- */
static void *marked(const sc_span *s)
{
    const sc_profiler *p = atomic_load(&profiler);
    char name[NAME];
    if (!p || !s->what.s) return NULL;
    snprintf(name, sizeof name, "scorch: %s", s->what.s);
    for (char *c = name; *c; c++)
        if (*c == '\t') *c = ' ';
    return p->begin(name);
}

void sc_span_begin(sc_span *s, const char *what, const sc_tensor *in, int nin)
{
    *s = (sc_span){.above = innermost};
    say_what(what, &s->what);
    for (int k = 0; k < nin; k++) {
        say_tensor(&in[k], k ? ", " : "\t", &s->what);
        s->bytes += bytes_of(&in[k]);
    }
    if (s->what.s) s->key = sc_fingerprint(s->what.s, s->what.n).low;
    if (s->above) s->key ^= s->above->key * 3;
    if (atomic_load_explicit(&sc_watched_by, memory_order_relaxed) & SC_WATCH_MARK) s->mark = marked(s);
    innermost = s;
    s->start = sc_now();
}

/* The row of a span; null: there is no room. */
static counted *row_of(sc_span *s, const char *way, const sc_tensor *out, int nout)
{
    sc_text results = {0};
    for (int k = 0; k < n; k++)
        if (row[k].key == s->key) return &row[k];
    if (n == MOST || s->what.failed || !s->what.s) return NULL;
    sc_text_add(&results, "%s", "");
    for (int k = 0; k < nout; k++) say_tensor(&out[k], k ? ", " : "", &results);
    if (results.failed) return sc_text_free(&results), NULL;
    row[n] = (counted){.key = s->key, .above = s->above ? s->above->key : 0, .way = way};
    row[n].what = s->what.s, row[n].out = results.s;
    s->what = (sc_text){0}; /* it is the row's now */
    return &row[n++];
}

void sc_span_end(sc_span *s, const char *way, const sc_tensor *out, int nout, bool done)
{
    const int64_t ns = sc_now() - s->start;
    const sc_profiler *p = atomic_load(&profiler);
    innermost = s->above;
    if (s->mark && p) p->end(s->mark);
    for (int k = 0; k < nout && done; k++) s->bytes += bytes_of(&out[k]);
    take_lock();
    if (done && atomic_load(&sc_watched_by) & SC_WATCH_COUNT) {
        counted *r = row_of(s, way, out, nout);
        if (r) {
            r->calls++, r->ns += ns, r->bytes += s->bytes;
            r->way = way;
            r->entries = nout ? out[0].view.nval : 0;
        } else
            lost++;
    }
    give_lock();
    sc_text_free(&s->what);
}

/* ---- what was counted ---- */
void sc_watch_print(sc_text *to)
{
    take_lock();
    sc_text_add(to, "%lld\n", (long long)lost);
    for (const counted *r = row; r < row + n; r++)
        sc_text_add(to, "%llx\t%llx\t%lld\t%lld\t%lld\t%lld\t%s\t%s\t%s\n", (unsigned long long)r->key,
                    (unsigned long long)r->above, (long long)r->calls, (long long)r->ns, (long long)r->bytes,
                    (long long)r->entries, r->way, r->out, r->what);
    give_lock();
}
