/* program.c: program strings, and the arrays a format has.
 *
 * A program string says what an operator call is apart from its data: the
 * expression and the layout of each operand. It is what torch.compile holds as
 * a constant, so the same text is parsed once and kept while it is among the
 * latest ones. Types, strides and extents come with the operands. */
#include "bind.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* ---- formats and their arrays ---- */
bool sc_level_has_pos(const sc_levelspec *l) { return sc_kind_has_pos(sc_kind_of(l)); }
bool sc_level_has_crd(const sc_levelspec *l) { return sc_kind_of(l)->crd; }

static int64_t extent(const sc_levelspec *l, const int64_t *dim)
{
    int64_t n = dim[l->dim];
    return l->part == SC_DIV ? (n + l->block - 1) / l->block : l->part == SC_MOD ? l->block : n;
}

static int expect(sc_err *e, int level, const char *what, int64_t want, int64_t got)
{
    if (want == got) return 0;
    return sc_error(e, SC_EVALUE, "level %d: expected %lld entries in %s, got %lld", level, (long long)want,
                    what, (long long)got);
}

int sc_bind_layout(sc_tensor *t, const int64_t *length, int n, sc_err *e)
{
    int64_t npos = 1;
    int at = 0;
    for (int l = 0; l < t->format.nlevel; l++) {
        const sc_levelspec *spec = &t->format.level[l];
        int64_t size = extent(spec, t->view.dim);
        if (sc_kind_of(spec)->padded) size = spec->width;
        int64_t per = sc_kind_of(spec)->one ? 1 : size;
        if (at + sc_level_has_pos(spec) + sc_level_has_crd(spec) >= n)
            return sc_error(e, SC_EVALUE, "expected more than %d component arrays for this format", n);
        if (sc_kind_of(spec)->words && !sc_mul(npos, sc_words(size), &(int64_t){0}))
            return sc_error(e, SC_EVALUE, "level %d: the tensor has more words than 64 bits can count", l);
        if (sc_level_has_pos(spec) && expect(e, l, "pos", sc_pos_length(spec, size, npos), length[at++]))
            return e->code;
        const int64_t above = npos;
        if (sc_kind_of(spec)->pos)
            npos = length[at];
        else if (sc_kind_of(spec)->words) /* the last level: as many as there are values */
            npos = length[n - 1];
        else if (sc_kind_of(spec)->sliced)
            npos = length[at] / (sc_kind_of(spec)->sorted ? spec->width + 1 : 2) * spec->width;
        else if (!sc_mul(npos, per, &npos))
            return sc_error(e, SC_EVALUE, "level %d: the tensor has more positions than 64 bits can count",
                            l);
        if (sc_level_has_crd(spec) &&
            expect(e, l, "crd", sc_crd_length(spec, size, above, npos), length[at++]))
            return e->code;
        t->view.level[l].size = size;
        t->view.level[l].npos = npos;
    }
    t->view.nval = npos;
    if (sc_format_is_dense(&t->format)) { /* strided: in the order of the levels */
        int64_t stride = 1;
        for (int l = t->format.nlevel; l-- > 0; stride *= t->view.level[l].size)
            t->view.stride[t->format.level[l].dim] = stride;
    }
    if (at != n - 1)
        return sc_error(e, SC_EVALUE, "expected %d component arrays for this format, got %d", at + 1, n);
    return length[at] == npos
               ? 0
               : sc_error(e, SC_EVALUE, "expected %lld values, one a position of the last level, got %lld",
                          (long long)npos, (long long)length[at]);
}

void sc_bind_ask(sc_request *r, const sc_program *p)
{
    r->nask = sc_program_nresult(p);
    for (int k = 0; k < r->nask; k++) {
        r->ask[k] = sc_program_result(p, k)->format;
        r->ask_like[k] = (int8_t)(sc_program_like(p, k) + 1);
    }
}

void sc_bind_restore(sc_tensor *t, const sc_tensor *given, const void *perm, sc_dtype itype, void *val)
{
    sc_tensor whole = *given;
    whole.dtype = t->dtype;
    whole.view.val = val;
    if (perm) {
        memset(val, 0, (size_t)given->view.nval * sc_dtype_size(t->dtype));
        sc_scatter_values(val, t->view.val, perm, itype, t->view.nval, t->dtype);
    }
    *t = whole;
}

/* ---- program strings ---- */
typedef struct cached_template {
    sc_template t; /* first: what callers hold */
    struct cached_template *next;
    uint64_t hash, used;
    size_t len;
    atomic_int refs;
    char *key;
} cached_template;

enum { MOST = 1024 };
static struct {
    pthread_mutex_t lock;
    cached_template *bucket[256];
    int n;
    uint64_t clock;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t hash(const char *s, size_t n)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 1099511628211u;
    return h;
}

