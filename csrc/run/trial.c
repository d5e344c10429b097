/* trial.c: a compiled program, run on generated data and compared with the oracle.
 *
 * Values are small integers, so that every order of summation gives the same
 * floats and equality is exact; functions such as exp are compared to a relative
 * error. Tests use it, and every schedule that a user passes is tried before it
 * is believed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "run.h"
#include "tool.h"

/* ---- memory of one trial ---- */
typedef struct {
    void *block[256];
    int n;
} Heap;

/* Not zeroed: what a kernel or a conversion forgets to set must not look like a result. */
static void *heap_get(Heap *h, size_t size)
{
    if (h->n == SC_LEN(h->block)) return NULL;
    void *p = h->block[h->n] = sc_malloc(size);
    if (p) h->n++, memset(p, SC_POISON, size);
    return p;
}

static void heap_free(Heap *h)
{
    while (h->n) free(h->block[--h->n]);
}

static void *heap_alloc(void *ctx, int what, int level, sc_dtype type, int64_t n)
{
    (void)what;
    (void)level;
    return heap_get(ctx, (size_t)n * sc_dtype_size(type));
}

/* ---- data ---- */
static uint64_t next(uint64_t *seed)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static int64_t size_of(const Tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++) n *= t->extent[d];
    return n;
}

static sc_tensor describe(const Tensor *t)
{
    sc_tensor x = {.format = t->format, .dtype = t->dtype, .itype = t->itype};
    int64_t stride = 1;
    for (int d = t->ndim; d-- > 0; stride *= t->extent[d]) {
        x.view.dim[d] = t->extent[d];
        x.view.stride[d] = stride;
    }
    return x;
}

/* Row-major storage, but the dimension `unit` innermost. */
static void order_strides(const Tensor *t, sc_tensor *x)
{
    if (t->unit < 0 || t->unit == t->ndim - 1) return;
    int64_t stride = t->extent[t->unit];
    for (int d = t->ndim; d-- > 0;) {
        if (d == t->unit) continue;
        x->view.stride[d] = stride;
        stride *= t->extent[d];
    }
    x->view.stride[t->unit] = 1;
}

/* Moves the values somewhere else and says where in perm. */
static int scatter_values(sc_tensor *x, uint64_t *seed, Heap *h, sc_err *err)
{
    int64_t n = x->view.nval;
    char *val = heap_get(h, (size_t)n * sc_dtype_size(x->dtype)), *old = x->view.val;
    char *perm = heap_get(h, (size_t)n * sc_dtype_size(x->itype));
    if (!val || !perm) return sc_error(err, SC_ENOMEM, "out of memory");
    int64_t step = n > 0 ? (int64_t)(next(seed) % (uint64_t)n) : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t to = (i + step) % n;
        if (x->itype == SC_I64)
            ((int64_t *)(void *)perm)[i] = to;
        else
            ((int32_t *)(void *)perm)[i] = (int32_t)to;
        memcpy(val + (size_t)to * sc_dtype_size(x->dtype), old + (size_t)i * sc_dtype_size(x->dtype),
               sc_dtype_size(x->dtype));
    }
    x->view.val = val;
    x->view.perm = perm;
    return SC_OK;
}

/* -2 to 2, zero among them: a stored zero is an entry. */
static double small_value(uint64_t *seed)
{
    const uint64_t r = next(seed);
    return (double)(r >> 8 & 3) - 1.5 + ((r >> 10 & 1) ? 0.5 : -0.5);
}

/* Repeats entries where the last levels, lists of coordinates, say that they may occur again. */
static void repeat_entries(sc_tensor *x, uint64_t *seed)
{
    const sc_format *f = &x->format;
    int first = f->nlevel;
    while (first > 0 && !f->level[first - 1].unique) first--;
    if (first || !sc_kind_of(&f->level[0])->pos) return;
    const size_t size = sc_dtype_size(x->itype);
    for (int64_t p = 1; p < x->view.nval; p++) {
        if (next(seed) % 4) continue;
        for (int l = 0; l < f->nlevel; l++) {
            char *crd = (char *)(intptr_t)x->view.level[l].crd; /* ours */
            memcpy(crd + (size_t)p * size, crd + (size_t)(p - 1) * size, size);
        }
    }
}

