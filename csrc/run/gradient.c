/* gradient.c: what follows from a text alone: the program of the gradients, that over the parts of composed operands,
 * and what the results are. */
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "tool.h"

void sc_gradient_free(sc_gradient *g)
{
    free((char *)(uintptr_t)g->request.text);
    g->request.text = NULL;
}

int sc_gradient_make(const sc_request *rq, uint32_t wanted, uint32_t given, sc_gradient *out, sc_err *err)
{
    Prog *p = sc_zalloc(sizeof *p);
    if (!p) return sc_error(err, SC_ENOMEM, "out of memory");
    int rc = sc_compile_gradient(p, rq, NULL, wanted, given, out, err);
    sc_compile_free(p);
    free(p);
    return rc;
}

int sc_outcomes(const sc_request *rq, int *n, sc_outcome *out, sc_err *err)
{
    Prog *p = sc_zalloc(sizeof *p);
    if (!p) return sc_error(err, SC_ENOMEM, "out of memory");
    int rc = sc_compile_gradient(p, rq, NULL, 0, 0, NULL, err);
    *n = rc ? 0 : p->nout - p->nhidden;
    for (int r = 0; r < *n; r++) sc_compile_outcome(p, r, &out[r]);
    sc_compile_free(p);
    free(p);
    return rc;
}

void sc_composed_free(sc_composed *c)
{
    free(c->text);
    c->text = NULL;
}

int sc_compose(const sc_request *rq, const uint8_t *parts, sc_composed *out, sc_err *err)
{
    Prog *p = sc_zalloc(sizeof *p);
    if (!p) return sc_error(err, SC_ENOMEM, "out of memory");
    int rc = sc_compile_composed(p, rq, parts, out, err);
    sc_compile_free(p);
    free(p);
    return rc;
}

/* ---- as an .sc file ---- */
static void print_operand(const sc_request *rq, int k, sc_text *out)
{
    const sc_spec *s = &rq->in[k];
    char format[512];
    sc_format_print(&s->format, format, sizeof format);
    const bool dense = sc_format_is_dense(&s->format);
    sc_text_add(out, "in %s: %s \"%s\"%s%s (", s->name, sc_dtype_name(s->dtype), format, dense ? "" : " ",
                dense ? "" : sc_dtype_name(s->itype));
    for (int d = 0; d < s->format.ndim; d++)
        sc_text_add(out, "%s%lld", d ? ", " : "", (long long)rq->dim[k][d]);
    sc_text_add(out, ")\n");
}

int sc_tool_gradient(const char *text, sc_text *out, sc_err *err)
{
    sc_gradient g;
    Prog *p = sc_zalloc(sizeof *p);
    if (!p) return sc_error(err, SC_ENOMEM, "out of memory");
    int rc = sc_compile_gradient(p, NULL, text, UINT32_MAX, UINT32_MAX, &g, err);
    if (!rc) {
        const sc_request *rq = &g.request;
        for (int k = 0; k < rq->nin; k++) print_operand(rq, k, out);
        for (int r = 0; r < g.nresult; r++)
            if (rq->ask_like[g.result[r].number])
                sc_text_add(out, "out %s: like %s\n", g.result[r].name,
                            rq->in[rq->ask_like[g.result[r].number] - 1].name);
        if (rq->skip) sc_text_add(out, "skip\n");
        for (const char *s = rq->text; *s; s++) /* a line each */
            sc_text_addn(out, *s == ';' ? "\n" : s, *s == ' ' && s > rq->text && s[-1] == ';' ? 0 : 1);
        sc_text_add(out, "\n");
        sc_gradient_free(&g);
    }
    sc_compile_free(p);
    free(p);
    return rc;
}
