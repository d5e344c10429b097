/* explain.c: what was decided and why, for people. */
#include "run.h"

#include <string.h>

static const char *way_name(const sc_program *p)
{
    static const char *const name[] = {
        "bundle: compiled when the library was built", "jit: compiled for this expression and CPU, cached",
        "executor: interpreted, tens to hundreds of times slower than compiled code"};
    return name[p->way];
}

/* What schedules were chosen by, and what becomes of a result. */
static void facts(const sc_program *p, const Tensor *x, sc_text *t)
{
    char name[400];
    int last = x->format.nlevel - 1;
    if (x->role == T_IN && last >= 0 && x->positions[last])
        sc_text_add(t, ", stores at most 2^%d values", x->positions[last]);
    if (x->like && x->shared < x->like->format.nlevel)
        sc_text_add(t, ", shares %d level%s of %s", x->shared, x->shared > 1 ? "s" : "", x->like->name);
    else if (x->like)
        sc_text_add(t, ", shares the structure of %s", x->like->name);
    if (x->role != T_OUT) return;
    sc_text_add(t, " (result");
    int r = x->arg - p->prog->nin;
    if (p->converts[r]) {
        sc_format_print(&p->result[r].format, name, sizeof name);
        sc_text_add(t, ", delivered as %s", name);
    }
    sc_text_add(t, ")");
}

static void formats(const sc_program *p, sc_text *t)
{
    const Prog *g = p->prog;
    for (int i = 0; i < g->ntensor; i++) {
        const Tensor *x = g->tensor[i];
        char levels[400];
        if (x->role == T_WORK || x->alias) continue;
        sc_format_print_levels(&x->format, levels, sizeof levels);
        sc_text_add(t, "  %s: %s, %s", x->name, sc_dtype_name(x->dtype), levels[0] ? levels : "scalar");
        if (!sc_format_is_dense(&x->format)) sc_text_add(t, ", indices %s", sc_dtype_name(x->itype));
        facts(p, x, t);
        sc_text_add(t, "\n");
    }
}

/* A stage that this program does not have is left out. */
static int section(const sc_program *p, sc_text *t, const char *title, const char *stage, sc_err *err)
{
    sc_err why = {0};
    sc_text part = {0};
    const int rc = sc_program_stage(p, stage, &part, &why);
    if (!rc && part.n) sc_text_add(t, "%s%s\n%s", t->n ? "\n" : "", title, part.s);
    sc_text_free(&part);
    return rc == SC_ENOMEM ? sc_error(err, rc, "%s", why.msg) : SC_OK;
}

static int decisions(const sc_program *p, sc_text *t, sc_err *err)
{
    if (section(p, t, "schedule", "schedule", err) ||
        section(p, t, p->prog->chosen.n ? "its loops" : "schedule", "nest", err) ||
        section(p, t, "plan", "plan", err))
        return err->code;
    sc_text_add(t, "\nruns by\n  %s\n", way_name(p));
    if (p->text) sc_text_add(t, "\nC\n%s", p->text);
    return SC_OK;
}

int sc_explain(const sc_program *p, sc_text *t, sc_err *err)
{
    int rc = section(p, t, "expression", "index", err);
    sc_text_add(t, "\nformats\n");
    formats(p, t);
    if (!rc) rc = section(p, t, "reasons", "why", err);
    sc_text_add(t, "costs are those of ");
    sc_speeds_print(p->prog->speeds, t);
    sc_text_add(t, "\n");
    if (!rc && !p->prog->converts) rc = decisions(p, t, err);
    return rc ? rc : t->failed ? sc_error(err, SC_ENOMEM, "out of memory while explaining") : SC_OK;
}
