/* plan_text.c: the plan as text. */
#include "private.h"

static void size_print(const Prog *p, const char *what, const sc_size *s, sc_text *out)
{
    if (!s->bytes) return;
    sc_text_add(out, " %s %lld", what, (long long)s->bytes);
    for (int i = 0; i < s->n; i++) {
        sc_text_add(out, "*%s", p->var[s->var[i]].name);
        if (s->div[i] > 1) sc_text_add(out, "/%d", s->div[i]);
    }
}

static void bound_print(const Prog *p, const sc_step *s, sc_text *out)
{
    for (int k = 0; k < s->nbound; k++) {
        sc_text_add(out, k ? " + " : " appends at most ");
        const char *between = "";
        for (uint32_t rest = s->bound[k]; rest; rest &= rest - 1, between = " & ")
            sc_text_add(out, "%s%s", between, p->tensor[__builtin_ctz(rest)]->name);
    }
}

/* Of results that are not delivered as kernels make them. */
static void conversions_print(const Prog *p, sc_text *out)
{
    for (int r = 0; r < p->nout; r++) {
        const Tensor *t = prog_result(p, r);
        char from[400], to[400];
        if (!p->ask[r].nlevel || sc_format_equal(&p->ask[r], &t->format)) continue;
        sc_format_print(&t->format, from, sizeof from);
        sc_format_print(&p->ask[r], to, sizeof to);
        sc_text_add(out, "convert %s from %s to %s\n", t->name, from, to);
    }
}

void plan_print(const Prog *p, sc_text *out)
{
    static const char *const op[] = {"fill", "kernel", "alloc"};
    static const char *const strategy[] = {"serial", "own", "split", "private"};
    for (int i = 0; i < p->draft.plan.nstep; i++) {
        const sc_step *s = &p->draft.plan.step[i];
        sc_text_add(out, "%s", s->bare ? "take" : op[s->op]);
        if (s->op == SC_STEP_KERNEL) {
            sc_text_add(out, " %s %s", p->draft.module->entry[s->entry].name, strategy[s->strategy]);
            if (s->strategy == SC_SPLIT) sc_text_add(out, " %s", p->draft.module->entry[s->part].name);
            if (s->strategy == SC_SPLIT && s->finish)
                sc_text_add(out, " %s", p->draft.module->entry[s->finish].name);
            if (s->arg >= 0)
                sc_text_add(out, " over %s level %d%s", p->tensor[s->arg]->name, s->level,
                            s->snap ? " snapped" : "");
            else if (s->var >= 0)
                sc_text_add(out, " over %s", p->var[s->var].name);
            if (s->block > 1) sc_text_add(out, "/%d", s->block);
            if (s->coords) sc_text_add(out, " by coordinate");
        } else if (s->out >= 0) {
            sc_text_add(out, " result %d", s->out);
        }
        if ((s->op == SC_STEP_FILL && !s->bare) || s->strategy == SC_PRIVATE)
            sc_text_add(out, " with %g", s->fill);
        if (s->sums) sc_text_add(out, " by the lanes of slot %d", s->sums - 1);
        size_print(p, "work", &s->work, out);
        if (s->entries) sc_text_add(out, " an entry of %s", p->tensor[s->entries - 1]->name);
        size_print(p, "shared", &s->shared, out);
        size_print(p, "partial", &s->partial, out);
        bound_print(p, s, out);
        if (s->most) sc_text_add(out, " unless %s", p->draft.module->entry[s->most].name);
        for (int k = 0; k < s->nscratch; k++) size_print(p, "scratch", &s->scratch[k], out);
        if (s->hash) sc_text_add(out, " slots %d", s->hash);
        if (s->slot) sc_text_add(out, " slot %d", s->slot);
        sc_text_add(out, "\n");
    }
    conversions_print(p, out);
}
