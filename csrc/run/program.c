/* program.c: from a request to a program that runs.
 *
 * A request is compiled to C text. A text is looked for among the programs that are kept (table.c), in the bundle, then
 * handed to the JIT, and where none has it a second text is tried whose widths are run-time numbers (the bundle holds
 * those of common expressions) before the executor takes over.
 *
 * A program is what a run needs and no more: plan, formats, kernels. What the compiler made it from goes as soon as
 * there is code; only the executor walks on in it. Stages are printed for a request, compiled again: what is printed is
 * said of that request, whose numbers others with the same text do not share. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

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
    int facts[] = {(int)s->dtype, (int)s->itype, s->unit, s->perm, s->even, s->skew, s->twin};
    sc_text_addn(t, (const char *)facts, sizeof facts);
    sc_text_addn(t, (const char *)&s->often, sizeof s->often);
    sc_text_addn(t, (const char *)rq->dim[k], (size_t)s->format.ndim * sizeof(int64_t));
}

int sc_dense_unit(const sc_view *v, int ndim)
{
    for (int i = ndim - 1; i >= 0; i--)
        if (v->stride[i] == 1) return i;
    return -1;
}

void sc_request_copy(sc_request *to, const sc_request *from)
{
    memcpy(to, from, offsetof(sc_request, in));
    memcpy(to->in, from->in, (size_t)from->nin * sizeof *to->in);
    memcpy(to->dim, from->dim, (size_t)from->nin * sizeof *to->dim);
    memcpy(to->ask, from->ask, (size_t)from->nask * sizeof *to->ask);
}

void sc_request_operand(sc_request *rq, int k, const sc_tensor *t)
{
    sc_spec *s = &rq->in[k];
    const bool dense = sc_format_is_dense(&t->format);
    s->format = t->format;
    s->dtype = t->dtype;
    s->itype = t->itype;
    s->perm = t->view.perm != NULL;
    s->often = (sc_often){0};
    s->unit = dense ? sc_dense_unit(&t->view, t->format.ndim) : -1;
    memcpy(rq->dim[k], t->view.dim, sizeof rq->dim[k]);
    for (int l = 0; l < t->format.nlevel; l++)
        s->positions[l] = dense ? 0 : sc_log2_up(t->view.level[l].npos);
    s->even = !dense && t->rows.even;
    s->skew = dense ? 0 : t->rows.skew;
}

static bool same_arrays(const sc_tensor *a, const sc_tensor *b)
{
    bool same =
        a->itype == b->itype && sc_format_equal(&a->format, &b->format) && !a->view.perm && !b->view.perm;
    for (int d = 0; same && d < a->format.ndim; d++) same = a->view.dim[d] == b->view.dim[d];
    for (int l = 0; same && l < a->format.nlevel; l++) {
        const sc_level *x = &a->view.level[l], *y = &b->view.level[l];
        same = x->pos == y->pos && x->crd == y->crd && x->npos == y->npos;
    }
    return same;
}

int sc_tensor_twin(const sc_tensor *in, int k)
{
    for (int q = 0; q < k; q++)
        if (same_arrays(&in[q], &in[k])) return sc_format_has_twins(&in[k].format) ? q : -1;
    return -1;
}

void sc_request_twins(sc_request *rq, const sc_tensor *in)
{
    for (int k = 1; k < rq->nin; k++) rq->in[k].twin = (int8_t)(1 + sc_tensor_twin(in, k));
}

void sc_request_apart(sc_request *rq, int k)
{
    int8_t first = 0;
    rq->in[k].twin = 0;
    for (int q = k + 1; q < rq->nin; q++) {
        if (rq->in[q].twin != k + 1) continue;
        rq->in[q].twin = first;
        if (!first) first = (int8_t)(q + 1);
    }
}

void sc_request_converted(sc_request *rq, int k, const sc_tensor *t)
{
    const sc_often before = rq->in[k].often;
    sc_request_operand(rq, k, t);
    rq->in[k].often = (sc_often){.many = before.many, .reach = before.reach};
    sc_request_apart(rq, k);
    rq->settled |= 1u << k;
}

static int request_key(const sc_request *rq, sc_text *t, sc_err *err)
{
    const sc_speeds speeds = sc_speeds_get();
    sc_text_add(t, "%c%c", rq->schedule ? SC_KEY_SCHEDULED : SC_KEY_PLAIN, sc_key_threads());
    sc_text_addn(t, (const char *)&speeds, sizeof speeds);
    sc_text_addn(t, rq->text, strlen(rq->text) + 1);
    if (rq->schedule) sc_text_addn(t, rq->schedule, strlen(rq->schedule) + 1);
    sc_text_addn(t, (const char *)&rq->settled, sizeof rq->settled);
    char flags[5] = {(char)rq->skip, (char)rq->nofold, (char)rq->whole, (char)rq->nin, (char)rq->nask};
    sc_text_addn(t, flags, sizeof flags);
    sc_text_addn(t, (const char *)rq->ask_like, sizeof rq->ask_like);
    sc_text_addn(t, (const char *)&rq->wide, sizeof rq->wide);
    sc_text_addn(t, (const char *)&rq->narrow, sizeof rq->narrow);
    for (int k = 0; k < rq->nin; k++) add_spec(t, rq, k);
    for (int r = 0; r < rq->nask; r++) add_format(t, &rq->ask[r]);
    return t->failed ? sc_error(err, SC_ENOMEM, "out of memory") : SC_OK;
}

/* ---- compiling ---- */
static Prog *compiled(const sc_request *rq, sc_err *err)
{
    const int width = sc_this_process.target.vector_bytes;
    Prog *g = sc_zalloc(sizeof *g);
    if (!g) return sc_error(err, SC_ENOMEM, "out of memory"), NULL;
    sc_process_machine(g);
    if (!sc_compile(g, rq, NULL, width, err) && (g->choices || !sc_trial_schedule(g, rq, width, err)))
        return g;
    sc_prog_free(g);
    return NULL;
}

