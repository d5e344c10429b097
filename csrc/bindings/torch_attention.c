/* torch_attention.c: the operators of attention under a sparse mask.
 *
 *   scorch::attention_strips(pos, crd, values, matrices, rows, columns, height, wide, zeros, places)
 *       -> (pos, crd, bits, val, place)
 *   scorch::attention_words(mask, rows, columns) -> (words, count)
 *   scorch::attention_listed(words, rows, height) -> (pos, crd, bits)
 *   scorch::attention(q, k, v, MASK, TURNED, seed, heights, scale, added, dropout) -> (out, lse)
 *   scorch::attention_backward(grad, q, k, v, out, lse, MASK, TURNED, seed, heights, scale, added, dropout,
 *       of_values) -> (dq, dk, dv, dval)
 *
 * MASK: pos, crd, bits, val, order; TURNED, its transpose or without elements: pos, crd, bits, order; heights, int64 [4]:
 * of the first and the second part of the mask, and of its transpose, 0 where there is none. They are an array because
 * graphs are made before anybody knows them.
 *
 * All tensors are plain. A mask of words is bool [matrices, rows, columns], or of tiles that divide those; words [matrices,
 * rows / 64 rounded up, columns]. q [batch, heads, rows, width], k and v with as many heads or a divisor of it; strips as
 * in attention.h, pos [batch or 1, heads or 1, blocks + 1], behind which that of a second part follows; val without
 * elements where scores are left as they are, and perhaps with one more, of entries that are dropped; order, of the last
 * part, without elements where rows are taken as they lie; seed [1] where dropout is not 0. As in torch_abi.c everything
 * is released before an error is thrown. */
#include "torch_call.h"

#include "../attention.h"

#include <string.h>

#define MAXIN 17

typedef struct {
    sc_err e;
    int nin;
    AtenTensorHandle in[MAXIN], out[5];
    sc_tensor t[MAXIN];
} attention_call;

/* ---- arguments ---- */
static int64_t whole(StableIValue v) { return (int64_t)v; }

static int64_t extent(const sc_tensor *t, int d) { return t->view.dim[d]; }

static int shaped(attention_call *c, int i, const char *name, int ndim, const int64_t *want)
{
    const sc_tensor *t = &c->t[i];
    bool good = t->format.ndim == ndim;
    for (int d = 0; good && d < ndim; d++) good = want[d] < 0 || extent(t, d) == want[d];
    if (good) return SC_OK;
    sc_text text = {0};
    for (int d = 0; d < ndim; d++)
        if (want[d] < 0)
            sc_text_add(&text, "%sany", d ? ", " : "");
        else
            sc_text_add(&text, "%s%lld", d ? ", " : "", (long long)want[d]);
    sc_error(&c->e, SC_EVALUE, "%s: expected shape [%s], got %d dimensions or other extents", name,
             text.s ? text.s : "", t->format.ndim);
    sc_text_free(&text);
    return c->e.code;
}

/* A contiguous array of a type, whose data goes to *data. */
static int array(attention_call *c, int i, const char *name, sc_dtype type, const void *data)
{
    const sc_tensor *t = &c->t[i];
    int64_t stride = 1;
    if (t->dtype != type)
        return sc_error(&c->e, SC_ETYPE, "%s: expected %s, got %s", name, sc_dtype_name(type),
                        sc_dtype_name(t->dtype));
    for (int d = t->format.ndim - 1; d >= 0; stride *= extent(t, d--))
        if (t->view.nval && extent(t, d) > 1 && t->view.stride[d] != stride)
            return sc_error(&c->e, SC_EVALUE, "%s: expected a contiguous tensor", name);
    memcpy((void *)(uintptr_t)data, &t->view.val, sizeof(void *));
    return SC_OK;
}

static int heads(attention_call *c, int i, const char *name, sc_dtype type, const int64_t *want, sc_heads *x)
{
    const sc_tensor *t = &c->t[i];
    if (shaped(c, i, name, 4, want)) return c->e.code;
    if (t->dtype != type)
        return sc_error(&c->e, SC_ETYPE, "%s: expected %s as q is, got %s", name, sc_dtype_name(type),
                        sc_dtype_name(t->dtype));
    x->p = t->view.val;
    memcpy(x->stride, t->view.stride, sizeof x->stride);
    return SC_OK;
}

