/* tool.c: .sc files, printed stage by stage or tried against the oracle. */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#include "run.h"

/* Converting is the caller's job, and a file has no caller. */
static int refuse_conversion(const Prog *p, sc_err *err)
{
    char format[200];
    for (int k = 0; k < p->nin; k++) {
        if (!p->convert[k].nlevel) continue;
        sc_format_print(&p->convert[k], format, sizeof format);
        return sc_error(err, SC_ENOTIMPL, "%s is wanted as %s: give it in that format", p->tensor[k]->name,
                        format);
    }
    return SC_OK;
}

int sc_tool_emit(const char *text, const char *stage, int width, sc_text *out, sc_err *err)
{
    Prog *p = sc_zalloc(sizeof *p);
    if (!p) return sc_error(err, SC_ENOMEM, "out of memory");
    int rc = sc_compile(p, NULL, text, width, err);
    if (!rc && strcmp(stage, "index") && strcmp(stage, "why")) rc = refuse_conversion(p, err);
    if (!rc) rc = sc_compile_text(p, stage, out, err);
    sc_compile_free(p);
    free(p);
    return rc;
}

int sc_tool_run(const char *text, int width, bool jit, uint64_t seed, sc_err *err)
{
    Prog *p = sc_zalloc(sizeof *p);
    int rc = p ? sc_compile(p, NULL, text, width, err) : sc_error(err, SC_ENOMEM, "out of memory");
    if (!rc) rc = refuse_conversion(p, err);
    if (!rc) rc = sc_trial(p, jit, width, seed, err);
    if (p) sc_compile_free(p);
    free(p);
    return rc;
}
