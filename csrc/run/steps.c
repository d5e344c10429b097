/* steps.c: a program in several steps (compiler/path), each a program of its own.
 *
 * Values are the operands and then what the steps make. Temporaries live in memory that goes back after the run. A step
 * that reads a sparse temporary is compiled when it is first met, for as many entries as there are; all others when the
 * program is made; sparse results that are read later count as such temporaries. Where a dense temporary has zeros for
 * what has no term, an infinity beside it makes a NaN that the expression does not have: steps that read one look at
 * their operands or results, and where one is not finite the program runs once more, without temporaries, and so do the
 * runs that follow: an infinity, or a row without entries that is divided by, seldom comes alone. */
#include <stdlib.h>
#include <string.h>

#include "../watch.h"
#include "run.h"

#define MAXBLOCK 256 /* of memory, in one run */
#define WAIT 15      /* runs that follow one whose numbers were not finite, before steps are tried again */

static const char *const way_name[] = {"bundle", "jit", "executor"};

/* ---- memory ---- */
typedef struct {
    int n;
    void *block[MAXBLOCK];
} memory;

static void *take(void *ctx, int what, int level, sc_dtype dtype, int64_t n)
{
    memory *m = ctx;
    (void)what, (void)level;
    if (m->n == MAXBLOCK) return NULL;
    void *block = sc_work_take((size_t)sc_max(n, 1) * sc_dtype_size(dtype));
    if (block) m->block[m->n++] = block;
    return block;
}

static void give_all(memory *m)
{
    while (m->n) sc_work_give(m->block[--m->n]);
}

/* ---- running ---- */
typedef struct {
    const sc_program *p;
    const sc_tensor *in;
    sc_tensor *out;
    sc_alloc *alloc;
    void *const *ctx;
    memory kept;
    uint64_t gaps; /* values that may have no term somewhere, as bits */
    sc_tensor value[];
} run;

/* Sparse operands that were not there when the step was made are told as they are. Those of the program stay as they
 * are, and extra layouts do. */
static void note_facts(const run *r, const sc_stage *x, const sc_tensor *in, sc_request *rq)
{
    for (int k = 0; k < rq->nin; k++) {
        const int value = x->plan.from[k];
        if (sc_format_is_dense(&in[k].format)) continue;
        if (!sc_step_made(r->p, value)) rq->settled |= 1u << k;
        if (value >= r->p->nin) sc_request_operand(rq, k, &in[k]);
    }
}

/* Operand k as the program of a step asks for it, in memory of this run. */
static int convert(run *r, sc_request *rq, int k, const sc_format *to, sc_tensor *in, sc_err *err)
{
    sc_tensor t = {.format = *to, .itype = in[k].itype == SC_I64 ? SC_I64 : SC_I32};
    if (sc_convert(&in[k], &t, take, &r->kept, NULL, err)) return err->code;
    in[k] = t;
    sc_request_converted(rq, k, &t);
    return SC_OK;
}

static int convert_all(run *r, sc_request *rq, const sc_program *q, sc_tensor *in, bool *any, sc_err *err)
{
    *any = false;
    for (int k = 0; k < rq->nin && !err->code; k++) {
        const sc_format *to = sc_program_convert(q, k);
        if (to && !convert(r, rq, k, to, in, err)) *any = true;
    }
    return err->code;
}

/* The program of the request; operands that it wants in another format are converted. *plain: none was. */
static int settle(run *r, sc_request *rq, sc_tensor *in, sc_program **out, bool *plain, sc_err *err)
{
    bool again = true;
    for (int round = 0; round < SC_MAXOP && again && !err->code; round++) {
        sc_program_release(*out);
        *out = NULL;
        if (!sc_step_find(rq, out, err)) convert_all(r, rq, *out, in, &again, err);
        *plain &= !again;
    }
    return err->code;
}

/* By a request for what the operands are; *plain: they were taken as they are. */
static int look_up(run *r, const sc_stage *x, sc_tensor *in, sc_program **out, bool *plain, sc_err *err)
{
    sc_request *rq = sc_malloc(sizeof *rq);
    if (!rq) return sc_error(err, SC_ENOMEM, "out of memory");
    *rq = x->plan.request;
    note_facts(r, x, in, rq);
    sc_request_twins(rq, in);
    settle(r, rq, in, out, plain, err);
    free(rq);
    return err->code;
}

static uint32_t perms_of(const sc_stage *x, const sc_tensor *in)
{
    uint32_t perms = 0;
    for (int k = 0; k < x->plan.request.nin; k++) perms |= (uint32_t)(in[k].view.perm != NULL) << k;
    return perms;
}