/* Of both signs, or of one. */
static double signed_value(uint64_t *seed, uint64_t kind)
{
    const double v = small_value(seed);
    return kind == 0 ? fabs(v) : kind == 1 ? -fabs(v) : v;
}

/* *x, a dense tensor, with so large a share of ones, in the format of *out: fewer where that has no room for as many. */
static int store_some(sc_tensor *x, uint64_t fill, uint64_t *seed, Heap *h, sc_tensor *out, sc_err *err)
{
    const sc_tensor empty = *out;
    for (uint64_t of = 8;; of *= 2) {
        for (int64_t i = 0; i < x->view.nval; i++)
            sc_number_put(x->dtype, x->view.val, i, next(seed) % of < fill);
        *err = (sc_err){0};
        *out = empty;
        if (sc_convert(x, out, heap_alloc, h, NULL, err) != SC_EVALUE || !fill) return err->code;
        if (of > 1024) fill = 0;
    }
}

/* A sparse operand is empty or stores an eighth, half, nearly all or all of its elements. */
static int make_operand(const Tensor *t, uint64_t *seed, Heap *h, sc_tensor *out, sc_err *err)
{
    static const uint64_t eighths[] = {0, 1, 1, 4, 4, 4, 7, 8};
    const bool sparse = !sc_format_is_dense(&t->format);
    const uint64_t r = next(seed), fill = eighths[r % SC_LEN(eighths)], kind = r >> 8 & 7;
    sc_tensor x = describe(t);
    const int64_t n = size_of(t);
    x.view.val = heap_get(h, (size_t)n * sc_dtype_size(t->dtype));
    if (!x.view.val) return sc_error(err, SC_ENOMEM, "out of memory");
    x.view.nval = n;
    *out = x;
    if (!sparse) {
        for (int64_t i = 0; i < n; i++) sc_number_put(t->dtype, x.view.val, i, small_value(seed));
        order_strides(t, out);
        return SC_OK;
    }
    if (sc_format_parse(&x.format, "dense", t->ndim, err)) return err->code;
    if (store_some(&x, fill, seed, h, out, err)) return err->code;
    repeat_entries(out, seed);
    for (int64_t i = 0; i < out->view.nval; i++)
        sc_number_put(t->dtype, out->view.val, i, signed_value(seed, kind));
    return SC_OK;
}

/* The same structure, with other values. */
static int make_twin(const sc_tensor *first, const Tensor *t, uint64_t *seed, Heap *h, sc_tensor *out,
                     sc_err *err)
{
    const int64_t n = first->view.nval;
    *out = *first;
    out->dtype = t->dtype;
    out->view.val = heap_get(h, (size_t)n * sc_dtype_size(t->dtype));
    if (!out->view.val) return sc_error(err, SC_ENOMEM, "out of memory");
    for (int64_t i = 0; i < n; i++) sc_number_put(t->dtype, out->view.val, i, small_value(seed));
    return SC_OK;
}

static int make_result(const Tensor *t, Heap *h, sc_tensor *out, sc_err *err)
{
    *out = describe(t);
    if (!sc_format_is_dense(&t->format)) return SC_OK;
    out->view.nval = size_of(t);
    out->view.val = heap_get(h, (size_t)out->view.nval * sc_dtype_size(t->dtype));
    return out->view.val ? SC_OK : sc_error(err, SC_ENOMEM, "out of memory");
}

/* ---- comparison ---- */
/* Within the rounding of the type, of numbers about 1 that may have cancelled. Integers are exact where the oracle,
 * which counts in doubles, knows them; at the largest one and beyond 2^53 they may have wrapped. */
static bool close_to(sc_dtype type, double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b)) return a == b;
    const double largest = fmin(0x1p53, ldexp(1, 8 * (int)sc_dtype_size(type) - 1) - 1);
    if (type < SC_F16 && fabs(b) >= largest) return true;
    const double unit = type == SC_F16 ? 1e-3 : type == SC_BF16 ? 1e-2 : 1e-5;
    return a == b || fabs(a - b) <= unit * fmax(1, fmax(fabs(a), fabs(b)));
}

