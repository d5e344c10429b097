/* program.c: from a request to a program that runs.
 *
 * Two tables, both for the life of the process: requests, byte for byte, lead to
 * programs; programs are also found by their C text, because requests that differ
 * in a batch size compile to one text. A text is looked for in the bundle, then
 * handed to the JIT, and where neither has it a second text is tried whose widths
 * are run-time numbers (the bundle holds those of common expressions) before the
 * executor takes over. */
#include "run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4096 };
typedef struct {
    char *key;
    size_t size;
    const sc_program *program;
} Slot;
static Slot requests[SLOTS];
static struct {
    char hash[65];
    const sc_program *program;
} texts[SLOTS];
static int nrequest, ntext;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_tables(void) { pthread_mutex_lock(&lock); }
static void unlock_tables(void) { pthread_mutex_unlock(&lock); }

/* A child must not be born while the tables are half written, nor inherit a lock that nobody holds. */
static void watch_fork(void) { pthread_atfork(lock_tables, unlock_tables, unlock_tables); }

/* ---- requests as bytes ---- */
static void add_format(sc_text *t, const sc_format *f)
{
    int shape[2] = {f->ndim, f->nlevel};
    sc_text_addn(t, (const char *)shape, sizeof shape);
    sc_text_addn(t, (const char *)f->level, (size_t)f->nlevel * sizeof *f->level);
}

static void add_spec(sc_text *t, const sc_request *rq, int k)
{
    const sc_spec *s = &rq->in[k];
    sc_text_addn(t, s->name, strnlen(s->name, sizeof s->name) + 1);
    add_format(t, &s->format);
    sc_text_addn(t, (const char *)s->positions, (size_t)s->format.nlevel);
    int facts[5] = {(int)s->dtype, (int)s->itype, s->unit, s->perm, s->often};
    sc_text_addn(t, (const char *)facts, sizeof facts);
    sc_text_addn(t, (const char *)rq->dim[k], (size_t)s->format.ndim * sizeof(int64_t));
}

static int request_key(const sc_request *rq, sc_text *t, sc_err *err)
{
    const sc_speeds speeds = sc_speeds_get();
    sc_text_addn(t, (const char *)&speeds, sizeof speeds);
    sc_text_addn(t, rq->text, strlen(rq->text) + 1);
    if (rq->schedule) sc_text_addn(t, rq->schedule, strlen(rq->schedule) + 1);
    sc_text_addn(t, (const char *)&rq->settled, sizeof rq->settled);
    char flags[4] = {(char)rq->skip, (char)rq->nofold, (char)rq->nin, (char)rq->nask};
    sc_text_addn(t, flags, sizeof flags);
    sc_text_addn(t, (const char *)rq->ask_like, sizeof rq->ask_like);
    sc_text_addn(t, (const char *)&rq->wide, sizeof rq->wide);
    for (int k = 0; k < rq->nin; k++) add_spec(t, rq, k);
    for (int r = 0; r < rq->nask; r++) add_format(t, &rq->ask[r]);
    return t->failed ? sc_error(err, SC_ENOMEM, "out of memory") : SC_OK;
}

static uint64_t hash(const char *s, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, eight bytes a step */
    for (; n >= 8; n -= 8, s += 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        h = (h ^ w) * 0x100000001b3u;
        h ^= h >> 29;
    }
    for (; n; n--, s++) h = (h ^ (uint8_t)*s) * 0x100000001b3u;
    return h ^ h >> 32;
}

static Slot *request_slot(const char *key, size_t n)
{
    for (uint64_t i = hash(key, n);; i++) {
        Slot *s = &requests[i % SLOTS];
        if (!s->key || (s->size == n && !memcmp(s->key, key, n))) return s;
    }
}

/* Forgets requests, not programs: a table that only grows would not last. */
static void requests_reset(void)
{
    for (int i = 0; i < SLOTS; i++) free(requests[i].key);
    memset(requests, 0, sizeof requests);
    nrequest = 0;
}