/* For the runs to come, where nothing but layouts was waited for. */
static void keep(sc_stage *x, const sc_tensor *in, sc_program *q)
{
    sc_resolved *mine = sc_malloc(sizeof *mine), *none = NULL;
    if (!mine) return;
    *mine = (sc_resolved){sc_program_retain(q), perms_of(x, in)};
    if (atomic_compare_exchange_strong(&x->resolved, &none, mine)) return;
    sc_program_release(q);
    free(mine);
}

/* The program of a step for what its operands are now; those that it wants in another format are converted. */
static int program_of(run *r, sc_stage *x, sc_tensor *in, sc_program **out, sc_err *err)
{
    bool plain = true;
    if (x->plan.dense.is) return SC_OK;
    if (x->program) return *out = sc_program_retain(x->program), SC_OK;
    const sc_resolved *known = atomic_load(&x->resolved);
    if (known && known->perms == perms_of(x, in)) return *out = sc_program_retain(known->program), SC_OK;
    if (look_up(r, x, in, out, &plain, err)) return err->code;
    if (plain && !known && !sc_step_reads_sparse(x, r->p)) keep(x, in, *out);
    return SC_OK;
}

/* Result k of a program, before it runs, in memory of this run where it is dense. */
static int place_made(run *r, const sc_program *q, int k, const sc_tensor *in, sc_tensor *t, sc_err *err)
{
    const sc_spec *spec = sc_program_result(q, k);
    *t = (sc_tensor){.format = spec->format, .dtype = spec->dtype, .itype = spec->itype};
    sc_program_shape(q, k, in, t->view.dim);
    return sc_format_is_dense(&t->format) ? sc_make_dense(t, take, &r->kept, err) : SC_OK;
}

/* Result k of a step, likewise; q: its program, null: a library computes it. */
static int place(run *r, const sc_stage *x, const sc_program *q, int k, const sc_tensor *in, sc_err *err)
{
    sc_tensor *t = &r->value[x->plan.first + k];
    if (x->plan.result[k] >= 0) return *t = r->out[x->plan.result[k]], SC_OK;
    if (q) return place_made(r, q, k, in, t, err);
    const sc_spec *spec = &x->plan.made[k];
    *t = (sc_tensor){.format = spec->format, .dtype = spec->dtype, .itype = spec->itype};
    sc_dense_shape(&x->plan.dense, t->format.ndim, in, t->view.dim);
    return sc_format_is_dense(&t->format) ? sc_make_dense(t, take, &r->kept, err) : SC_OK;
}

/* ---- holes ---- */
/* An operand of the program whose rows a value of a step has, and whose rows were counted; else the value. */
static const sc_tensor *counted(const run *r, const sc_tensor *t)
{
    const int last = t->format.nlevel - 1;
    for (int k = 0; k < r->p->nin; k++) {
        const sc_tensor *given = &r->in[k];
        if (given->rows.most && sc_format_equal(&given->format, &t->format) &&
            given->view.level[last].pos == t->view.level[last].pos)
            return given;
    }
    return t;
}

/* Whether the step may have made an element that no term went into: it has none where each row of its only sparse operand
 * has an entry. */
static bool has_gaps(const run *r, const sc_stage *x, const sc_tensor *in)
{
    int sparse = -1;
    if (!x->plan.plain) return true;
    for (int k = 0; k < x->plan.request.nin; k++) {
        const bool dense = sc_format_is_dense(&in[k].format);
        const int value = x->plan.from[k];
        if (!in[k].view.nval || (dense ? sc_step_made(r->p, value) && r->gaps >> value & 1 : sparse >= 0))
            return true;
        if (!dense) sparse = k;
    }
    return sparse >= 0 && !sc_has_all_rows(counted(r, &in[sparse]), x->plan.kept[sparse]);
}

/* Operands that have zeros where the program has no term, as bits. */
static uint32_t holes_of(const run *r, const sc_stage *x)
{
    uint32_t holes = x->plan.holes;
    for (int k = 0; k < x->plan.request.nin; k++)
        if (!(r->gaps >> x->plan.from[k] & 1)) holes &= ~(1u << k);
    return holes;
}

/* Whether what stands beside a temporary with holes is finite, so that nothing but zeros comes of them: the operands, or
 * all that was computed, whichever is less to look at. */