/* Whether a position has room for so many coordinates only: for its slots, or for the one of a singleton. */
static bool has_bounds(const sc_format *f)
{
    for (int l = 0; l < f->nlevel; l++) {
        const sc_kind *k = sc_kind_of(&f->level[l]);
        if (k->padded || (k->one && (!l || f->level[l - 1].unique))) return true;
    }
    return false;
}

/* Replaces x by the same tensor in another format; where, or null: which elements of a dense one are entries; fill: what
 * other positions hold. */
static int convert(sc_tensor *x, const sc_tensor *where, double fill, const sc_format *format, Heap *h,
                   sc_err *err)
{
    if (sc_format_equal(&x->format, format)) return SC_OK;
    sc_tensor to = {.format = *format, .dtype = x->dtype, .itype = x->itype};
    const int rc = sc_convert_where(x, where ? where->view.val : NULL, fill, &to, heap_alloc, h, err);
    if (!rc) *x = to;
    return rc;
}

/* Whether v may stand where no point counts: a sparse result has no entry there, or one that holds the identity. */
static bool is_empty(const Tensor *t, const sc_format *ask, double want, double v)
{
    const double none = op_identity(t->empty);
    return none != 0 && want == none && !sc_format_is_dense(ask) &&
           (v == 0 || v == sc_number_as(t->dtype, none));
}

typedef struct { /* what the oracle says: values, and whether there is an entry */
    double *value;
    uint8_t *has;
} Wanted;

/* What is wanted has an entry in x, a dense tensor of truth values. */
static int check_entries(const Tensor *t, const Wanted *want, const sc_tensor *x, sc_err *err)
{
    for (int64_t i = 0; i < size_of(t); i++)
        if (want->has[i] && sc_number_get(x->dtype, x->view.val, i) == 0)
            return sc_error(err, SC_EVALUE, "%s[element %lld]: expected an entry, got none", t->name,
                            (long long)i);
    return SC_OK;
}

static int check_values(const Tensor *t, const sc_format *ask, const Wanted *want, const sc_tensor *x,
                        sc_err *err)
{
    for (int64_t i = 0; i < size_of(t); i++) {
        const double v = sc_number_get(t->dtype, x->view.val, i),
                     wanted = sc_number_as(t->dtype, want->value[i]);
        if (!close_to(t->dtype, v, wanted) && !is_empty(t, ask, want->value[i], v))
            return sc_error(err, SC_EVALUE, "%s[element %lld]: expected %.9g, got %.9g", t->name,
                            (long long)i, wanted, v);
    }
    return SC_OK;
}

/* 1 where x has an entry, in a dense format. */
static int entries_of(const sc_tensor *x, const sc_format *dense, sc_tensor *out, Heap *h, sc_err *err)
{
    const size_t n = (size_t)x->view.nval;
    *out = *x;
    out->dtype = SC_BOOL;
    if (!(out->view.val = heap_get(h, n))) return sc_error(err, SC_ENOMEM, "out of memory");
    memset(out->view.val, 1, n);
    return convert(out, NULL, 0, dense, h, err);
}

/* A result that was asked to be like an operand is computed at its entries alone. */
static int only_at_entries(const Prog *p, int r, const sc_tensor *given, const Wanted *want, Heap *h,
                           sc_err *err)
{
    const Tensor *t = prog_result(p, r);
    sc_format plain = {0};
    sc_tensor entries;
    if (!p->ask_like[r]) return SC_OK;
    if (sc_format_parse(&plain, "dense", t->ndim, err) ||
        entries_of(&given[p->ask_like[r] - 1], &plain, &entries, h, err))
        return err->code;
    for (int64_t i = 0; i < size_of(t); i++)
        if (sc_number_get(SC_BOOL, entries.view.val, i) == 0) want->value[i] = 0, want->has[i] = 0;
    return SC_OK;
}

/* What the kernels made is valid, and in the format that is delivered has the values wanted, and if it is one that
 * operands cover, the entries. A format with bounds may be too small for what operands in a wanted format hold: then it
 * is compared as it was made. */
