/* graph.c: a call that a graph of torch.compile makes, of component arrays and dense tensors.
 *
 * What arrives here may come from anybody and lasts no longer than the call, so structure is validated, which is done
 * once for all arrays of one fingerprint. Arrays of results are tensors of torch; the memory of a dense result is the
 * caller's. */
#include "torch_graph.h"

#include <stdatomic.h>
#include <string.h>

#define torch sc_torch

/* ---- memory: handles, one an array ---- */
typedef struct {
    int n;
    AtenTensorHandle array[SC_MAXARRAY];
    const void *data[SC_MAXARRAY];
    int64_t size[SC_MAXARRAY];
} sink;

static void *sink_alloc(void *ctx, int what, int level, sc_dtype t, int64_t n)
{
    static char nothing[64];
    sink *s = ctx;
    void *p = NULL;
    (void)what, (void)level;
    if (s->n == SC_MAXARRAY || !(s->array[s->n] = sc_torch_empty(t, 1, &n))) return NULL;
    bool failed = torch.aoti_torch_get_data_ptr(s->array[s->n], &p);
    s->size[s->n] = n;
    s->data[s->n++] = p;
    return failed ? NULL : p ? p : nothing;
}

static void sink_clear(sink *s)
{
    while (s->n) sc_torch_drop(&s->array[--s->n]);
}

/* ---- a call ---- */
typedef struct {
    sc_tensor t;
    sink made; /* what the run allocated */
    int n;
    AtenTensorHandle array[SC_MAXCOMP]; /* what is returned */
} result;

/* As large as the limits are, so its memory is kept between calls and what is behind `in` is not cleared: what is read
 * there was written by the call. */
typedef struct {
    sc_err e;
    const sc_graph_call *given;
    size_t next, nextsize; /* operand tensors and sizes consumed so far */
    sc_template *template;
    sc_program *prog;
    int nresult;
    uint32_t like; /* results of which a graph takes values alone */
    result *result;
    sc_kept *kept[SC_MAXOP]; /* layouts of converted sparse operands */
    sc_tensor in[SC_MAXOP];
    sc_tensor before[SC_MAXOP]; /* conversion */
    sink temp[SC_MAXOP];        /* of converted dense operands; n is 0 at first */
    sc_digest key[SC_MAXOP];    /* of the structures of sparse operands */
    sc_request request;
} graph;

static graph *begin(void)
{
    graph *c = sc_work_take(sizeof *c);
    if (!c) return NULL;
    memset(c, 0, offsetof(graph, in));
    for (int k = 0; k < SC_MAXOP; k++) c->temp[k].n = 0;
    return c;
}

static int broken(graph *c) { return sc_torch_broken(&c->e); }

static const sc_tensor *next_tensor(graph *c)
{
    if (c->next < c->given->noperand) return &c->given->operand[c->next++];
    sc_error(&c->e, SC_EVALUE, "expected more operand tensors than %d", (int)c->given->noperand);
    return NULL;
}

/* One component array; its length goes to *n. */
static int component(graph *c, sc_tensor *t, const void **data, int64_t *n, bool values)
{
    const sc_tensor *x = next_tensor(c);
    if (!x) return c->e.code;
    if (x->format.ndim != 1 || (x->view.dim[0] > 1 && x->view.stride[0] != 1))
        return sc_error(
            &c->e, SC_EVALUE,
            "operand tensor %d: expected a contiguous array of one dimension, got %d dimensions with "
            "other strides: call .contiguous() or .reshape(-1)",
            (int)c->next - 1, x->format.ndim);
    if (!values && x->dtype != SC_I32 && x->dtype != SC_I64)
        return sc_error(&c->e, SC_ETYPE,
                        "operand tensor %d: expected int32 or int64 indices, got %s: cast with .to()",
                        (int)c->next - 1, sc_dtype_name(x->dtype));
    if (!values && *n >= 0 && x->dtype != t->itype)
        return sc_error(
            &c->e, SC_ETYPE,
            "operand tensor %d: expected the index type of the others (%s), got %s: cast with .to()",
            (int)c->next - 1, sc_dtype_name(t->itype), sc_dtype_name(x->dtype));
    *(values ? &t->dtype : &t->itype) = x->dtype;
    *data = x->view.val;
    *n = x->view.dim[0];
    return 0;
}

