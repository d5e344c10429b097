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
    const int r = x->arg - p->nin;
    sc_text_add(t, r < p->nout ? " (result" : " (inside");
    if (r < p->nout && p->result[r].converts) {
        sc_format_print(&p->result[r].spec.format, name, sizeof name);
        sc_text_add(t, ", delivered as %s", name);
    }
    sc_text_add(t, ")");
}

static void formats(const Prog *g, const sc_program *p, sc_text *t)
{
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

static void section(Prog *g, sc_text *t, const char *title, const char *stage)
{
    sc_err err = {0};
    sc_text part = {0};
    if (!sc_compile_text(g, stage, &part, &err) && part.n) sc_text_add(t, "\n%s\n%s", title, part.s);
    t->failed |= err.code == SC_ENOMEM;
    sc_text_free(&part);
}

int sc_explain(Prog *g, const sc_program *p, sc_text *out, sc_err *err)
{
    sc_text t = {0};
    section(g, &t, "expression", "index");
    sc_text_add(&t, "\nformats\n");
    formats(g, p, &t);
    section(g, &t, "reasons", "why");
    sc_text_add(&t, "costs are those of ");
    sc_speeds_print(g->speeds, &t);
    sc_text_add(&t, "\n");
    if (!g->draft.converts) {
        section(g, &t, "schedule", "schedule");
        section(g, &t, g->draft.chosen.n ? "its loops" : "schedule", "nest");
        section(g, &t, "plan", "plan");
        sc_text_add(&t, "\nruns by\n  %s\n", way_name(p));
        section(g, &t, "C", "c");
    }
    const bool failed = t.failed;
    if (!failed) sc_text_addn(out, t.s + 1, t.n - 1); /* from behind the first, empty line */
    sc_text_free(&t);
    return failed || out->failed ? sc_error(err, SC_ENOMEM, "out of memory while explaining") : SC_OK;
}