static void remember(sc_text *key, const sc_program *p)
{
    if (nrequest >= SLOTS / 2) requests_reset();
    Slot *s = request_slot(key->s, key->n);
    if (s->key) return;
    *s = (Slot){key->s, key->n, p};
    *key = (sc_text){0};
    nrequest++;
}

static const sc_program *text_find(const char *digest)
{
    for (int i = 0; i < ntext; i++)
        if (!strcmp(texts[i].hash, digest)) return texts[i].program;
    return NULL;
}

/* ---- making a program ---- */
static void program_free(sc_program *p)
{
    if (!p) return;
    if (p->prog) sc_compile_free(p->prog);
    free(p->prog);
    free(p->text);
    free(p);
}

/* Of a dense result that is delivered sparse: that of the sparse operands, the wider one. */
static sc_dtype index_type(const Prog *g)
{
    sc_dtype type = SC_I32;
    for (int k = 0; k < g->nin; k++)
        if (!sc_format_is_dense(&g->tensor[k]->format) && g->tensor[k]->itype == SC_I64) type = SC_I64;
    return type;
}

static void find_indices(sc_program *p, const Expr *e)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) find_indices(p, e->kid[k]);
    if (e->op != O_ACCESS || e->tensor->role != T_IN) return;
    for (int d = 0; d < e->tensor->ndim; d++) p->index[e->tensor->arg][d] |= 1u << e->ix[d].var;
}

static void describe(sc_program *p)
{
    const Prog *g = p->prog;
    for (int v = 0; v < g->nvar; v++) p->extent[v].operand = g->var[v].arg, p->extent[v].dim = g->var[v].dim;
    for (int a = 0; a < g->nassign; a++) find_indices(p, g->assign[a].rhs);
    for (int r = 0; r < g->nout; r++) {
        const Tensor *t = prog_result(g, r);
        sc_spec *s = &p->result[r];
        memcpy(s->name, t->name, sizeof s->name);
        p->converts[r] = g->ask[r].nlevel && !sc_format_equal(&g->ask[r], &t->format);
        s->format = p->converts[r] ? g->ask[r] : t->format;
        s->dtype = t->dtype;
        s->itype = p->converts[r] && sc_format_is_dense(&t->format) ? index_type(g) : t->itype;
        s->unit = !sc_format_is_dense(&s->format) ? -1 : p->converts[r] ? t->ndim - 1 : t->unit;
    }
}

static int compile(const sc_request *rq, sc_program **out, sc_err *err)
{
    sc_program *p = sc_zalloc(sizeof *p);
    Prog *g = sc_zalloc(sizeof *g);
    if (!p || !g) {
        free(p);
        free(g);
        return sc_error(err, SC_ENOMEM, "out of memory");
    }
    p->prog = g;
    sc_process_machine(g);
    sc_text text = {0};
    if (sc_compile(g, rq, NULL, sc_this_process.target.vector_bytes, err) ||
        (rq->schedule && !g->wishes && sc_trial_schedule(g, rq, sc_this_process.target.vector_bytes, err)) ||
        (!g->converts && sc_compile_text(g, "c", &text, err))) {
        program_free(p);
        sc_text_free(&text);
        return err->code;
    }
    p->text = text.s;
    describe(p);
    *out = p;
    return SC_OK;
}

static void use_object(sc_program *p, const sc_object *o, int way)
{
    for (int i = 0; i < o->nentry; i++) p->entry[i] = o->entry[i];
    p->way = way;
}

static bool in_bundle(sc_program *p)
{
    const sc_object *o = sc_jit_bundle(p->text, &sc_this_process.target);
    if (!o) return false;
    use_object(p, o, SC_WAY_BUNDLE);
    atomic_fetch_add(&sc_this_process.from_bundle, 1);
    return true;
}