static int take_sizes(graph *c, sc_tensor *t)
{
    for (int i = 0; i < t->format.ndim; i++) {
        if (c->nextsize == c->given->nsize)
            return sc_error(&c->e, SC_EVALUE, "expected more than %d sizes", (int)c->given->nsize);
        if ((t->view.dim[i] = c->given->size[c->nextsize++]) < 0)
            return sc_error(&c->e, SC_EVALUE, "expected sizes that are not negative");
    }
    return 0;
}

/* Of the bytes of operand tensor i. */
static sc_digest digest_of(graph *c, size_t i, const void *data, size_t size)
{
    sc_bytes *b = &c->given->bytes[i];
    if (!b->known) *b = (sc_bytes){sc_fingerprint(data, size), true};
    return b->digest;
}

/* Its arrays are the operand tensors from `first` on. */
static sc_digest structure(graph *c, const sc_tensor *t, size_t first, const int64_t *length)
{
    const size_t size = sc_dtype_size(t->itype);
    sc_digest part[SC_MAXCOMP + 2] = {sc_fingerprint(&t->format, sizeof t->format),
                                      sc_fingerprint(t->view.dim, sizeof t->view.dim)};
    int n = 0;
    part[1].low += size;
    for (int l = 0; l < t->format.nlevel; l++) {
        const sc_level *at = &t->view.level[l];
        if (sc_level_has_pos(&t->format.level[l]))
            part[2 + n] = digest_of(c, first + (size_t)n, at->pos, size * (size_t)length[n]), n++;
        if (sc_level_has_crd(&t->format.level[l]))
            part[2 + n] = digest_of(c, first + (size_t)n, at->crd, size * (size_t)length[n]), n++;
    }
    return sc_fingerprint(part, (size_t)(2 + n) * sizeof *part);
}

static int validate(graph *c, sc_tensor *t, size_t first, const int64_t *length)
{
    const sc_digest key = c->key[t - c->in] = structure(c, t, first, length);
    if (sc_seen_valid(key, t)) return 0;
    if (!sc_validate(t, &c->e)) sc_seen_note(key, t);
    return c->e.code;
}

static int next_sparse(graph *c, const sc_format *f, sc_tensor *t)
{
    int64_t length[SC_MAXCOMP], seen = -1;
    const size_t first = c->next;
    int n = 0;
    const void *values;
    memset(t, 0, sizeof *t);
    t->format = *f;
    t->itype = SC_I64;
    if (take_sizes(c, t)) return c->e.code;
    for (int l = 0; l < f->nlevel; l++) {
        sc_level *at = &t->view.level[l];
        if (sc_level_has_pos(&f->level[l]) && component(c, t, &at->pos, &seen, false)) return c->e.code;
        if (sc_level_has_pos(&f->level[l])) length[n++] = seen;
        if (sc_level_has_crd(&f->level[l]) && component(c, t, &at->crd, &seen, false)) return c->e.code;
        if (sc_level_has_crd(&f->level[l])) length[n++] = seen;
    }
    if (component(c, t, &values, &length[n], true)) return c->e.code;
    t->view.val = (void *)(uintptr_t)values;
    return sc_bind_layout(t, length, n + 1, &c->e) ? c->e.code : validate(c, t, first, length);
}

/* Of layouts for operands that are multiplied often, those that read values where they are: others would look at all of
 * them in each call. */
static void count_products(graph *c)
{
    for (int k = 0; k < c->request.nin; k++)
        if (c->template->sparse[k])
            c->request.in[k].often =
                sc_seen_often(c->key[k], sc_bind_products(c->in, c->request.nin, k), &c->in[k]);
}

static int next_dense(graph *c, sc_tensor *t)
{
    const sc_tensor *x = next_tensor(c);
    if (x) *t = *x;
    return c->e.code;
}