static bool stays_finite(const run *r, const sc_stage *x, const sc_tensor *in, const sc_tensor *out)
{
    const sc_tensor *given[SC_MAXOP]; /* what is read in another layout has the same values */
    const uint32_t holes = holes_of(r, x);
    const bool one = __builtin_popcount(holes) == 1;
    int64_t before = 0, behind = 0;
    bool finite = true, flat = true;
    if (!holes) return true;
    for (int k = 0; k < x->plan.request.nin; k++) {
        const int extra = x->plan.from[k] - r->p->steps->nvalue;
        given[k] = extra < 0 ? &in[k] : &r->in[r->p->steps->extra[extra].operand];
    }
    for (int k = 0; k < x->plan.request.nin; k++) {
        if (one && holes >> k & 1) continue;
        before += given[k]->view.nval;
        flat &= given[k]->view.perm == NULL && !sc_has_strides(given[k]);
    }
    for (int k = 0; k < x->plan.n; k++) behind += out[k].view.nval;
    if (x->plan.plain && flat && before <= behind) {
        for (int k = 0; k < x->plan.request.nin; k++)
            if (!(one && holes >> k & 1)) finite &= sc_all_finite(given[k]);
        if (finite) return true;
        finite = true;
    }
    for (int k = 0; k < x->plan.n; k++) finite &= sc_all_finite(&out[k]);
    return finite;
}

/* The structure of a result of a library, which is that of an operand. */
static int share(const sc_stage *x, const sc_tensor *in, sc_tensor *out, sc_alloc *alloc, void *const *ctx,
                 sc_err *err)
{
    const sc_made made = {.format = out->format, .dtype = out->dtype, .shared = out->format.nlevel};
    const sc_tensor *like = &in[x->plan.like[0]];
    return sc_share(&made, like, like->view.dim, out, alloc, ctx ? ctx[0] : NULL, err);
}

static int compute_step(run *r, const sc_stage *x, const sc_program *q, const sc_tensor *in, void *const *ctx,
                        sc_err *err)
{
    sc_tensor *out = &r->value[x->plan.first];
    sc_alloc *alloc = x->plan.result[0] < 0 ? take : r->alloc;
    if (!x->plan.dense.is) return sc_whole_run(q, in, out, alloc, ctx, err);
    if (!sc_format_is_dense(&out->format) && share(x, in, out, alloc, ctx, err)) return err->code;
    const Dense *d = &x->plan.dense;
    return d->list < 0 ? sc_dense_run(d, in, out, err) : sc_listed_run(d, in, out, err);
}

/* q: the program of the step, null: a library computes it. */
static int watched_step(run *r, const sc_stage *x, const sc_program *q, const sc_tensor *in, void *const *ctx,
                        sc_err *err)
{
    sc_span span;
    if (!sc_is_watched()) return compute_step(r, x, q, in, ctx, err);
    sc_span_begin(&span, x->plan.request.text, in, x->plan.request.nin);
    const int rc = compute_step(r, x, q, in, ctx, err);
    sc_span_end(&span, q ? way_name[q->way] : "library", &r->value[x->plan.first], x->plan.n, !rc);
    return rc;
}

/* ---- structure that steps hand on ---- */
static bool has_array(const sc_tensor *t, const void *array)
{
    for (int l = 0; l < t->format.nlevel; l++)
        if (t->view.level[l].pos == array || t->view.level[l].crd == array) return true;
    return false;
}

/* Whether the array goes with this run: operands of the program are the caller's, who shares them. x: the step whose
 * operands may lend it, null where they are the program's. */
static bool is_lent(const run *r, const sc_stage *x, const sc_tensor *in, const void *array)
{
    for (int k = 0; array && k < r->p->nin + r->p->steps->nextra; k++)
        if (has_array(&r->in[k], array)) return false;
    for (int k = 0; array && k < r->kept.n; k++)
        if (r->kept.block[k] == array) return true;
    for (int k = 0; array && x && k < x->plan.request.nin; k++)
        if (sc_step_made(r->p, x->plan.from[k]) && has_array(&in[k], array)) return true;
    return false;
}

/* Copies of the levels that result `number` has of a value, or of an operand that was converted for this run: a result is
 * made of memory of its own. */
static int own_levels(const run *r, const sc_stage *x, const sc_tensor *in, int number, sc_err *err)
{
    sc_tensor *t = &r->out[number];
    int64_t above = 1;
    for (int l = 0; l < t->format.nlevel; above = t->view.level[l++].npos) {
        sc_level *at = &t->view.level[l];
        const sc_levelspec *spec = &t->format.level[l];
        for (int what = SC_POS; what <= SC_CRD; what++) {
            const void **array = what == SC_POS ? &at->pos : &at->crd;
            const int64_t n = what == SC_POS ? sc_pos_length(spec, at->size, above)
                                             : sc_crd_length(spec, at->size, above, at->npos);
            if (!is_lent(r, x, in, *array)) continue;
            void *own = r->alloc(r->ctx ? r->ctx[number] : NULL, what, l, t->itype, n);
            if (!own) return sc_error(err, SC_ENOMEM, "out of memory for %lld positions", (long long)n);
            memcpy(own, *array, (size_t)n * sc_dtype_size(t->itype));
            *array = own;
        }
    }
    return SC_OK;
}