/* The second part of strips: its pos lies behind that of the first. */
static int second_part(attention_call *c, int64_t height, int64_t rows, sc_strips *s)
{
    const int64_t blocks = s->height > 0 ? (rows + s->height - 1) / s->height : -1;
    if (blocks < 0 || blocks > s->blocks)
        return sc_error(&c->e, SC_EVALUE, "strips: expected pos of two parts, [1, 1, blocks + 1 of each]");
    s[1] = s[0];
    s[1].height = height;
    s[1].blocks = s->blocks - blocks - 1, s[1].pos = s->pos + blocks + 1;
    s->blocks = blocks, s->order = NULL;
    return SC_OK;
}

/* The strips, of so many rows and of one or two parts, of pos, crd and bits from i on, and order. */
static int strips(attention_call *c, int i, int order, const int64_t *heights, int64_t rows, sc_strips *s,
                  int *parts)
{
    const int64_t any[3] = {-1, -1, -1}, n = extent(&c->t[i + 1], 0);
    if (shaped(c, i, "strips: pos", 3, any) || shaped(c, i + 1, "strips: crd", 1, any) ||
        shaped(c, i + 2, "strips: bits", 1, &n) || array(c, i, "strips: pos", SC_I64, &s->pos) ||
        array(c, i + 1, "strips: crd", SC_I32, &s->crd) || array(c, i + 2, "strips: bits", SC_I64, &s->bits))
        return c->e.code;
    s->height = heights[0];
    s->batch = extent(&c->t[i], 0), s->heads = extent(&c->t[i], 1), s->blocks = extent(&c->t[i], 2) - 1;
    s->n = n;
    if (s->blocks < 0) return sc_error(&c->e, SC_EVALUE, "strips: pos is empty");
    if (c->t[order].view.nval &&
        (shaped(c, order, "strips: order", 1, &rows) || array(c, order, "strips: order", SC_I32, &s->order)))
        return c->e.code;
    *parts = heights[1] ? 2 : 1;
    return *parts == 2 ? second_part(c, heights[1], rows, s) : SC_OK;
}

/* The mask from i on, its transpose, and behind the seed their heights. */
static int masks(attention_call *c, int i, sc_attention *a)
{
    const int64_t *heights, four = 4;
    if (shaped(c, i + 10, "strips: heights", 1, &four) ||
        array(c, i + 10, "strips: heights", SC_I64, &heights) ||
        strips(c, i, i + 4, heights, a->rows, a->mask, &a->parts))
        return c->e.code;
    const int64_t values = c->t[i + 3].view.nval, wanted = a->mask->n * a->mask->height;
    if (values && values != wanted && values != wanted + 1)
        return sc_error(&c->e, SC_EVALUE, "strips: expected %lld values, got %lld", (long long)wanted,
                        (long long)values);
    if (values && array(c, i + 3, "strips: val", sc_dtype_computed(a->dtype), &a->mask->val))
        return c->e.code;
    if (!heights[2]) return SC_OK;
    return strips(c, i + 5, i + 8, heights + 2, a->columns, a->turned, &a->turned_parts);
}

/* q, k and v from i on; the extents that they have. */
static int inputs(attention_call *c, int i, sc_attention *a)
{
    const sc_tensor *q = &c->t[i], *k = &c->t[i + 1], *v = &c->t[i + 2];
    const int64_t any[4] = {-1, -1, -1, -1};
    a->dtype = q->dtype;
    if (a->dtype != SC_F16 && a->dtype != SC_BF16 && a->dtype != SC_F32 && a->dtype != SC_F64)
        return sc_error(&c->e, SC_ETYPE, "q: expected a floating point type, got %s",
                        sc_dtype_name(a->dtype));
    if (shaped(c, i, "q", 4, any) || shaped(c, i + 1, "k", 4, any) || shaped(c, i + 2, "v", 4, any))
        return c->e.code;
    a->batch = extent(q, 0), a->heads = extent(q, 1), a->rows = extent(q, 2), a->width = extent(q, 3);
    a->shared = extent(k, 1), a->columns = extent(k, 2), a->depth = extent(v, 3);
    if (a->heads && (!a->shared || a->heads % a->shared))
        return sc_error(&c->e, SC_EVALUE, "k: expected a number of heads that divides %lld, got %lld",
                        (long long)a->heads, (long long)a->shared);
    const int64_t keys[4] = {a->batch, a->shared, a->columns, a->width};
    const int64_t values[4] = {a->batch, a->shared, a->columns, a->depth};
    return heads(c, i, "q", a->dtype, any, &a->q) || heads(c, i + 1, "k", a->dtype, keys, &a->k) ||
           heads(c, i + 2, "v", a->dtype, values, &a->v);
}