static int load(graph *c)
{
    const sc_template *t = c->template = sc_template_get(c->given->text, c->given->length, &c->e);
    if (!t) return c->e.code;
    sc_request_copy(&c->request, &t->request);
    for (int k = 0; k < t->request.nin; k++) {
        if (t->sparse[k] ? next_sparse(c, &t->request.in[k].format, &c->in[k]) : next_dense(c, &c->in[k]))
            return c->e.code;
        sc_request_operand(&c->request, k, &c->in[k]);
    }
    count_products(c);
    sc_request_twins(&c->request, c->in);
    if (c->next == c->given->noperand) return SC_OK;
    return sc_error(&c->e, SC_EVALUE, "expected %d operand tensors, got %d", (int)c->next,
                    (int)c->given->noperand);
}

/* ---- operands in the layouts the program wants ---- */
/* A sparse result is asked for in dense form: 1 if that changes the request. */
static int ask_dense(graph *c)
{
    char all[] = "dense";
    if (sc_program_nreturned(c->prog) != 1)
        return sc_error(&c->e, SC_ENOTIMPL, "expected a program of one result"), 0;
    const sc_format *f = &sc_program_result(c->prog, 0)->format;
    if (sc_format_is_dense(f)) return 0;
    c->request.nask = 1;
    return !sc_format_parse(&c->request.ask[0], all, f->ndim, &c->e);
}

/* Sparse operand k in another layout, which is held at place `at`. */
static int derive(graph *c, int k, int at, const sc_format *f, sc_tensor *to)
{
    if (!(c->kept[at] = sc_kept_derive(c->key[k], &c->in[k], f, &c->e))) return c->e.code;
    *to = c->kept[at]->t;
    to->dtype = c->in[k].dtype;
    if (c->kept[at]->same || to->view.perm) to->view.val = c->in[k].view.val;
    return 0;
}

static int convert(graph *c, int k, const sc_format *f)
{
    sc_tensor to = {.format = *f, .itype = SC_I32};
    c->before[k] = c->in[k];
    if (sc_format_is_dense(&c->in[k].format)) {
        if (sc_convert(&c->in[k], &to, sink_alloc, &c->temp[k], NULL, &c->e)) return c->e.code;
    } else if (derive(c, k, k, f, &to)) {
        return c->e.code;
    }
    c->in[k] = to;
    sc_request_converted(&c->request, k, &to);
    return 0;
}

/* Operands in the other layouts that steps of the program read, behind the operands. */
static int load_extra(graph *c)
{
    const sc_format *f;
    for (int j = 0, k; (f = sc_program_extra(c->prog, j, &k)); j++) {
        const int to = c->request.nin + j;
        if (to >= SC_MAXOP) return sc_error(&c->e, SC_EINTERNAL, "no room for a layout");
        if (derive(c, k, to, f, &c->in[to])) return c->e.code;
    }
    return SC_OK;
}

/* 1 if any was converted. */
static int convert_all(graph *c)
{
    int changed = 0;
    for (int k = 0; k < c->request.nin && !c->e.code; k++) {
        const sc_format *f = sc_program_convert(c->prog, k);
        if (!f || sc_format_equal(f, &c->in[k].format)) continue;
        if (c->temp[k].n || c->kept[k])
            return sc_error(&c->e, SC_EINTERNAL, "operand %d is wanted in one layout after the other", k), 0;
        if (!changed++) sc_bind_ask(&c->request, c->prog);
        convert(c, k, f);
    }
    for (int r = 0; changed && r < c->request.nask; r++) {
        int k = c->request.ask_like[r] - 1;
        if (k >= 0 && c->kept[k] && (c->kept[k]->perm || c->kept[k]->same))
            c->request.ask[r] = c->in[k].format; /* put back after the run */
    }
    return changed;
}

/* ---- what graphs know of results ---- */
struct sc_declared {
    sc_dtype type[SC_MAXOP]; /* of the operands */
    uint32_t like;
};

static bool has_twins(const sc_request *rq)
{
    bool any = false;
    for (int k = 0; k < rq->nin; k++) any |= rq->in[k].twin != 0;
    return any;
}

