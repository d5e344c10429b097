/* stage.c: a stage of the compiler as text, with the conversion at the end of a plan. */
#include "run.h"

#include <string.h>

int sc_print_stage(Prog *g, const char *stage, sc_text *out, sc_err *err)
{
    int rc = sc_compile_text(g, stage, out, err);
    for (int r = 0; !rc && !strcmp(stage, "plan") && r < g->nout; r++) {
        const Tensor *t = prog_result(g, r);
        char from[400], to[400];
        if (!g->ask[r].nlevel || sc_format_equal(&g->ask[r], &t->format)) continue;
        sc_format_print(&t->format, from, sizeof from);
        sc_format_print(&g->ask[r], to, sizeof to);
        sc_text_add(out, "convert %s from %s to %s\n", t->name, from, to);
    }
    return rc;
}