/* The same for extents of any size and any number of entries. */
static sc_request general(const sc_request *rq)
{
    sc_request wide = *rq;
    wide.nofold = true;
    for (int k = 0; k < wide.nin; k++) memset(wide.in[k].positions, 0, sizeof wide.in[k].positions);
    return wide;
}

static void grows(sc_program *p, int64_t bytes)
{
    p->bytes += bytes;
    atomic_fetch_add(&sc_this_process.program_bytes, bytes);
}

/* ---- code ---- */
static void use_object(sc_program *p, const sc_object *o, int way)
{
    for (int i = 0; i < o->nentry; i++) p->entry[i] = o->entry[i];
    p->way = way;
}

static bool in_bundle(sc_program *p, const char *text)
{
    const sc_object *o = sc_jit_bundle(text, &sc_this_process.target);
    if (!o) return false;
    use_object(p, o, SC_WAY_BUNDLE);
    atomic_fetch_add(&sc_this_process.from_bundle, 1);
    return true;
}

static int through_jit(sc_program *p, const char *text, sc_err *err)
{
    sc_process *s = &sc_this_process;
    sc_jit_how how = SC_JIT_MEMORY;
    const int64_t start = sc_now();
    int rc = sc_jit_get(text, &s->target, &p->object, &how, err);
    if (rc) return rc;
    use_object(p, p->object, SC_WAY_JIT);
    grows(p, sc_jit_bytes(p->object));
    atomic_fetch_add(how == SC_JIT_COMPILED ? &s->compile_ns : &s->load_ns, sc_now() - start);
    atomic_fetch_add(how == SC_JIT_COMPILED ? &s->compiled
                     : how == SC_JIT_DISK   ? &s->from_disk
                                            : &s->from_memory,
                     1);
    return SC_OK;
}

static void through_executor(sc_program *p, Prog **g, const char *why)
{
    p->why = sc_arena_printf(&(*g)->arena, "%s", why);
    for (int i = 0; i < SC_MAXENTRY; i++) p->entry[i] = sc_exec_kernels[i];
    p->way = SC_WAY_EXECUTOR;
    grows(p, (int64_t)(sizeof **g + (*g)->arena.total));
    p->walked = *g;
    p->self = p->walked->draft.module;
    *g = NULL;
    atomic_fetch_add(&sc_this_process.executor, 1);
}