static int through_jit(sc_program *p, sc_err *err)
{
    const sc_object *o = NULL;
    sc_jit_how how = SC_JIT_MEMORY;
    int64_t start = sc_now();
    int rc = sc_jit_get(p->text, &sc_this_process.target, &o, &how, err);
    if (rc) return rc;
    use_object(p, o, SC_WAY_JIT);
    atomic_fetch_add(how == SC_JIT_COMPILED ? &sc_this_process.compile_ns : &sc_this_process.load_ns,
                     sc_now() - start);
    atomic_fetch_add(how == SC_JIT_COMPILED ? &sc_this_process.compiled
                     : how == SC_JIT_DISK   ? &sc_this_process.from_disk
                                            : &sc_this_process.from_memory,
                     1);
    return SC_OK;
}

static void through_executor(sc_program *p)
{
    for (int i = 0; i < SC_MAXENTRY; i++) p->entry[i] = sc_exec_kernels[i];
    p->self = p->prog->module;
    p->way = SC_WAY_EXECUTOR;
    atomic_fetch_add(&sc_this_process.executor, 1);
}

/* Finds code for *p; may replace it by the program of run-time widths. */
static int find_code(const sc_request *rq, sc_program **p, sc_err *err)
{
    sc_err why = {0};
    if (in_bundle(*p)) return SC_OK;
    if (sc_this_process.mode != SC_JIT_OFF && !through_jit(*p, &why)) return SC_OK;
    if (why.code && (why.code != SC_ECOMPILE || sc_this_process.mode == SC_JIT_ON))
        return sc_error(err, why.code, "%s", why.msg);
    if (!rq->nofold && !rq->schedule) {
        sc_request wide = *rq;
        sc_program *general = NULL;
        wide.nofold = true;
        for (int k = 0; k < wide.nin; k++) memset(wide.in[k].positions, 0, sizeof wide.in[k].positions);
        if (!compile(&wide, &general, &why) && general->text && in_bundle(general)) {
            program_free(*p);
            *p = general;
            return SC_OK;
        }
        program_free(general);
    }
    through_executor(*p);
    return SC_OK;
}

/* A program is its text and what was assumed for it, folded extents, unit strides and formats of results, even
 * where the text does not show them. */
static int identify(const sc_program *p, char digest[65], sc_err *err)
{
    sc_text t = {0};
    sc_text_add(&t, "%s", p->text);
    for (int v = 0; v < p->prog->nvar; v++)
        if (p->prog->var[v].fold) sc_text_add(&t, "%d=%lld\n", v, (long long)p->prog->var[v].extent);
    for (int k = 0; k < p->prog->nin; k++) sc_text_add(&t, "%d ", p->prog->tensor[k]->unit);
    for (int r = 0; r < p->prog->nout; r++) {
        add_format(&t, &prog_result(p->prog, r)->format);
        add_format(&t, &p->result[r].format);
    }
    sc_text_addn(&t, (const char *)&p->prog->speeds, sizeof p->prog->speeds); /* explain shows them */
    if (!t.failed) sc_sha256(t.s, t.n, digest);
    bool failed = t.failed;
    sc_text_free(&t);
    return failed ? sc_error(err, SC_ENOMEM, "out of memory") : SC_OK;
}

/* With the lock held: a compilation holds up other new programs, not runs. */
static int make(const sc_request *rq, sc_text *key, const sc_program **out, sc_err *err)
{
    sc_program *p = NULL;
    char digest[65] = "";
    int rc = compile(rq, &p, err);
    if (rc) return rc;
    if (p->text) {
        if (identify(p, digest, err)) {
            program_free(p);
            return err->code;
        }
        const sc_program *same = text_find(digest);
        if (same) {
            program_free(p);
            remember(key, *out = same);
            return SC_OK;
        }
        if (ntext == SLOTS) {
            program_free(p);
            return sc_error(err, SC_ENOTIMPL,
                            "this process has compiled %d programs, the most it keeps: start another", SLOTS);
        }
        if ((rc = find_code(rq, &p, err))) {
            program_free(p);
            return rc;
        }
        memcpy(texts[ntext].hash, digest, sizeof digest);
        texts[ntext++].program = p;
        atomic_fetch_add(&sc_this_process.programs, 1);
    }
    remember(key, *out = p);
    return SC_OK;
}