static void *result(attention_call *c, int i, sc_dtype type, int ndim, const int64_t *dim)
{
    void *p = NULL;
    if (!(c->out[i] = sc_torch_empty(type, ndim, dim)))
        sc_error(&c->e, SC_ENOMEM, "out of memory");
    else if (sc_torch.aoti_torch_get_data_ptr(c->out[i], &p))
        sc_torch_broken(&c->e);
    return p;
}

/* ---- the operators ---- */
static double number(StableIValue v)
{
    double x;
    memcpy(&x, &v, sizeof x);
    return x;
}

static void *strips_alloc(void *ctx, int what, int level, sc_dtype t, int64_t n)
{
    static char nothing[64];
    void *p = result(ctx, (what == SC_POS ? 0 : what == SC_VAL ? 3 : 1) + level, t, 1, &n);
    return p || ((attention_call *)ctx)->e.code ? p : nothing;
}

static void make_strips(attention_call *c, const StableIValue *rest)
{
    const sc_tensor *pos = &c->t[0], *crd = &c->t[1], *val = &c->t[2];
    sc_strip_source from = {.matrices = whole(rest[0]), .rows = whole(rest[1]), .columns = whole(rest[2])};
    sc_strips to = {.height = whole(rest[3])};
    int64_t count, none = 0;
    from.nnz = extent(crd, 0);
    if (!sc_mul(from.matrices, from.rows, &count) || count < 0 || !sc_strips_height(to.height)) {
        sc_error(&c->e, SC_EVALUE, "attention_strips: expected extents, and a height of 1, 16, 32 or 64");
        return;
    }
    count++;
    if ((pos->dtype != SC_I32 && pos->dtype != SC_I64) || shaped(c, 0, "pos", 1, &count) ||
        shaped(c, 1, "crd", 1, &from.nnz) || shaped(c, 2, "values", 1, &from.nnz) ||
        array(c, 0, "pos", pos->dtype, &from.pos) || array(c, 1, "crd", pos->dtype, &from.crd) ||
        array(c, 2, "values", val->dtype, &from.val)) {
        sc_error(&c->e, SC_ETYPE, "pos: expected int32 or int64");
        return;
    }
    from.itype = pos->dtype, from.dtype = val->dtype;
    from.computed = (uint8_t)rest[4] ? SC_F64 : SC_F32;
    from.zeros = (uint8_t)rest[5], from.places = (uint8_t)rest[6];
    if (sc_attention_strips(&from, &to, strips_alloc, c, &c->e)) return;
    if (!to.val) (void)result(c, 3, from.computed, 1, &none);
    if (!from.places) (void)result(c, 4, SC_I64, 1, &none);
}

static void make_words(attention_call *c, const StableIValue *rest)
{
    const int64_t any[3] = {-1, -1, -1};
    sc_dense_mask m = {.rows = whole(rest[0]), .columns = whole(rest[1])};
    if (shaped(c, 0, "mask", 3, any) || array(c, 0, "mask", SC_BOOL, &m.p)) return;
    const int64_t tiles[2] = {extent(&c->t[0], 1), extent(&c->t[0], 2)}, of[2] = {m.rows, m.columns};
    m.matrices = extent(&c->t[0], 0);
    for (int d = 0; d < 2; d++) {
        m.tile[d] = tiles[d] ? of[d] / tiles[d] : 1;
        if (m.tile[d] * tiles[d] != of[d] || !m.tile[d] || of[d] > INT32_MAX) {
            sc_error(&c->e, SC_EVALUE, "mask: expected tiles that divide %lld, got %lld", (long long)of[d],
                     (long long)tiles[d]);
            return;
        }
    }
    const int64_t dim[3] = {m.matrices, (m.rows + SC_MAXSTRIP - 1) / SC_MAXSTRIP, m.columns}, four = 4;
    uint64_t *words = result(c, 0, SC_I64, 3, dim);
    int64_t *count = result(c, 1, SC_I64, 1, &four);
    if (!c->e.code) sc_attention_words(&m, words, count);
}