/* The program of run-time widths, if the bundle has it; else null. */
static sc_program *from_general(const sc_request *rq)
{
    sc_err why = {0};
    sc_text text = {0};
    const sc_request wide = general(rq);
    sc_program *p = NULL;
    Prog *g = rq->nofold || rq->schedule ? NULL : compiled(&wide, &why);
    if (g && !g->draft.converts && !sc_compile_text(g, "c", &text, &why) &&
        (p = sc_program_describe(g, wide.text, &why)) && !in_bundle(p, text.s)) {
        sc_program_release(p);
        p = NULL;
    }
    if (p) p->general = true;
    sc_text_free(&text);
    sc_prog_free(g);
    return p;
}

/* Code for the program of *g, which may be taken. */
static int find_code(const sc_request *rq, Prog **g, const char *text, sc_program **p, sc_err *err)
{
    sc_err why = {0};
    if (in_bundle(*p, text)) return SC_OK;
    if (!through_jit(*p, text, &why)) return SC_OK;
    if (why.code != SC_ECOMPILE || sc_this_process.mode == SC_JIT_ON)
        return sc_error(err, why.code, "%s", why.msg);
    sc_program *wide = from_general(rq);
    if (wide) {
        sc_program_release(*p);
        *p = wide;
        return SC_OK;
    }
    through_executor(*p, g, why.msg);
    return SC_OK;
}

/* ---- making ---- */
/* A program is its text and what was assumed for it, folded extents, unit strides, permuted values and formats of results,
 * even where the text does not show them: one that reads no values of an operand does not say how they lie. */
static int identify(const Prog *g, const sc_program *p, const char *c, char digest[65], sc_err *err)
{
    sc_text t = {0};
    sc_text_add(&t, "%s", c);
    for (int v = 0; v < g->nvar; v++)
        if (g->var[v].fold) sc_text_add(&t, "%d=%lld\n", v, (long long)g->var[v].extent);
    for (int k = 0; k < g->nin; k++) sc_text_add(&t, "%d %d ", g->tensor[k]->unit, g->tensor[k]->perm);
    for (int r = 0; r < g->nout; r++) {
        add_format(&t, &p->made[r].format);
        add_format(&t, &p->result[r].spec.format);
    }
    if (!t.failed) sc_sha256(t.s, t.n, digest);
    bool failed = t.failed;
    sc_text_free(&t);
    return failed ? sc_error(err, SC_ENOMEM, "out of memory") : SC_OK;
}

/* The program of this text that is kept, or *p, with code. */
static int share(const sc_request *rq, Prog **g, const char *text, sc_program **p, sc_err *err)
{
    char digest[65];
    uint64_t handle;
    sc_program *same;
    int rc = identify(*g, *p, text, digest, err);
    if (rc || (rc = sc_table_find(digest, sizeof digest, &same, &handle, err))) return rc;
    if (same) {
        sc_program_release(*p);
        *p = same;
        return SC_OK;
    }
    rc = find_code(rq, g, text, p, err);
    if (!rc) atomic_fetch_add(&sc_this_process.programs, 1);
    sc_table_made(digest, sizeof digest, rc ? NULL : *p, &handle);
    return rc;
}

int sc_whole_make(const sc_request *rq, sc_program **out, sc_err *err)
{
    sc_text text = {0};
    Prog *g = compiled(rq, err);
    sc_program *p = g ? sc_program_describe(g, rq->text, err) : NULL;
    if (p && !g->draft.converts && !sc_compile_text(g, "c", &text, err)) share(rq, &g, text.s, &p, err);
    sc_text_free(&text);
    sc_prog_free(g);
    if (!err->code) return *out = p, SC_OK;
    sc_program_release(p);
    return err->code;
}

