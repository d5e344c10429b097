/* compile.c: what is asked of the compiler, each a door of its own, and the one way out of the passes.
 *
 *   parse -> check -> infer -> schedule -> lower -> simplify -> emit
 *
 * The first three are `understand`. What follows is listed in settle.c (`lower_nest`): schedule tries what it finds
 * through that, and keeps the first that comes through.
 * A pass that cannot go on calls fail(), which writes the message and jumps to the innermost prog_try (ir/prog.c):
 * that of the doors below, or of the scheduler where it tries what may be refused. Passes may be left so because
 * they own nothing but arena memory. */
#include "emit/emit.h"
#include "lower/lower.h"
#include "schedule/schedule.h"
#include "settle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void out_of_memory(void *ctx) { fail(ctx, SC_ENOMEM, -1, "out of memory while compiling"); }

/* A format is asked of a result by its number. */
static void take_asks(Prog *p, const sc_request *rq)
{
    if (rq->nask > p->nout)
        fail(p, SC_EVALUE, -1, "formats are asked for %d results, but the expression has %d", rq->nask,
             p->nout);
    memcpy(p->ask, rq->ask, (size_t)rq->nask * sizeof *p->ask);
}

/* What is asked of the order of contraction, or of single steps, goes alone, and is no matter of a step. */
static const char *asked_path(const sc_request *rq)
{
    int n = 0;
    if (rq->schedule) sscanf(rq->schedule, " path (%n", &n); /* a nest may assign to a scalar of this name */
    return n || path_asks_steps(rq->schedule) ? rq->schedule : NULL;
}

/* What is printed of steps is a nest for each of them: none is that of the program. */
static void refuse_steps(Prog *p, const char *schedule)
{
    int n = 0;
    sscanf(schedule, " -- step %n", &n);
    if (n)
        fail(p, SC_EVALUE, -1,
             "schedule: expected one loop nest, got those of the steps of a program: pass its directives, "
             "or what is asked of the steps that read an operand, as in A: tile(k: 32)");
}

static void front(Prog *p, const sc_request *rq)
{
    p->skip = rq->skip;
    p->nofold = rq->nofold;
    p->settled = rq->settled;
    memcpy(p->ask_like, rq->ask_like, sizeof p->ask_like);
    p->wide = rq->wide;
    p->narrow = rq->narrow;
    for (int i = 0; i < rq->nin; i++) prog_declare(p, &rq->in[i], rq->dim[i]);
    parse_program(p, rq->text);
    take_asks(p, rq);
    if (asked_path(rq)) return;
    if (rq->schedule && wishes_text(p, rq->schedule))
        p->wishes = sc_arena_printf(&p->arena, "%s", rq->schedule);
    else if (rq->schedule) {
        refuse_steps(p, rq->schedule);
        nest_twins(p, p->draft.nest = nest_parse(p, rq->schedule, 0, NULL));
    }
}

typedef struct { /* what a program is compiled from, and to */
    Prog *p;
    const sc_request *rq;
    const char *file, *stage;
    uint32_t wanted, given;
    sc_gradient *gradient;
    sc_text *out;
} Job;

static void read_program(const Job *j)
{
    j->p->arena.nomem = out_of_memory;
    j->p->arena.ctx = j->p;
    j->p->draft.why = j->p->draft.orders = j->p->draft.chosen = prog_text(j->p);
    if (j->file)
        file_parse(j->p, j->file);
    else
        front(j->p, j->rq);
}

static void understand(const Job *j)
{
    read_program(j);
    expr_check(j->p);
    expr_infer(j->p);
}

static void compile(void *ctx)
{
    const Job *j = ctx;
    understand(j);
    if (j->p->draft.nest)
        lower_nest(j->p);
    else
        schedule(j->p);
}

int sc_compile(Prog *p, const sc_request *rq, const char *file, int vector_bytes, sc_err *err)
{
    p->vector_bytes = vector_bytes;
    return prog_try(p, compile, &(Job){.p = p, .rq = rq, .file = file}, err);
}

/* ---- steps ---- */
void sc_compile_outcome(Prog *p, int r, sc_outcome *o)
{
    const Tensor *t = prog_result(p, r);
    memset(o, 0, sizeof *o);
    memcpy(o->spec.name, t->name, sizeof o->spec.name);
    o->spec.format = p->ask[r].nlevel ? p->ask[r] : t->format;
    o->spec.dtype = t->dtype;
    o->spec.itype = t->itype;
    o->spec.unit = t->unit;
    o->like = tensor_shares_all(t) && sc_format_equal(&o->spec.format, &t->format) ? t->like->arg : -1;
    if (o->like >= 0) o->spec.even = t->like->even, o->spec.skew = t->like->skew;
    for (int d = 0; d < t->ndim; d++) {
        const Var *v = &p->var[t->dimvar[d]];
        o->extent[d].operand = (int8_t)v->arg;
        o->extent[d].dim = (int8_t)v->dim;
    }
}

typedef struct { /* a request, as the scheduler sees it, or inference alone */
    Prog *p;
    const sc_request *rq;
    bool infers;
    double cost;
} RequestCosting;

static void cost_request(void *ctx)
{
    RequestCosting *x = ctx;
    understand(&(Job){.p = x->p, .rq = x->rq});
    x->cost = x->infers ? 0 : schedule_cost(x->p);
}