/* From formats and types alone, as when a graph is made. */
static struct sc_declared *declare(graph *c)
{
    sc_outcome out[SC_MAXOP];
    int n;
    struct sc_declared *d = sc_zalloc(sizeof *d);
    sc_request *rq = sc_malloc(sizeof *rq);
    if (!d || !rq) return free(d), free(rq), sc_error(&c->e, SC_ENOMEM, "out of memory"), NULL;
    sc_request_copy(rq, &c->template->request);
    int rc = SC_OK;
    for (int k = 0; k < rq->nin && !rc; k++) {
        const sc_spec *given = &c->request.in[k];
        d->type[k] = given->dtype;
        rc = sc_template_operand(c->template, k, given->format.ndim, given->dtype, rq, &c->e);
    }
    if (!rc) rc = sc_outcomes(rq, &n, out, &c->e);
    for (int r = 0; !rc && r < n; r++) d->like |= (uint32_t)(out[r].like >= 0) << r;
    free(rq);
    if (!rc) return d;
    free(d);
    return NULL;
}

/* A graph does not know which operands have one structure. What a result is like only where they do, is found without
 * that once for a program string. */
static int look_like(graph *c)
{
    c->like = UINT32_MAX;
    if (!has_twins(&c->request)) return 0;
    struct sc_declared *d = atomic_load(&c->template->declared), *none = NULL;
    bool same = d != NULL;
    for (int k = 0; same && k < c->request.nin; k++) same = d->type[k] == c->request.in[k].dtype;
    if (!same && !(d = declare(c))) return c->e.code;
    c->like = d->like;
    if (!same && !atomic_compare_exchange_strong(&c->template->declared, &none, d)) free(d);
    return c->e.code;
}

static int settle(graph *c)
{
    if (look_like(c)) return c->e.code;
    for (int round = 0; round < SC_MAXOP; round++) {
        sc_program_release(c->prog);
        c->prog = NULL;
        if (sc_program_get(&c->request, &c->prog, NULL, &c->e)) return c->e.code;
        int changed = c->given->room ? ask_dense(c) : 0;
        if (!c->e.code) changed |= convert_all(c);
        if (!changed || c->e.code) return c->e.code;
    }
    return sc_error(&c->e, SC_EINTERNAL, "the layouts of this program do not settle");
}

/* ---- results ---- */
static AtenTensorHandle *add_array(result *r) { return &r->array[r->n++]; }

static int place_dense(graph *c, result *r, bool own)
{
    sc_tensor *t = &r->t;
    if (!own) {
        AtenTensorHandle *h = add_array(r);
        if (!(*h = sc_torch_empty(t->dtype, t->format.ndim, t->view.dim)))
            return sc_error(&c->e, SC_ENOMEM, "out of memory");
        return sc_torch_view(*h, t, &c->e);
    }
    sc_bind_contiguous(t);
    t->view.val = c->given->room(c->given->ctx, t->dtype, t->format.ndim, t->view.dim);
    return t->view.val ? SC_OK : sc_error(&c->e, SC_ENOMEM, "out of memory");
}

static int place(graph *c)
{
    c->nresult = sc_program_nresult(c->prog);
    c->result = sc_zalloc((size_t)c->nresult * sizeof *c->result);
    if (!c->result) return sc_error(&c->e, SC_ENOMEM, "out of memory");
    for (int k = 0; k < c->nresult; k++) {
        const sc_spec *spec = sc_program_result(c->prog, k);
        result *r = &c->result[k];
        r->t.format = spec->format;
        r->t.dtype = spec->dtype;
        r->t.itype = spec->itype;
        sc_program_shape(c->prog, k, c->in, r->t.view.dim);
        if (sc_format_is_dense(&spec->format) && place_dense(c, r, !k && c->given->room)) return c->e.code;
    }
    return SC_OK;
}

/* One array of a sparse result as a tensor of its own: the run's, or a copy where it is an operand's, or part of a
 * larger one. */
static int take(graph *c, result *r, const void *p, sc_dtype type, int64_t n)
{
    AtenTensorHandle *h = add_array(r);
    void *to = NULL;
    for (int i = 0; n && i < r->made.n; i++)
        if (r->made.array[i] && r->made.data[i] == p && r->made.size[i] == n) {
            *h = r->made.array[i];
            r->made.array[i] = NULL;
            return 0;
        }
    if (!(*h = sc_torch_empty(type, 1, &n))) return sc_error(&c->e, SC_ENOMEM, "out of memory");
    if (torch.aoti_torch_get_data_ptr(*h, &to)) return broken(c);
    if (n) memcpy(to, p, (size_t)n * sc_dtype_size(type));
    return 0;
}

