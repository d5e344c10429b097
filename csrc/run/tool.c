/* tool.c: .sc files, printed stage by stage or tried against the oracle. A program that wants operands in other
 * formats is tried in those: what the bindings do by conversion. */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#include "run.h"

void sc_tool_free(Prog *p)
{
    if (p) sc_compile_free(p);
    free(p);
}

/* A stage that was never reached because of a conversion has no text. */
static int refuse_conversion(const Prog *p, sc_err *err)
{
    char format[200];
    for (int k = 0; k < p->nin; k++) {
        if (!p->draft.convert[k].nlevel) continue;
        sc_format_print(&p->draft.convert[k], format, sizeof format);
        return sc_error(err, SC_ENOTIMPL, "%s is wanted as %s: give it in that format", p->tensor[k]->name,
                        format);
    }
    return SC_OK;
}

/* The steps that the program is taken in; of one, the program itself. */
static int emit_path(const char *text, int width, sc_text *out, sc_err *err)
{
    const Path *path;
    Prog *p = sc_zalloc(sizeof *p);
    if (!p) return sc_error(err, SC_ENOMEM, "out of memory");
    int rc = sc_compile_path(p, NULL, text, width, &path, err);
    if (!rc && path) path_print(path, out);
    if (!rc && !path) rc = sc_compile_text(p, "index", out, err);
    sc_tool_free(p);
    return rc;
}

int sc_tool_emit(const char *text, const char *stage, int width, sc_text *out, sc_err *err)
{
    if (!strcmp(stage, "gradient")) return sc_tool_gradient(text, out, err);
    if (!strcmp(stage, "path")) return emit_path(text, width, out, err);
    Prog *p = sc_zalloc(sizeof *p);
    if (!p) return sc_error(err, SC_ENOMEM, "out of memory");
    int rc = sc_compile(p, NULL, text, width, err);
    if (!rc && strcmp(stage, "index") && strcmp(stage, "why") && strcmp(stage, "orders") &&
        strcmp(stage, "schedule"))
        rc = refuse_conversion(p, err);
    if (!rc) rc = sc_compile_text(p, stage, out, err);
    sc_tool_free(p);
    return rc;
}

/* ---- programs that convert ---- */
/* Operand k as the program wants it; derived structures keep the values where they are. */
static void wanted(const Prog *p, int k, sc_spec *s)
{
    const Tensor *t = p->tensor[k];
    const sc_format *f = &p->draft.convert[k];
    tensor_spec(t, s);
    if (!f->nlevel) return;
    s->format = *f;
    bool dense = sc_format_is_dense(f), given = !sc_format_is_dense(&t->format);
    if (!given) s->itype = SC_I32;
    s->unit = dense ? f->level[f->nlevel - 1].dim : -1;
    s->perm = given && !dense;
    memset(s->positions, 0, sizeof s->positions);
    s->even = false;
    s->skew = 0;
}

/* The program of *p for converted operands, in its place. */
static int converted(Prog **p, int width, sc_err *err)
{
    sc_text index = {0};
    sc_request *rq = sc_zalloc(sizeof *rq);
    Prog *old = *p, *g = sc_zalloc(sizeof *g);
    int rc = rq && g ? sc_compile_text(old, "index", &index, err) : sc_error(err, SC_ENOMEM, "out of memory");
    if (!rc) {
        rq->text = index.s;
        rq->schedule = old->wishes;
        rq->settled = old->settled;
        rq->skip = old->skip;
        rq->nofold = old->nofold;
        rq->nin = old->nin;
        rq->nask = old->nout;
        for (int k = 0; k < old->nin; k++) {
            wanted(old, k, &rq->in[k]);
            if (old->draft.convert[k].nlevel) rq->settled |= 1u << k;
            memcpy(rq->dim[k], old->tensor[k]->extent, sizeof rq->dim[k]);
        }
        for (int k = 0; k < old->nin; k++)
            if (rq->settled >> k & 1) sc_request_apart(rq, k);
        for (int r = 0; r < old->nout; r++)
            rq->ask[r] = old->ask[r].nlevel ? old->ask[r] : prog_result(old, r)->format;
        memcpy(rq->ask_like, old->ask_like, sizeof rq->ask_like);
        rq->wide = old->wide;
        rq->narrow = old->narrow;
        rc = sc_compile(g, rq, NULL, width, err);
    }
    sc_text_free(&index);
    free(rq);
    sc_tool_free(old);
    *p = g;
    return rc;
}

int sc_tool_compile(const char *text, int width, Prog **out, sc_err *err)
{
    Prog *p = sc_zalloc(sizeof *p);
    int rc = p ? sc_compile(p, NULL, text, width, err) : sc_error(err, SC_ENOMEM, "out of memory");
    for (int round = 0; !rc && p->draft.converts && round < SC_MAXOP; round++) rc = converted(&p, width, err);
    if (!rc) rc = refuse_conversion(p, err);
    *out = rc ? NULL : p;
    if (rc) sc_tool_free(p);
    return rc;
}

int sc_tool_width(void)
{
    sc_target host;
    sc_target_host(&host);
    return host.vector_bytes;
}

int sc_tool_run(const char *text, int width, bool jit, uint64_t seed, sc_err *err)
{
    Prog *p;
    int rc = sc_tool_compile(text, width, &p, err);
    if (rc) return rc;
    rc = sc_trial(p, jit, width, seed, err);
    sc_tool_free(p);
    return rc;
}