/* For the machine that a program is compiled for. */
static double ask(const Prog *machine, const sc_request *rq, bool infers, sc_outcome *out, sc_err *why)
{
    Prog *p = sc_zalloc(sizeof *p);
    RequestCosting x = {p, rq, infers, -1};
    if (!p) return sc_error(why, SC_ENOMEM, "out of memory"), -1;
    p->vector_bytes = machine->vector_bytes, p->dots = machine->dots;
    p->unsized = machine->unsized;
    p->threads = machine->threads, p->speeds = machine->speeds;
    memcpy(p->cache, machine->cache, sizeof p->cache);
    if (prog_try(p, cost_request, &x, why)) x.cost = -1;
    for (int r = 0; x.cost >= 0 && r < p->nout; r++) sc_compile_outcome(p, r, &out[r]);
    sc_compile_free(p);
    free(p);
    return x.cost;
}

static double cost_of(void *ctx, const sc_request *rq, sc_outcome *out, sc_err *why)
{ return ask(ctx, rq, false, out, why); }

static double outcome_of(void *ctx, const sc_request *rq, sc_outcome *out, sc_err *why)
{ return ask(ctx, rq, true, out, why); }

/* Understood as its assignments one after another; a step, and what a user schedules, is one nest. */
static void take_apart(const Job *j)
{
    Prog *p = j->p;
    understand(j);
    if (p->draft.nest || (j->rq && j->rq->whole)) return;
    if (!p->wishes) path_cut(p, &(Costs){outcome_of, p});
    if (!p->apart) path_check_whole(p);
}

static void compile_gradient(void *ctx)
{
    const Job *j = ctx;
    j->p->unsized = j->rq != NULL;
    take_apart(j);
    if (j->gradient) expr_derive(j->p, j->wanted, j->given, j->gradient);
}

int sc_compile_gradient(Prog *p, const sc_request *rq, const char *file, uint32_t wanted, uint32_t given,
                        sc_gradient *out, sc_err *err)
{
    Job j = {.p = p, .rq = rq, .file = file, .wanted = wanted, .given = given, .gradient = out};
    return prog_try(p, compile_gradient, &j, err);
}

typedef struct {
    Job job;
    const uint8_t *parts;
    sc_composed *out;
} Composing;

static void compose(void *ctx)
{
    const Composing *x = ctx;
    understand(&x->job);
    expr_compose(x->job.p, x->parts, x->out);
}

int sc_compile_composed(Prog *p, const sc_request *rq, const uint8_t *parts, sc_composed *out, sc_err *err)
{ return prog_try(p, compose, &(Composing){{.p = p, .rq = rq}, parts, out}, err); }

typedef struct {
    Job job;
    const Path *path;
} Pathing;

static void find_path(void *ctx)
{
    Pathing *x = ctx;
    Prog *p = x->job.p;
    take_apart(&x->job);
    const char *asked = x->job.rq ? asked_path(x->job.rq) : NULL;
    if (!p->draft.nest && !p->wishes) x->path = path_find(p, asked, &(Costs){cost_of, p});
}

int sc_compile_path(Prog *p, const sc_request *rq, const char *file, int vector_bytes, const Path **out,
                    sc_err *err)
{
    Pathing x = {{.p = p, .rq = rq, .file = file}, NULL};
    p->vector_bytes = vector_bytes;
    const int rc = prog_try(p, find_path, &x, err);
    *out = rc ? NULL : x.path;
    return rc;
}

/* ---- stages ---- */
static void add_text(sc_text *out, const sc_text *t)
{
    if (t->n) sc_text_addn(out, t->s, t->n);
}

static void print_index(Prog *p, sc_text *out) { prog_print(p, out); }
static void print_sums(Prog *p, sc_text *out) { sums_print(p, out); }
static void print_chosen(Prog *p, sc_text *out)
{
    add_text(out, &p->draft.chosen);
    if (p->draft.chosen.n) sc_text_add(out, "\n");
}
static void print_nest(Prog *p, sc_text *out) { nest_print(p, p->draft.nest, out); }
static void print_module(Prog *p, sc_text *out) { stmt_print(p, p->draft.module, out); }
static void print_c(Prog *p, sc_text *out) { emit_module(p, p->draft.module, out); }
static void print_plan(Prog *p, sc_text *out) { plan_print(p, out); }
static void print_why(Prog *p, sc_text *out)
{ add_text(out, &p->draft.why), add_text(out, &p->draft.orders); }

static const struct {
    const char *name;
    void (*print)(Prog *, sc_text *);
} stages[] = {
    {"index", print_index},     {"sums", print_sums},     {"path", print_index}, /* of a single step */
    {"schedule", print_chosen}, {"nest", print_nest},     {"stmt", print_module}, {"c", print_c},
    {"plan", print_plan},       {"orders", orders_print}, {"why", print_why}};

const char *sc_stage_name(int k) { return k < SC_LEN(stages) ? stages[k].name : NULL; }

static void print_stage(void *ctx)
{
    const Job *j = ctx;
    sc_text names = prog_text(j->p);
    for (int k = 0; k < SC_LEN(stages); k++) {
        if (!strcmp(j->stage, stages[k].name)) {
            stages[k].print(j->p, j->out);
            return;
        }
        sc_text_add(&names, "%s%s", k ? ", " : "", stages[k].name);
    }
    fail(j->p, SC_EVALUE, -1, "unknown stage '%s': expected %s", j->stage, names.s);
}

int sc_compile_text(Prog *p, const char *stage, sc_text *out, sc_err *err)
{
    const int rc = prog_try(p, print_stage, &(Job){.p = p, .stage = stage, .out = out}, err);
    if (rc) return rc;
    return out->failed ? sc_error(err, SC_ENOMEM, "out of memory while printing") : SC_OK;
}

void sc_compile_free(Prog *p) { sc_arena_free(&p->arena); }
