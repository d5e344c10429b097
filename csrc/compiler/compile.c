/* compile.c: the list of passes, and the one way out of them.
 *
 *   parse -> check -> infer -> schedule -> lower -> simplify -> emit
 *
 * schedule tries what it finds through lowering, and keeps the first that comes through.
 * A pass that cannot go on calls fail(), which writes the message and jumps to
 * the setjmp below; that is legal because passes own nothing but arena memory. */
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
        p->nest = nest_parse(p, rq->schedule, 0, NULL);
}

static void middle(Prog *p)
{
    check(p);
    infer(p);
    if (p->nest)
        lower_nest(p);
    else
        schedule(p);
}

static void start(Prog *p, jmp_buf *escape, sc_err *err)
{
    p->err = err;
    p->escape = escape;
    p->arena.nomem = out_of_memory;
    p->arena.ctx = p;
}

int sc_compile(Prog *p, const sc_request *rq, const char *file, int vector_bytes, sc_err *err)
{
    jmp_buf escape;
    start(p, &escape, err);
    p->vector_bytes = vector_bytes;
    p->vector_regs = vector_bytes == 64 ? 32 : 16;
    if (setjmp(escape)) return err->code;
    if (file)
        file_parse(p, file);
    else
        front(p, rq);
    middle(p);
    if (p->why.failed || p->orders.failed || p->chosen.failed) out_of_memory(p);
    return SC_OK;
}

int sc_compile_gradient(Prog *p, const sc_request *rq, const char *file, uint32_t wanted, uint32_t given,
                        sc_gradient *out, sc_err *err)
{
    jmp_buf escape;
    start(p, &escape, err);
    if (setjmp(escape)) return err->code;
    if (file)
        file_parse(p, file);
    else
        front(p, rq);
    check(p);
    infer(p);
    if (out) derive(p, wanted, given, out);
    return SC_OK;
}

int sc_compile_text(Prog *p, const char *stage, sc_text *out, sc_err *err)
{
    jmp_buf escape;
    p->err = err;
    p->escape = &escape;
    if (setjmp(escape)) return err->code;
    if (!strcmp(stage, "index"))
        prog_print(p, out);
    else if (!strcmp(stage, "sums"))
        sums_print(p, out);
    else if (!strcmp(stage, "nest"))
        nest_print(p, p->nest, out);
    else if (!strcmp(stage, "schedule"))
        sc_text_add(out, p->chosen.n ? "%s\n" : "%s", p->chosen.n ? p->chosen.s : "");
    else if (!strcmp(stage, "stmt"))
        stmt_print(p, p->module, out);
    else if (!strcmp(stage, "c"))
        emit(p, p->module, out);
    else if (!strcmp(stage, "plan"))
        plan_print(p, out);
    else if (!strcmp(stage, "orders"))
        orders_print(p, out);
    else if (!strcmp(stage, "why"))
        sc_text_add(out, "%s%s", p->why.s ? p->why.s : "", p->orders.s ? p->orders.s : "");
    else
        return sc_error(
            err, SC_EVALUE,
            "unknown stage '%s': expected index, sums, schedule, nest, stmt, c, plan, orders or why", stage);
    return out->failed ? sc_error(err, SC_ENOMEM, "out of memory while printing") : SC_OK;
}

void sc_compile_free(Prog *p)
{
    sc_text_free(&p->why);
    sc_text_free(&p->orders);
    sc_text_free(&p->chosen);
    sc_arena_free(&p->arena);
}