/* name:ndim:format */
static int parse_operand(sc_template *t, char *line, sc_err *e)
{
    sc_request *r = &t->request;
    if (r->nin == SC_MAXOP)
        return sc_error(e, SC_ENOTIMPL, "expected at most %d operands, got more; split the expression",
                        SC_MAXOP);
    int k = r->nin++;
    char *ndim = strchr(line, ':'), *format = ndim ? strchr(ndim + 1, ':') : NULL;
    if (!format)
        return sc_error(e, SC_EVALUE, "operand %d: expected \"name:ndim:format\", got \"%s\"", k, line);
    if ((size_t)(ndim - line) >= sizeof r->in[k].name)
        return sc_error(e, SC_EVALUE, "operand %d: expected a name of at most %d letters, got %.*s", k,
                        (int)sizeof r->in[k].name - 1, (int)(ndim - line), line);
    memcpy(r->in[k].name, line, (size_t)(ndim - line));
    t->sparse[k] = format > ndim + 1;
    return t->sparse[k] ? sc_format_parse(&r->in[k].format, format + 1, (int)strtol(ndim + 1, NULL, 10), e)
                        : 0;
}

/* " ndim:format", or nothing */
static int parse_ask(sc_template *t, const char *line, sc_err *e)
{
    sc_request *r = &t->request;
    const char *format = strchr(line, ':');
    if (r->nask == SC_MAXOP) return sc_error(e, SC_EVALUE, "expected at most %d results", SC_MAXOP);
    sc_format *f = &r->ask[r->nask++];
    return format ? sc_format_parse(f, format + 1, (int)strtol(line, NULL, 10), e) : 0;
}

/* "R K" */
static int parse_like(sc_template *t, char *line, sc_err *e)
{
    char *end;
    const long r = strtol(line, &end, 10), k = strtol(end, NULL, 10);
    if (r < 0 || r >= SC_MAXOP || k < 0 || k >= t->request.nin || !t->sparse[k])
        return sc_error(e, SC_EVALUE, "!like: expected a result and a sparse operand, got \"%s\"", line);
    t->request.ask_like[r] = (int8_t)(k + 1);
    return 0;
}

/* Takes text apart in place; it must live as long as the template. */
static int parse(sc_template *t, char *text, sc_err *e)
{
    char *line = text, *next;
    t->request.text = text;
    for (int i = 0; line; line = next, i++) {
        if ((next = strchr(line, '\t'))) *next++ = 0;
        int rc = 0;
        if (i == 0) continue;
        if (!strncmp(line, "!schedule ", 10))
            t->request.schedule = line + 10;
        else if (!strcmp(line, "!skip"))
            t->request.skip = true;
        else if (!strncmp(line, "!ask", 4))
            rc = parse_ask(t, line + 4, e);
        else if (!strncmp(line, "!like ", 6))
            rc = parse_like(t, line + 6, e);
        else if (!strncmp(line, "!wide ", 6))
            t->request.wide |= 1u << (strtol(line + 6, NULL, 10) & (SC_MAXOP - 1));
        else
            rc = parse_operand(t, line, e);
        if (rc) return rc;
    }
    return 0;
}

static cached_template *make(const char *text, size_t len, uint64_t h, sc_err *e)
{
    cached_template *n = sc_malloc(sizeof *n + 2 * (len + 1));
    if (!n) return sc_error(e, SC_ENOMEM, "out of memory"), NULL;
    memset(n, 0, sizeof *n);
    n->hash = h;
    n->len = len;
    n->key = (char *)(n + 1);
    memcpy(n->key, text, len);
    n->key[len] = 0;
    memcpy(n->key + len + 1, n->key, len + 1);
    if (!parse(&n->t, n->key + len + 1, e)) return n;
    free(n);
    return NULL;
}

/* Frees the one that nobody holds and that was used longest ago. */
static void forget_one(void)
{
    cached_template **oldest = NULL;
    for (int b = 0; b < SC_LEN(cache.bucket); b++)
        for (cached_template **e = &cache.bucket[b]; *e; e = &(*e)->next)
            if (!atomic_load(&(*e)->refs) && (!oldest || (*e)->used < (*oldest)->used)) oldest = e;
    if (!oldest) return;
    cached_template *gone = *oldest;
    *oldest = gone->next;
    free(gone->t.known);
    free(gone->t.declared);
    free(gone);
    cache.n--;
}

sc_template *sc_template_get(const char *text, size_t len, sc_err *e)
{
    if (memchr(text, 0, len))
        return sc_error(e, SC_EVALUE, "the expression has a character 0 in it; remove it"), NULL;
    uint64_t h = hash(text, len);
    cached_template **b = &cache.bucket[h & 255], *n;
    pthread_mutex_lock(&cache.lock);
    for (n = *b; n; n = n->next)
        if (n->hash == h && n->len == len && !memcmp(n->key, text, len)) break;
    if (!n && (n = make(text, len, h, e))) {
        if (cache.n == MOST) forget_one();
        cache.n++;
        n->next = *b, *b = n;
    }
    if (n) n->used = ++cache.clock, atomic_fetch_add(&n->refs, 1);
    pthread_mutex_unlock(&cache.lock);
    return n ? &n->t : NULL;
}

int sc_template_operand(const sc_template *t, int k, int ndim, sc_dtype dtype, sc_request *rq, sc_err *e)
{
    rq->in[k].dtype = dtype;
    rq->in[k].itype = SC_I64;
    return t->sparse[k] ? 0 : sc_format_parse(&rq->in[k].format, "dense", ndim, e);
}

void sc_template_put(sc_template *t)
{
    if (t) atomic_fetch_sub(&((cached_template *)(void *)t)->refs, 1);
}