/* *finite: what came of it where it had to be. */
static int run_step(run *r, sc_stage *x, bool *finite, sc_err *err)
{
    sc_tensor in[SC_MAXOP];
    void *ctx[SC_MAXOP];
    sc_program *q = NULL;
    const bool inside = x->plan.result[0] < 0;
    for (int k = 0; k < x->plan.request.nin; k++) in[k] = r->value[x->plan.from[k]];
    int rc = program_of(r, x, in, &q, err);
    for (int k = 0; k < x->plan.n && !rc; k++) {
        rc = place(r, x, q, k, in, err);
        ctx[k] = inside ? &r->kept : r->ctx ? r->ctx[x->plan.result[k]] : NULL;
    }
    sc_tensor *out = &r->value[x->plan.first];
    if (!rc) rc = watched_step(r, x, q, in, inside || r->ctx ? ctx : NULL, err);
    sc_program_release(q);
    for (int k = 0; k < x->plan.n && !rc; k++) {
        if (x->plan.result[k] < 0) continue;
        r->out[x->plan.result[k]] = out[k];
        rc = own_levels(r, x, in, x->plan.result[k], err);
    }
    if (!rc && inside && !sc_format_is_dense(&out->format)) x->entries = out->view.nval;
    *finite = rc || stays_finite(r, x, in, out);
    for (int k = 0; k < x->plan.n && !rc && *finite; k++)
        if (sc_format_is_dense(&out[k].format) && has_gaps(r, x, in))
            r->gaps |= UINT64_C(1) << (x->plan.first + k);
    return rc;
}

/* Result k of one nest as the program promises it: what has the structure of an operand that was converted is put back. */
static int put_back(const run *r, int k, sc_err *err)
{
    sc_tensor *t = &r->out[k], to = {.format = r->p->result[k].spec.format, .itype = t->itype};
    if (sc_format_equal(&t->format, &to.format)) return own_levels(r, NULL, NULL, k, err);
    const int rc = sc_convert(t, &to, r->alloc, r->ctx ? r->ctx[k] : NULL, NULL, err);
    if (!rc) *t = to;
    return rc;
}

/* Memory for results that one nest makes dense, and the program promises otherwise. */
static int place_whole(run *r, const sc_program *q, const sc_tensor *in, sc_err *err)
{
    for (int k = 0; k < r->p->nout && !err->code; k++)
        if (sc_format_is_dense(&sc_program_result(q, k)->format) &&
            !sc_format_is_dense(&r->p->result[k].spec.format))
            place_made(r, q, k, in, &r->out[k], err);
    return err->code;
}

/* The program as one nest; operands that no loops take as they are are converted. */
static int run_whole(run *r, sc_err *err)
{
    sc_tensor in[SC_MAXOP];
    sc_program *q = NULL;
    bool plain = true;
    sc_request *rq = sc_malloc(sizeof *rq);
    if (!rq) return sc_error(err, SC_ENOMEM, "out of memory");
    *rq = r->p->steps->whole;
    memcpy(in, r->in, (size_t)r->p->nin * sizeof *in);
    int rc = settle(r, rq, in, &q, &plain, err);
    if (!rc) rc = place_whole(r, q, in, err);
    if (!rc) rc = sc_program_run(q, in, r->out, r->alloc, r->ctx, err);
    for (int k = 0; k < r->p->nout && !rc; k++) rc = put_back(r, k, err);
    sc_program_release(q);
    free(rq);
    return rc;
}

static int run_waiting(const sc_program *p, const sc_tensor *in, sc_tensor *out, sc_alloc *alloc,
                       void *const *ctx, sc_err *err)
{
    run r = {.p = p, .in = in, .out = out, .alloc = alloc, .ctx = ctx};
    const int rc = run_whole(&r, err);
    give_all(&r.kept);
    return rc;
}