static int compare(const Tensor *t, const sc_format *ask, const sc_tensor *tensor, const Wanted *want,
                   Heap *h, sc_err *err)
{
    sc_tensor dense = tensor[t->arg], entries;
    sc_format plain = {0};
    if (sc_format_parse(&plain, "dense", t->ndim, err)) return err->code;
    if (!sc_format_is_dense(&dense.format) && sc_validate(&dense, err)) return err->code;
    if (!has_bounds(ask) &&
        convert(&dense, t->where ? &tensor[t->where->arg] : NULL, sc_fill_of(t, ask), ask, h, err))
        return err->code;
    if (!sc_format_is_dense(&dense.format)) {
        if (sc_validate(&dense, err) || entries_of(&dense, &plain, &entries, h, err) ||
            convert(&dense, NULL, 0, &plain, h, err) || (t->covered && check_entries(t, want, &entries, err)))
            return err->code;
    }
    return check_values(t, ask, want, &dense, err);
}

/* ---- a trial ---- */
static int code_of(Prog *p, bool jit, int width, sc_kernel **entry, const void **self, const sc_object **o,
                   sc_err *err)
{
    if (!jit) {
        for (int i = 0; i < SC_MAXENTRY; i++) entry[i] = sc_exec_kernels[i];
        *self = p->draft.module;
        return SC_OK;
    }
    sc_target target;
    sc_text c = {0};
    sc_jit_how how;
    if (!sc_target_make(&target, width) || !sc_target_runs(&target))
        return sc_error(err, SC_ENOTIMPL, "this CPU has no vectors of %d bytes", width);
    if (p->dots && width == SC_DOTS_WIDTH && !sc_target_dots(&target))
        return sc_error(err, SC_ENOTIMPL, "this CPU has no dot products of bf16");
    int rc = sc_compile_text(p, "c", &c, err);
    if (!rc) rc = sc_jit_get(c.s, &target, o, &how, err);
    for (int i = 0; !rc && i < (*o)->nentry; i++) entry[i] = (*o)->entry[i];
    sc_text_free(&c);
    return rc;
}

static int run_plan(Prog *p, sc_tensor *tensor, bool jit, int width, Heap *h, sc_err *err)
{
    sc_kernel *entry[SC_MAXENTRY] = {0};
    const sc_object *object = NULL;
    const void *self = NULL;
    int64_t dim[SC_MAXVAR];
    void *ctx[SC_MAXOP];
    for (int v = 0; v < p->nvar; v++) dim[v] = p->var[v].extent;
    for (int r = 0; r < p->draft.nmade; r++) ctx[r] = h;
    int rc = code_of(p, jit, width, entry, &self, &object, err);
    if (!rc) rc = sc_plan_run(&p->draft.plan, entry, self, tensor, dim, heap_alloc, ctx, err);
    sc_jit_release(object);
    return rc;
}

static int trial(Prog *p, bool jit, int width, uint64_t seed, Heap *h, sc_err *err)
{
    sc_tensor tensor[SC_MAXOP], given[SC_MAXOP];
    Wanted want[SC_MAXOP];
    double *value[SC_MAXOP];
    uint8_t *has[SC_MAXOP];
    for (int k = 0; k < p->nin; k++) {
        const Tensor *t = p->tensor[k];
        if (t->twin ? make_twin(&given[t->twin - 1], t, &seed, h, &given[k], err)
                    : make_operand(t, &seed, h, &given[k], err))
            return err->code;
        tensor[k] = given[k];
        if (p->tensor[k]->perm && scatter_values(&tensor[k], &seed, h, err)) return err->code;
    }
    for (int r = 0; r < p->draft.nmade; r++) {
        const Tensor *t = prog_result(p, r);
        const sc_made made = sc_made_of(p, r);
        sc_tensor *x = &tensor[p->nin + r];
        if (t->like ? sc_share(&made, &tensor[t->like->arg], t->extent, x, heap_alloc, h, err)
                    : make_result(t, h, x, err))
            return err->code;
        want[r].value = value[r] = heap_get(h, (size_t)size_of(t) * sizeof(double));
        want[r].has = has[r] = heap_get(h, (size_t)size_of(t));
        if (!value[r] || !has[r]) return sc_error(err, SC_ENOMEM, "out of memory");
    }
    if (run_plan(p, tensor, jit, width, h, err)) return err->code;
    if (sc_oracle_run(p, given, value, has, err)) return err->code;
    for (int r = 0; r < p->nout; r++)
        if (only_at_entries(p, r, given, &want[r], h, err) ||
            compare(prog_result(p, r), &p->ask[r], tensor, &want[r], h, err))
            return err->code;
    return SC_OK;
}

