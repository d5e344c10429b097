/* steps_make.c: how a program in several steps is made (steps.c runs it). Steps that say the same in other names have one
 * program. */
#include <stdlib.h>
#include <string.h>

#include "run.h"

static void add_said(sc_text *said, const sc_request *rq)
{
    sc_text_addn(said, rq->text, strlen(rq->text) + 1);
    if (rq->schedule) sc_text_addn(said, rq->schedule, strlen(rq->schedule) + 1);
}

/* The request says what was said for it, which has this length. */
static size_t take_said(sc_request *rq, const char *said)
{
    size_t n = strlen(said) + 1;
    rq->text = said;
    if (!rq->schedule) return n;
    rq->schedule = said + n;
    return n + strlen(said + n) + 1;
}

static sc_steps *copied(const Path *path, const sc_request *rq)
{
    sc_steps *s = sc_zalloc(sizeof *s + (size_t)path->n * sizeof *s->step);
    sc_text said = {0}, plan = {0}, tree = {0};
    size_t at = 0;
    if (!s) return NULL;
    for (int k = 0; k < path->n; k++) add_said(&said, &path->step[k]->request);
    sc_text_addn(&said, rq->text, strlen(rq->text) + 1);
    path_print(path, &plan);
    sc_text_add(&tree, "%s", path->tree);
    s->said = said.s, s->text = plan.s, s->tree = tree.s;
    s->n = path->n, s->nvalue = path->nvalue;
    if (said.failed || plan.failed || tree.failed) return s->n = 0, sc_steps_free(s), NULL;
    for (int k = 0; k < s->n; k++) {
        s->step[k].plan = *path->step[k];
        at += take_said(&s->step[k].plan.request, s->said + at);
    }
    s->whole = *rq;
    s->whole.text = s->said + at;
    s->whole.schedule = "path()";
    s->whole.settled = UINT32_MAX;
    return s;
}

bool sc_step_made(const sc_program *p, int value) { return value >= p->nin && value < p->steps->nvalue; }

bool sc_step_reads_sparse(const sc_stage *x, const sc_program *p)
{
    for (int k = 0; k < x->plan.request.nin; k++)
        if (sc_step_made(p, x->plan.from[k]) && !sc_format_is_dense(&x->plan.request.in[k].format))
            return true;
    return false;
}

/* The result of the step has the structure of operand q, which stays as it is for that. */
static bool is_shared(const sc_stage *x, int q)
{
    for (int r = 0; r < x->plan.n; r++)
        if (x->plan.like[r] == q) return true;
    return false;
}

/* Operand q of a step in another layout: it is told to the caller, who keeps it. False where there is no room. */
static bool add_extra(sc_steps *s, sc_stage *x, int q, const sc_format *as)
{
    int j = 0;
    while (j < s->nextra &&
           !(s->extra[j].operand == x->plan.from[q] && sc_format_equal(&s->extra[j].format, as)))
        j++;
    if (j == SC_MAXEXTRA) return false;
    s->extra[j].operand = x->plan.from[q];
    s->extra[j].format = *as;
    if (j == s->nextra) s->nextra++;
    x->plan.from[q] = (uint8_t)(s->nvalue + j);
    x->plan.request.in[q].format = *as;
    sc_request_apart(&x->plan.request, q);
    return true;
}

/* What a step asks of the operands of the program becomes extra ones; returns whether it asked for any. */
static bool take_asked(sc_program *p, sc_stage *x)
{
    bool any = false;
    for (int q = 0; q < x->plan.request.nin; q++) {
        const sc_format *as = sc_program_convert(x->program, q);
        if (!as || x->plan.from[q] >= p->nin || sc_format_is_dense(&x->plan.request.in[q].format)) continue;
        if (is_shared(x, q) || !add_extra(p->steps, x, q, as)) x->plan.request.settled |= 1u << q;
        any = true;
    }
    return any;
}

sc_request *sc_step_common(const sc_request *rq, sc_text *text, sc_err *err)
{
    sc_request *common = sc_malloc(sizeof *common);
    if (common) *common = *rq;
    if (common && !rq->schedule) path_common(common, text);
    if (common && !text->failed) return common;
    free(common);
    return sc_error(err, SC_ENOMEM, "out of memory"), NULL;
}