static int run_steps(const sc_program *p, const sc_tensor *in, sc_tensor *out, sc_alloc *alloc,
                     void *const *ctx, sc_err *err)
{
    sc_tensor before[SC_MAXOP];
    if (atomic_load(&p->steps->waiting) > 0) {
        atomic_fetch_sub(&p->steps->waiting, 1);
        return run_waiting(p, in, out, alloc, ctx, err);
    }
    run *r = sc_malloc(sizeof *r + (size_t)(p->steps->nvalue + SC_MAXEXTRA) * sizeof *r->value);
    if (!r) return sc_error(err, SC_ENOMEM, "out of memory");
    *r = (run){.p = p, .in = in, .out = out, .alloc = alloc, .ctx = ctx};
    for (int k = 0; k < p->nin; k++) r->value[k] = in[k];
    for (int k = 0; k < p->steps->nextra; k++) r->value[p->steps->nvalue + k] = in[p->nin + k];
    for (int k = 0; k < p->nout; k++) before[k] = out[k];
    bool finite = true;
    int rc = SC_OK;
    for (int k = 0; k < p->steps->n && !rc && finite; k++) rc = run_step(r, &p->steps->step[k], &finite, err);
    if (!rc && !finite) {
        for (int k = 0; k < p->nout; k++) out[k] = before[k];
        atomic_store(&p->steps->waiting, WAIT);
        rc = run_whole(r, err);
    }
    give_all(&r->kept);
    free(r);
    return rc;
}

/* ---- text ---- */
static void print_entries(const sc_steps *s, sc_text *out)
{
    for (int k = 0; k < s->n; k++)
        if (s->step[k].entries)
            sc_text_add(out, "step %d made %lld entries in the last run, %.3g were expected\n", k + 1,
                        (long long)s->step[k].entries, s->step[k].plan.entries);
}

/* In the names of the program that it is a step of, unless its schedule was measured: that has the names of all. */
static int step_text(const sc_request *rq, const char *stage, sc_text *out, sc_err *err)
{
    sc_text text = {0};
    sc_tuned t;
    sc_program *q = NULL;
    sc_request *common = sc_step_common(rq, &text, err);
    if (common && !sc_program_find(common, sc_whole_make, &q, NULL, err)) {
        const bool tuned = sc_tuned_made(common, q, &t);
        if (tuned) sc_tuned_free(&t);
        sc_whole_text(tuned ? common : rq, q, stage, out, err);
    }
    sc_program_release(q);
    sc_text_free(&text);
    free(common);
    return err->code;
}

static int text_of(const sc_request *rq, const sc_program *p, const char *stage, sc_text *out, sc_err *err)
{
    const sc_steps *s = p->steps;
    if (!s) return sc_whole_text(rq, p, stage, out, err);
    if (!strcmp(stage, "schedule")) return sc_text_add(out, "%s\n", s->tree), SC_OK;
    sc_tuned t;
    if (!strcmp(stage, "explain") && sc_tuned_made(rq, p, &t)) sc_tuned_print(&t, out), sc_tuned_free(&t);
    if (!strcmp(stage, "path") || !strcmp(stage, "explain")) sc_text_add(out, "%s", s->text);
    if (!strcmp(stage, "explain")) print_entries(s, out);
    for (int k = 0; k < s->n && strcmp(stage, "path"); k++) {
        const Step *one = &s->step[k].plan;
        if (one->dense.is) continue;
        sc_text_add(out, "\n-- step %d: %s\n", k + 1, one->request.text);
        if (step_text(&one->request, stage, out, err)) return err->code;
    }
    return SC_OK;
}

int sc_program_text(const sc_request *rq, const char *stage, char **out, sc_err *err)
{
    sc_program *p;
    sc_text t = {0};
    int rc = sc_check_stage(stage, err);
    if (!rc) rc = sc_program_get(rq, &p, NULL, err);
    if (rc) return rc;
    rc = text_of(rq, p, stage, &t, err);
    sc_program_release(p);
    if (!rc && !t.n) sc_text_add(&t, "%s", "");
    if (!rc && t.failed) rc = sc_error(err, SC_ENOMEM, "out of memory");
    *out = t.s;
    if (rc) sc_text_free(&t), *out = NULL;
    return rc;
}

static int run_program(const sc_program *p, const sc_tensor *in, sc_tensor *out, sc_alloc *alloc,
                       void *const *ctx, sc_err *err)
{
    if (p->steps) return run_steps(p, in, out, alloc, ctx, err);
    return sc_whole_run(p, in, out, alloc, ctx, err);
}

int sc_program_run(const sc_program *p, const sc_tensor *in, sc_tensor *out, sc_alloc *alloc,
                   void *const *ctx, sc_err *err)
{
    sc_span span;
    if (!sc_is_watched()) return run_program(p, in, out, alloc, ctx, err);
    sc_span_begin(&span, p->text, in, p->nin);
    const int rc = run_program(p, in, out, alloc, ctx, err);
    sc_span_end(&span, p->steps ? "steps" : way_name[p->way], out, sc_program_nreturned(p), !rc);
    return rc;
}
