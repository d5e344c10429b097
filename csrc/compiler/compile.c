/* compile.c: the list of passes, and the one way out of them.
 *
 *   parse -> check -> infer -> schedule -> lower -> simplify -> emit
 *
 * schedule tries what it finds through lowering, and keeps the first that comes through.
 * A pass that cannot go on calls fail(), which writes the message and jumps to the innermost prog_try (ir/prog.c):
 * that of the doors below, or of the scheduler where it tries what may be refused. Passes may be left so because
 * they own nothing but arena memory. */
#include "emit/emit.h"
#include "lower/lower.h"
#include "schedule/schedule.h"
#include "settle.h"

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

static void front(Prog *p, const sc_request *rq)
{
    p->skip = rq->skip;
    p->nofold = rq->nofold;
    p->settled = rq->settled;
    memcpy(p->ask_like, rq->ask_like, sizeof p->ask_like);
    p->wide = rq->wide;
    for (int i = 0; i < rq->nin; i++) prog_declare(p, &rq->in[i], rq->dim[i]);
    parse_program(p, rq->text);
    take_asks(p, rq);
    if (rq->schedule && wishes_text(p, rq->schedule))
        p->wishes = sc_arena_printf(&p->arena, "%s", rq->schedule);
    else if (rq->schedule)
        p->draft.nest = nest_parse(p, rq->schedule, 0, NULL);
}

static void middle(Prog *p)
{
    expr_check(p);
    expr_infer(p);
    if (p->draft.nest)
        lower_nest(p);
    else
        schedule(p);
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

static void compile(void *ctx)
{
    const Job *j = ctx;
    Prog *p = j->p;
    read_program(j);
    middle(p);
}

int sc_compile(Prog *p, const sc_request *rq, const char *file, int vector_bytes, sc_err *err)
{
    p->vector_bytes = vector_bytes;
    p->vector_regs = vector_bytes == 64 ? 32 : 16;
    return prog_try(p, compile, &(Job){.p = p, .rq = rq, .file = file}, err);
}

static void compile_gradient(void *ctx)
{
    const Job *j = ctx;
    read_program(j);
    expr_check(j->p);
    expr_infer(j->p);
    if (j->gradient) expr_derive(j->p, j->wanted, j->given, j->gradient);
}

int sc_compile_gradient(Prog *p, const sc_request *rq, const char *file, uint32_t wanted, uint32_t given,
                        sc_gradient *out, sc_err *err)
{
    Job j = {.p = p, .rq = rq, .file = file, .wanted = wanted, .given = given, .gradient = out};
    return prog_try(p, compile_gradient, &j, err);
}

static void add_text(sc_text *out, const sc_text *t)
{
    if (t->n) sc_text_addn(out, t->s, t->n);
}

static void print_stage(void *ctx)
{
    const Job *j = ctx;
    Prog *p = j->p;
    sc_text *out = j->out;
    if (!strcmp(j->stage, "index"))
        prog_print(p, out);
    else if (!strcmp(j->stage, "sums"))
        sums_print(p, out);
    else if (!strcmp(j->stage, "nest"))
        nest_print(p, p->draft.nest, out);
    else if (!strcmp(j->stage, "schedule"))
        add_text(out, &p->draft.chosen), sc_text_add(out, p->draft.chosen.n ? "\n" : "");
    else if (!strcmp(j->stage, "stmt"))
        stmt_print(p, p->draft.module, out);
    else if (!strcmp(j->stage, "c"))
        emit_module(p, p->draft.module, out);
    else if (!strcmp(j->stage, "plan"))
        plan_print(p, out);
    else if (!strcmp(j->stage, "orders"))
        orders_print(p, out);
    else if (!strcmp(j->stage, "why"))
        add_text(out, &p->draft.why), add_text(out, &p->draft.orders);
    else
        fail(p, SC_EVALUE, -1,
             "unknown stage '%s': expected index, sums, schedule, nest, stmt, c, plan, orders or why",
             j->stage);
}

int sc_compile_text(Prog *p, const char *stage, sc_text *out, sc_err *err)
{
    const int rc = prog_try(p, print_stage, &(Job){.p = p, .stage = stage, .out = out}, err);
    if (rc) return rc;
    return out->failed ? sc_error(err, SC_ENOMEM, "out of memory while printing") : SC_OK;
}

void sc_compile_free(Prog *p) { sc_arena_free(&p->arena); }