/* By the schedule that was measured to be the best; *out is null where there is none, or it does not work here. */
static int make_tuned(const sc_request *rq, sc_maker *make, sc_program **out, sc_err *err)
{
    sc_tuned t;
    sc_err why = {0};
    if (!sc_tuned_find(rq, &t)) return SC_OK;
    sc_request asked = *rq;
    asked.schedule = t.schedule;
    const int rc = sc_program_find(&asked, make, out, NULL, &why);
    const bool passing = rc == SC_ENOMEM || rc == SC_ESTOP;
    const bool fits = rc || sc_tuned_fits(*out, rq); /* others of the class may */
    if (!rc && (!fits || !sc_tuned_gives(*out, t.results))) {
        sc_program_release(*out);
        *out = NULL;
    }
    if (!*out && !passing && fits) sc_tuned_refuse(rq);
    if (*out && !t.trial) atomic_fetch_add(&sc_this_process.tuned, 1);
    sc_tuned_free(&t);
    return passing ? sc_error(err, rc, "%s", why.msg) : SC_OK;
}

int sc_program_find(const sc_request *rq, sc_maker *make, sc_program **out, uint64_t *handle, sc_err *err)
{
    sc_text key = {0};
    uint64_t unused;
    if (!handle) handle = &unused;
    sc_process_start();
    int rc = request_key(rq, &key, err);
    if (!rc) rc = sc_table_find(key.s, key.n, out, handle, err);
    if (!rc && !*out) {
        rc = make_tuned(rq, make, out, err);
        if (!rc && !*out) rc = make(rq, out, err);
        sc_table_made(key.s, key.n, rc ? NULL : *out, handle);
    }
    if (!rc) sc_note_request(rq, &key, *out);
    sc_text_free(&key);
    return rc;
}

bool sc_tuned_made(const sc_request *rq, const sc_program *p, sc_tuned *t)
{
    sc_err none = {0};
    sc_program *q = NULL;
    if (!sc_tuned_find(rq, t)) return false;
    sc_request asked = *rq;
    asked.schedule = t->schedule;
    const bool made = !sc_program_find(&asked, sc_whole_make, &q, NULL, &none) && p == q;
    sc_program_release(q);
    if (!made) sc_tuned_free(t);
    return made;
}

/* ---- stages ---- */
const char *sc_program_stage(int k) { return k ? sc_stage_name(k - 1) : "explain"; }

int sc_check_stage(const char *stage, sc_err *err)
{
    sc_text names = {0};
    bool known = false;
    for (int k = 0; sc_program_stage(k); k++) {
        known |= !strcmp(stage, sc_program_stage(k));
        sc_text_add(&names, "%s%s", k ? ", " : "", sc_program_stage(k));
    }
    const int rc =
        known ? SC_OK
              : sc_error(err, SC_EVALUE, "no stage \"%s\": expected %s", stage, names.s ? names.s : "");
    sc_text_free(&names);
    return rc;
}

/* Nothing was lowered where operands are to be converted first. */
static bool is_early(const char *stage)
{
    return !strcmp(stage, "index") || !strcmp(stage, "sums") || !strcmp(stage, "why") ||
           !strcmp(stage, "orders");
}

static int text_of(const sc_request *rq, const sc_program *p, const char *stage, sc_text *out, sc_err *err)
{
    const sc_request wide = general(rq);
    Prog *g = compiled(p->general ? &wide : rq, err);
    if (g && !strcmp(stage, "explain"))
        sc_explain(g, p, out, err);
    else if (g && (!g->draft.converts || is_early(stage)))
        sc_compile_text(g, stage, out, err);
    sc_prog_free(g);
    return err->code;
}

int sc_whole_text(const sc_request *rq, const sc_program *p, const char *stage, sc_text *out, sc_err *err)
{
    sc_tuned t;
    sc_request asked = *rq;
    if (!sc_tuned_made(rq, p, &t)) return text_of(rq, p, stage, out, err);
    asked.schedule = t.schedule;
    if (!strcmp(stage, "explain")) sc_tuned_print(&t, out);
    const int rc = text_of(&asked, p, stage, out, err);
    sc_tuned_free(&t);
    return rc;
}

int sc_request_text(const sc_request *rq, const char *stage, sc_text *out, sc_err *err)
{
    sc_process_start();
    Prog *g = compiled(rq, err);
    if (g && (!g->draft.converts || is_early(stage))) sc_compile_text(g, stage, out, err);
    sc_prog_free(g);
    return err->code;
}