int sc_program_get(const sc_request *rq, const sc_program **out, sc_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sc_text key = {0};
    sc_process_start();
    pthread_once(&once, watch_fork);
    int rc = request_key(rq, &key, err);
    pthread_mutex_lock(&lock);
    if (!rc) {
        const Slot *s = request_slot(key.s, key.n);
        if (s->key)
            *out = s->program;
        else
            rc = make(rq, &key, out, err);
    }
    pthread_mutex_unlock(&lock);
    sc_text_free(&key);
    return rc;
}

/* ---- what a program is ---- */
int sc_program_nresult(const sc_program *p) { return p->prog->nout; }
const sc_spec *sc_program_result(const sc_program *p, int r) { return &p->result[r]; }
int sc_program_way(const sc_program *p) { return p->way; }
int sc_program_like(const sc_program *p, int r)
{
    const Tensor *t = prog_result(p->prog, r);
    return !p->converts[r] && shares_all(t) ? t->like->arg : -1;
}

void sc_program_shape(const sc_program *p, int r, const sc_tensor *in, int64_t *dim)
{
    const Tensor *o = prog_result(p->prog, r);
    for (int d = 0; d < o->ndim; d++) {
        int v = o->dimvar[d];
        dim[d] = in[p->extent[v].operand].view.dim[p->extent[v].dim];
    }
}

const sc_format *sc_program_convert(const sc_program *p, int k)
{ return p->prog->convert[k].nlevel ? &p->prog->convert[k] : NULL; }

int sc_program_stage(const sc_program *p, const char *stage, sc_text *out, sc_err *err)
{
    int rc = sc_compile_text(p->prog, stage, out, err);
    for (int r = 0; !rc && !strcmp(stage, "plan") && r < p->prog->nout; r++) {
        const Tensor *t = prog_result(p->prog, r);
        char from[400], to[400];
        if (!p->converts[r]) continue;
        sc_format_print(&t->format, from, sizeof from);
        sc_format_print(&p->result[r].format, to, sizeof to);
        sc_text_add(out, "convert %s from %s to %s\n", t->name, from, to);
    }
    return rc ? rc : out->failed ? sc_error(err, SC_ENOMEM, "out of memory while printing") : SC_OK;
}

static const char *const stages[] = {"index", "schedule", "nest", "stmt", "plan", "why", "orders", "explain"};

/* Under the lock: texts are made when first asked for. */
static int make_stage(sc_program *p, int k, sc_err *err)
{
    sc_text t = {0};
    const bool early = k == 0 || k > 4; /* there are statements only where nothing is to be converted first */
    if (p->stage[k] || !(p->text || early)) return SC_OK;
    int rc = !strcmp(stages[k], "explain") ? sc_explain(p, &t, err) : sc_program_stage(p, stages[k], &t, err);
    if (rc)
        sc_text_free(&t);
    else
        p->stage[k] = t.s;
    return rc;
}

int sc_program_text(const sc_program *cp, const char *stage, const char **out, sc_err *err)
{
    sc_program *p = (sc_program *)cp;
    int k = 0, rc = SC_OK;
    *out = NULL;
    while (k < SC_LEN(stages) && strcmp(stage, stages[k])) k++;
    pthread_mutex_lock(&lock);
    if (!strcmp(stage, "c"))
        *out = p->text;
    else if (k == SC_LEN(stages))
        rc = sc_error(
            err, SC_EVALUE,
            "no stage \"%.40s\": expected index, nest, schedule, stmt, c, plan, orders, why or explain",
            stage);
    else if (!(rc = make_stage(p, k, err)))
        *out = p->stage[k];
    pthread_mutex_unlock(&lock);
    if (!*out) *out = "";
    return rc;
}