int sc_step_find(const sc_request *rq, sc_program **out, sc_err *err)
{
    sc_text text = {0};
    sc_request *common = sc_step_common(rq, &text, err);
    if (common) sc_program_find(common, sc_whole_make, out, NULL, err);
    sc_text_free(&text);
    free(common);
    return err->code;
}

/* Operands that had one structure have one in any layout that they both have. */
static void meet(sc_request *rq, const sc_request *before)
{
    for (int k = 0; k < rq->nin; k++) {
        rq->in[k].twin = 0;
        for (int q = 0; q < k && !rq->in[k].twin; q++)
            if (sc_format_has_twins(&rq->in[k].format) &&
                sc_request_root(before, q) == sc_request_root(before, k) &&
                sc_format_equal(&rq->in[q].format, &rq->in[k].format))
                rq->in[k].twin = (int8_t)(1 + q);
    }
}

/* The layout in which a library's step reads the matrix that lists rows; false: there is no room for one. */
static bool list_rows(sc_program *p, sc_stage *x)
{
    const int q = x->plan.dense.list;
    if (q < 0) return true;
    const sc_format as = sc_listed_format(&x->plan.dense);
    return sc_format_equal(&x->plan.request.in[q].format, &as) || add_extra(p->steps, x, q, &as);
}

/* The program of a step, where it is known before there are data. One layout after the other is asked for. */
static int prepare_step(sc_program *p, sc_stage *x, sc_err *err)
{
    if (x->plan.dense.is && list_rows(p, x)) return SC_OK;
    x->plan.dense.is = false;
    const sc_request given = x->plan.request;
    const bool later = sc_step_reads_sparse(x, p);
    bool asks = false;
    for (int round = 0; round < SC_MAXOP; round++) {
        if (sc_step_find(&x->plan.request, &x->program, err)) return err->code;
        if (!take_asked(p, x)) break;
        meet(&x->plan.request, &given);
        asks = true;
        sc_program_release(x->program);
        x->program = NULL;
    }
    if (!asks && !later && !x->program->asks) return SC_OK;
    sc_program_release(x->program);
    x->program = NULL;
    return SC_OK;
}

/* What the program gives is what its last steps give. */
static void describe(sc_program *p)
{
    for (int k = 0; k < p->steps->n; k++)
        for (int r = 0; r < p->steps->step[k].plan.n; r++) {
            const Step *x = &p->steps->step[k].plan;
            if (x->result[r] < 0) continue;
            sc_delivered *d = &p->result[x->result[r]];
            d->spec = x->made[r];
            d->converts = false;
        }
}

const sc_format *sc_program_extra(const sc_program *p, int j, int *k)
{
    if (!p->steps || j >= p->steps->nextra) return NULL;
    *k = p->steps->extra[j].operand;
    return &p->steps->extra[j].format;
}

static void find_way(sc_program *p)
{
    for (int k = 0; k < p->steps->n; k++)
        if (p->steps->step[k].program) p->way = p->steps->step[k].program->way;
}

/* *out is null where the request is best taken as it is. */
static int make_steps(const sc_request *rq, sc_program **out, sc_err *err)
{
    const Path *path = NULL;
    Prog *g = sc_zalloc(sizeof *g);
    if (!g) return sc_error(err, SC_ENOMEM, "out of memory");
    sc_process_machine(g);
    const int64_t start = sc_now();
    int rc = sc_compile_path(g, rq, NULL, sc_this_process.target.vector_bytes, &path, err);
    atomic_fetch_add(&sc_this_process.path_ns, sc_now() - start);
    sc_program *p = path ? sc_program_describe(g, rq->text, err) : NULL;
    if (path && !p) rc = err->code;
    if (p && !(p->steps = copied(path, rq))) rc = sc_error(err, SC_ENOMEM, "out of memory");
    sc_prog_free(g);
    if (p && !rc) describe(p);
    for (int k = 0; p && !rc && k < p->steps->n; k++) rc = prepare_step(p, &p->steps->step[k], err);
    if (p && !rc) find_way(p);
    if (!rc) return *out = p, SC_OK;
    sc_program_release(p);
    return rc;
}

static int make(const sc_request *rq, sc_program **out, sc_err *err)
{
    const int rc = rq->whole ? SC_OK : make_steps(rq, out, err);
    return rc || *out ? rc : sc_whole_make(rq, out, err);
}

int sc_program_get(const sc_request *rq, sc_program **out, uint64_t *handle, sc_err *err)
{ return sc_program_find(rq, make, out, handle, err); }