static int take_components(graph *c, result *r)
{
    const sc_tensor *t = &r->t;
    int64_t above = 1;
    for (int l = 0; l < t->format.nlevel; above = t->view.level[l++].npos) {
        const sc_level *at = &t->view.level[l];
        const sc_levelspec *spec = &t->format.level[l];
        if (sc_level_has_pos(spec) && take(c, r, at->pos, t->itype, sc_pos_length(spec, at->size, above)))
            return c->e.code;
        if (sc_level_has_crd(spec) &&
            take(c, r, at->crd, t->itype, sc_crd_length(spec, at->size, above, at->npos)))
            return c->e.code;
    }
    return take(c, r, t->view.val, t->dtype, t->view.nval);
}

/* A result that is like operand k, in the order of the operand as it was given. */
static int put_back(graph *c, result *r, int k)
{
    const sc_kept *kept = c->kept[k];
    if (kept) {
        if (!kept->perm && !kept->same)
            return sc_error(&c->e, SC_ENOTIMPL, "operand %d stores entries twice: coalesce it first", k);
        void *val =
            kept->same ? r->t.view.val : sink_alloc(&r->made, SC_VAL, -1, r->t.dtype, c->before[k].view.nval);
        if (!val && c->before[k].view.nval) return sc_error(&c->e, SC_ENOMEM, "out of memory");
        sc_bind_restore(&r->t, &c->before[k], kept->perm, kept->ptype, val);
    }
    return 0;
}

static int deliver(graph *c, int k)
{
    const int like = sc_program_like(c->prog, k);
    result *r = &c->result[k];
    if (sc_format_is_dense(&sc_program_result(c->prog, k)->format)) return 0;
    if (like >= 0 && put_back(c, r, like)) return c->e.code;
    if (like < 0 || !(c->like >> k & 1)) return take_components(c, r);
    return take(c, r, r->t.view.val, r->t.dtype, r->t.view.nval);
}

static int execute(graph *c)
{
    void *ctx[SC_MAXOP];
    sc_tensor out[SC_MAXOP];
    if (load_extra(c) || place(c)) return c->e.code;
    for (int k = 0; k < c->nresult; k++) ctx[k] = &c->result[k].made, out[k] = c->result[k].t;
    if (sc_program_run(c->prog, c->in, out, sink_alloc, ctx, &c->e)) return c->e.code;
    for (int k = 0; k < sc_program_nreturned(c->prog); k++) {
        c->result[k].t = out[k];
        if (deliver(c, k)) return c->e.code;
    }
    return 0;
}

static int give(graph *c)
{
    const int n = c->given->room ? 0 : sc_program_nreturned(c->prog);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < c->result[k].n; i++) {
            if (c->given->give(c->given->ctx, c->result[k].array[i])) return broken(c);
            c->result[k].array[i] = NULL;
        }
    return SC_OK;
}

static void finish(graph *c)
{
    for (int k = 0; k < SC_MAXOP; k++) sink_clear(&c->temp[k]), sc_kept_release(c->kept[k]);
    for (int k = 0; k < c->nresult; k++) {
        for (int i = 0; c->result && i < c->result[k].n; i++) sc_torch_drop(&c->result[k].array[i]);
        if (c->result) sink_clear(&c->result[k].made);
    }
    free(c->result);
    sc_program_release(c->prog);
    sc_template_put(c->template);
}

bool sc_graph_open(sc_graph_call *g, size_t noperand, size_t nsize)
{
    g->operand =
        sc_work_take(noperand * (sizeof *g->operand + sizeof *g->bytes) + nsize * sizeof *g->size + 1);
    if (!g->operand) return false;
    g->bytes = (sc_bytes *)(void *)(g->operand + noperand);
    g->size = (int64_t *)(void *)(g->bytes + noperand);
    for (size_t i = 0; i < noperand; i++) g->bytes[i].known = false;
    g->noperand = noperand, g->nsize = nsize;
    return true;
}

int sc_graph_run(const sc_graph_call *given, sc_err *e)
{
    graph *c = begin();
    if (!c) return sc_error(e, SC_ENOMEM, "out of memory");
    c->given = given;
    if (!load(c) && !settle(c) && !execute(c)) give(c);
    finish(c);
    *e = c->e;
    sc_work_give(c);
    return e->code;
}