static void list_words(attention_call *c, const StableIValue *rest)
{
    const int64_t rows = whole(rest[0]);
    const int64_t want[3] = {-1, (rows + SC_MAXSTRIP - 1) / SC_MAXSTRIP, -1};
    const uint64_t *words;
    sc_strips to = {.height = whole(rest[1])};
    if (rows < 0 || !sc_strips_height(to.height)) {
        sc_error(&c->e, SC_EVALUE, "attention_listed: expected rows, and a height of 1, 16, 32 or 64");
        return;
    }
    if (shaped(c, 0, "words", 3, want) || array(c, 0, "words", SC_I64, &words)) return;
    const sc_dense_mask m = {.matrices = extent(&c->t[0], 0), .rows = rows, .columns = extent(&c->t[0], 2)};
    sc_attention_listed(&m, words, &to, strips_alloc, c, &c->e);
}

/* The numbers behind the tensors, and the seed at i. */
static int numbers(attention_call *c, int i, const StableIValue *rest, sc_attention *a)
{
    const int64_t *seed = NULL;
    a->scale = number(rest[0]), a->added = (uint8_t)rest[1], a->dropout = number(rest[2]);
    if (!(a->dropout >= 0 && a->dropout <= 1))
        return sc_error(&c->e, SC_EVALUE, "dropout: expected a probability, got %g", a->dropout);
    if (a->dropout == 0) return SC_OK;
    const int64_t one = 1;
    if (shaped(c, i, "seed", 1, &one) || array(c, i, "seed", SC_I64, &seed)) return c->e.code;
    a->seed = (uint64_t)*seed;
    return SC_OK;
}

static void attend(attention_call *c, const StableIValue *rest)
{
    sc_attention a = {0};
    if (numbers(c, 12, rest, &a) || inputs(c, 0, &a) || masks(c, 3, &a)) return;
    const int64_t dim[4] = {a.batch, a.heads, a.rows, a.depth};
    a.out = result(c, 0, a.dtype, 4, dim);
    a.lse = result(c, 1, sc_dtype_computed(a.dtype), 3, dim);
    if (!c->e.code) sc_attention_forward(&a, &c->e);
}

static void attend_backward(attention_call *c, const StableIValue *rest)
{
    sc_attention a = {0};
    if (numbers(c, 15, rest, &a) || inputs(c, 1, &a)) return;
    const sc_dtype computed = sc_dtype_computed(a.dtype);
    const int64_t q[4] = {a.batch, a.heads, a.rows, a.width}, out[4] = {a.batch, a.heads, a.rows, a.depth};
    const int64_t k[4] = {a.batch, a.shared, a.columns, a.width},
                  v[4] = {a.batch, a.shared, a.columns, a.depth};
    if (heads(c, 0, "grad", a.dtype, out, &a.grad) || shaped(c, 4, "out", 4, out) ||
        array(c, 4, "out", a.dtype, &a.out) || shaped(c, 5, "lse", 3, out) ||
        array(c, 5, "lse", computed, &a.lse) || masks(c, 6, &a))
        return;
    a.dq = result(c, 0, a.dtype, 4, q);
    a.dk = result(c, 1, a.dtype, 4, k);
    a.dv = result(c, 2, a.dtype, 4, v);
    const bool wanted = (uint8_t)rest[3] && a.mask->val;
    const int64_t values = wanted ? c->t[9].view.nval : 0;
    void *dval = result(c, 3, computed, 1, &values);
    if (c->e.code) return;
    if (wanted) a.dval = memset(dval, 0, (size_t)values * sc_dtype_size(computed));
    sc_attention_backward(&a, &c->e);
}