int sc_trial(Prog *p, bool jit, int width, uint64_t seed, sc_err *err)
{
    Heap *h = sc_zalloc(sizeof *h);
    if (!h) return sc_error(err, SC_ENOMEM, "out of memory");
    int rc = trial(p, jit, width, seed, h, err);
    heap_free(h);
    free(h);
    return rc;
}

/* ---- schedules of users ---- */
/* Variables that run over one dimension of one tensor, in different accesses, have one extent: root[v] is the first
 * of those of v. */
static void tie(int *root, int nvar, int a, int b)
{
    const int to = root[a] < root[b] ? root[a] : root[b], from = root[a] < root[b] ? root[b] : root[a];
    for (int v = 0; v < nvar; v++)
        if (root[v] == from) root[v] = to;
}

static void tie_accesses(const Prog *p, const Expr *e, int *root)
{
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) tie_accesses(p, e->kid[k], root);
    if (e->op != O_ACCESS) return;
    const Tensor *t = e->tensor->alias ? e->tensor->alias : e->tensor;
    for (int d = 0; d < t->ndim; d++) tie(root, p->nvar, t->dimvar[d], e->ix[d].var);
}

/* The least number that the blocks of a format divide, over the dimensions of extent root. */
static int64_t join_blocks(const sc_format *f, const int *dimvar, const int *root, int to, int64_t block)
{
    for (int l = 0; l < f->nlevel; l++) {
        const sc_levelspec *s = &f->level[l];
        if (s->part != SC_WHOLE && root[dimvar[s->dim]] == to && block % s->block) block *= s->block;
    }
    return block;
}

/* Extents of the trial: what is folded or blocked stays legal, the rest is small and differs. */
static int64_t small_extent(const Prog *p, const int *root, int v)
{
    int64_t block = 1;
    for (int u = 0; u < p->nvar; u++)
        if (root[u] == root[v] && p->var[u].fold) return p->var[u].extent;
    for (int k = 0; k < p->nin; k++)
        block = join_blocks(&p->tensor[k]->format, p->tensor[k]->dimvar, root, root[v], block);
    for (int r = 0; r < p->nout; r++)
        block = join_blocks(&p->ask[r], prog_result(p, r)->dimvar, root, root[v], block);
    return block > 1 ? 2 * block : 5 + root[v];
}

static void small_request(const Prog *p, sc_request *small)
{
    int root[SC_MAXVAR];
    for (int v = 0; v < p->nvar; v++) root[v] = v;
    for (int a = 0; a < p->nassign; a++) tie_accesses(p, p->assign[a].rhs, root);
    for (int k = 0; k < p->nin; k++) {
        const Tensor *t = p->tensor[k];
        for (int d = 0; t->twin && d < t->ndim; d++)
            tie(root, p->nvar, t->dimvar[d], p->tensor[t->twin - 1]->dimvar[d]);
    }
    for (int k = 0; k < p->nin; k++)
        for (int d = 0; d < p->tensor[k]->ndim; d++)
            small->dim[k][d] = small_extent(p, root, p->tensor[k]->dimvar[d]);
}

int sc_trial_schedule(const Prog *p, const sc_request *rq, int width, sc_err *err)
{
    sc_request *small = sc_zalloc(sizeof *small);
    Prog *g = sc_zalloc(sizeof *g);
    sc_err why = {0};
    int rc = small && g ? SC_OK : sc_error(err, SC_ENOMEM, "out of memory");
    if (!rc) {
        *small = *rq;
        small_request(p, small);
        rc = sc_compile(g, small, NULL, width, &why);
        for (uint64_t seed = 1; seed <= 3 && !rc; seed++) rc = sc_trial(g, false, width, seed, &why);
    }
    if (why.code == SC_ENOMEM)
        sc_error(err, why.code, "%s", why.msg);
    else if (why.code)
        sc_error(err, SC_EVALUE, "the schedule does not compute the expression: on generated data, %s",
                 why.msg);
    if (g) sc_compile_free(g);
    free(g);
    free(small);
    return rc;
}