/* Takes nin tensors off the stack, calls body with what follows, puts nout results there. */
static void run(StableIValue *stack, int nin, int nout, void (*body)(attention_call *, const StableIValue *))
{
    attention_call c = {.nin = nin};
    for (int i = 0; i < nin; i++) c.in[i] = (AtenTensorHandle)(uintptr_t)stack[i];
    for (int i = 0; i < nin && !c.e.code; i++) sc_torch_view(c.in[i], &c.t[i], &c.e);
    if (!c.e.code) body(&c, stack + nin);
    for (int i = 0; i < nin; i++) sc_torch_drop(&c.in[i]);
    for (int i = 0; i < nout && !c.e.code; i++) stack[i] = (StableIValue)(uintptr_t)c.out[i], c.out[i] = NULL;
    for (int i = 0; i < SC_LEN(c.out); i++) sc_torch_drop(&c.out[i]);
    if (c.e.code) sc_torch_throw(&c.e);
}

static void op_strips(StableIValue *stack, uint64_t nin, uint64_t nout)
{
    (void)nin, (void)nout;
    run(stack, 3, 5, make_strips);
}

static void op_words(StableIValue *stack, uint64_t nin, uint64_t nout)
{
    (void)nin, (void)nout;
    run(stack, 1, 2, make_words);
}

static void op_listed(StableIValue *stack, uint64_t nin, uint64_t nout)
{
    (void)nin, (void)nout;
    run(stack, 1, 3, list_words);
}

static void op_attention(StableIValue *stack, uint64_t nin, uint64_t nout)
{
    (void)nin, (void)nout;
    run(stack, 14, 2, attend);
}

static void op_backward(StableIValue *stack, uint64_t nin, uint64_t nout)
{
    (void)nin, (void)nout;
    run(stack, 17, 4, attend_backward);
}

#define MASK_ARGUMENTS                                                                                       \
    "Tensor pos, Tensor crd, Tensor bits, Tensor val, Tensor order, Tensor turned_pos, Tensor turned_crd, "  \
    "Tensor turned_bits, Tensor turned_order, Tensor seed, Tensor heights, float scale, bool added, float "  \
    "dropout"

bool sc_torch_define_attention(TorchLibraryHandle def, TorchLibraryHandle impl)
{
    return sc_torch.aoti_torch_library_def(
               def,
               "attention_strips(Tensor pos, Tensor crd, Tensor values, SymInt matrices, SymInt rows, SymInt "
               "columns, int height, bool wide, bool zeros, bool places) -> (Tensor, Tensor, Tensor, Tensor, "
               "Tensor)") ||
           sc_torch.aoti_torch_library_def(
               def, "attention_words(Tensor mask, SymInt rows, SymInt columns) -> (Tensor, Tensor)") ||
           sc_torch.aoti_torch_library_def(
               def, "attention_listed(Tensor words, SymInt rows, int height) -> (Tensor, Tensor, Tensor)") ||
           sc_torch.torch_library_impl(impl, "attention_words", op_words, SC_TORCH_BUILD) ||
           sc_torch.torch_library_impl(impl, "attention_listed", op_listed, SC_TORCH_BUILD) ||
           sc_torch.aoti_torch_library_def(def, "attention(Tensor q, Tensor k, Tensor v, " MASK_ARGUMENTS
                                                ") -> (Tensor, Tensor)") ||
           sc_torch.aoti_torch_library_def(
               def, "attention_backward(Tensor grad, Tensor q, Tensor k, Tensor v, Tensor out, Tensor "
                    "lse, " MASK_ARGUMENTS ", bool of_values) -> (Tensor, Tensor, Tensor, Tensor)") ||
           sc_torch.torch_library_impl(impl, "attention_strips", op_strips, SC_TORCH_BUILD) ||
           sc_torch.torch_library_impl(impl, "attention", op_attention, SC_TORCH_BUILD) ||
           sc_torch.torch_library_impl(impl, "attention_backward", op_backward, SC_TORCH_BUILD);
}
