/* torch_dense.c: products of dense matrices, by the libraries that torch has, without the dispatcher. */
#include "torch_call.h"

#include <string.h>

#define torch sc_torch

/* out[batch,m,n] = a[batch,m,k] * b[batch,k,n] */
typedef struct {
    const void *a, *b;
    void *out;
    sc_dtype dtype;
    int64_t batch, m, n, k, a_stride[3], b_stride[3], out_stride[3];
} matrices;

/* ---- float32 by oneDNN ---- */
/* Intel's library takes other paths on the processors of others. */
bool sc_torch_is_swift(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("intel");
#else
    return true;
#endif
}

/* Else MKL is away from home. Few rows or columns: it multiplies by these at a sixth of its speed and oneDNN at half of
 * its, but a call takes as long as so many multiply-adds by each of them. Many: oneDNN's takes a tenth to a third less
 * time, which must pay for the copy of its result. Of an a that is part of a larger matrix oneDNN takes a hundred times
 * as long. */
static bool suits_onednn(const matrices *x)
{
    enum { FEW = 12, CALL = 1 << 16, DEEP = 256, WIDE = 64, MANY = 1 << 24 };
    const int64_t least = sc_min(x->m, x->n), most = sc_max(x->m, x->n);
    const bool few = least > 0 && least <= FEW && x->k * most >= CALL,
               many = x->k >= DEEP && x->n >= WIDE && least > FEW && x->m * x->n >= MANY / x->k;
    return torch.aoti_torch_cpu__linear_pointwise && x->dtype == SC_F32 && x->batch == 1 &&
           x->a_stride[1] == x->k && x->a_stride[2] == 1 && (few || many) && !sc_torch_is_swift();
}

/* b turned, [n, k], as oneDNN takes it: *room is null, or holds it. Null: what it should hold would be large. */
static AtenTensorHandle turned(const matrices *x, float **room)
{
    enum { SMALL = 1 << 14 };
    const int64_t dim[2] = {x->n, x->k}, stride[2] = {x->b_stride[2], x->b_stride[1]}, whole[2] = {x->k, 1};
    const bool is_whole = (stride[0] == 1 && stride[1] == x->n) || (stride[0] == x->k && stride[1] == 1);
    *room = NULL;
    if (is_whole) return sc_torch_over(x->b, 2, dim, stride, x->dtype);
    if (x->n * x->k > SMALL) return NULL;
    const float *from = x->b;
    float *to = *room = sc_work_take((size_t)(x->n * x->k) * sizeof *to);
    for (int64_t n = 0; to && n < x->n; n++)
        for (int64_t k = 0; k < x->k; k++) to[n * x->k + k] = from[n * stride[0] + k * stride[1]];
    return to ? sc_torch_over(to, 2, dim, whole, x->dtype) : NULL;
}

/* Where oneDNN puts its result is its own choice. */
static bool by_onednn(AtenTensorHandle a, AtenTensorHandle turned, AtenTensorHandle out)
{
    AtenTensorHandle made = NULL;
    const bool done =
        !torch.aoti_torch_cpu__linear_pointwise(a, turned, NULL, "none", NULL, 0, NULL, &made) &&
        !torch.aoti_torch_copy_(out, made, 0);
    sc_torch_drop(&made);
    return done;
}

static bool multiply_by_onednn(const matrices *x, AtenTensorHandle out, bool *done)
{
    float *room;
    AtenTensorHandle across = suits_onednn(x) ? turned(x, &room) : NULL, a;
    if (!across) return false;
    a = sc_torch_over(x->a, 2, (int64_t[]){x->m, x->k}, x->a_stride + 1, x->dtype);
    *done = a && by_onednn(a, across, out);
    sc_torch_drop(&a);
    sc_torch_drop(&across);
    sc_work_give(room);
    return true;
}

/* ---- any ---- */
/* Rows or columns whose elements lie side by side. Those of bfloat16 are also behind one another, as are the matrices
 * of a batch: parts of larger ones take up to a thousand times as long. */
static bool is_tidy(const int64_t *dim, const int64_t *stride, bool by_columns, sc_dtype t)
{
    const int64_t wide = stride[1] - dim[2], tall = stride[2] - dim[1];
    const bool rows = stride[2] == 1 && wide >= 0, columns = by_columns && stride[1] == 1 && tall >= 0;
    if (t != SC_BF16) return rows || columns;
    return ((rows && !wide) || (columns && !tall)) && (dim[0] == 1 || stride[0] == dim[1] * dim[2]);
}

/* dim and stride begin with those of the batch, of which a single matrix has none. */
static AtenTensorHandle over(const void *data, const int64_t *dim, const int64_t *stride, sc_dtype t)
{
    const int one = dim[0] == 1;
    return sc_torch_over(data, 3 - one, dim + one, stride + one, t);
}

static AtenTensorHandle empty(const int64_t *dim, sc_dtype t)
{
    const int one = dim[0] == 1;
    return sc_torch_empty(t, 3 - one, dim + one);
}

/* An operand as it lies, or a copy. */
static AtenTensorHandle operand(const void *data, const int64_t *dim, const int64_t *stride, bool tidy,
                                sc_dtype t)
{
    AtenTensorHandle it = over(data, dim, stride, t), copy;
    if (!it || !tidy || is_tidy(dim, stride, true, t)) return it;
    copy = empty(dim, t);
    if (copy && torch.aoti_torch_copy_(copy, it, 0)) sc_torch_drop(&copy);
    sc_torch_drop(&it);
    return copy;
}

static bool multiply(const matrices *x, AtenTensorHandle out, bool tidy)
{
    const int64_t left[3] = {x->batch, x->m, x->k}, right[3] = {x->batch, x->k, x->n};
    AtenTensorHandle a = operand(x->a, left, x->a_stride, tidy, x->dtype),
                     b = operand(x->b, right, x->b_stride, tidy, x->dtype);
    const bool done =
        a && b &&
        !(x->batch == 1 ? torch.aoti_torch_cpu_mm_out(out, a, b) : torch.aoti_torch_cpu_bmm_out(out, a, b));
    sc_torch_drop(&a);
    sc_torch_drop(&b);
    return done;
}

/* The same product with its result by rows. */
static matrices by_rows(const matrices *x)
{
    matrices y = *x;
    if (x->out_stride[2] == 1 || x->out_stride[1] != 1) return y;
    y.a = x->b, y.b = x->a;
    y.m = x->n, y.n = x->m;
    for (int i = 0; i < 3; i++) {
        const int turned = i ? 3 - i : 0;
        y.a_stride[i] = x->b_stride[turned];
        y.b_stride[i] = x->a_stride[turned];
        y.out_stride[i] = x->out_stride[turned];
    }
    return y;
}

static bool run(const matrices *given)
{
    const bool tidy = given->batch > 1 || given->dtype == SC_BF16;
    const matrices x = tidy ? by_rows(given) : *given;
    const int64_t dim[3] = {x.batch, x.m, x.n};
    const bool apart = tidy && !is_tidy(dim, x.out_stride, false, x.dtype);
    AtenTensorHandle out = over(x.out, dim, x.out_stride, x.dtype), made = apart ? empty(dim, x.dtype) : NULL;
    bool done = false;
    if (out && (made || !apart) && !multiply_by_onednn(&x, out, &done))
        done = multiply(&x, apart ? made : out, tidy);
    if (done && apart) done = !torch.aoti_torch_copy_(out, made, 0);
    sc_torch_drop(&out);
    sc_torch_drop(&made);
    return done;
}

/* ---- any order of axes ---- */
enum { A, B, OUT };

/* One tensor of a product: its axes as they lie, and its three groups, each an axis if they are together. */
typedef struct {
    void *data, *copy; /* copy: null, or its elements in the order of the groups */
    int ndim;
    int64_t dim[3 * SC_MAXDIM], stride[3 * SC_MAXDIM], size[3], group[3];
    bool together;
} side;

static int64_t stride_of(const sc_dense_axis *x, int tensor)
{ return tensor == A ? x->a : tensor == B ? x->b : x->out; }

/* Groups are given outermost first. One of no axes has one element. */
static side side_of(const sc_dense_product *p, int tensor, const int *group)
{
    side s = {.data = tensor == OUT ? p->out : (void *)(uintptr_t)(tensor == A ? p->a : p->b),
              .together = true};
    int64_t inner = 1; /* elements of one element of the group, if the tensor is contiguous */
    for (int g = 2; g >= 0; g--) {
        const sc_dense_axis *x = p->axis[group[g]];
        const int n = p->n[group[g]];
        s.size[g] = 1;
        for (int i = 0; i < n; i++) s.size[g] *= x[i].size;
        s.group[g] = n ? stride_of(&x[n - 1], tensor) : inner;
        inner = s.size[g] * s.group[g];
    }
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < p->n[group[g]]; i++, s.ndim++) {
            const sc_dense_axis *x = &p->axis[group[g]][i];
            s.dim[s.ndim] = x->size;
            s.stride[s.ndim] = stride_of(x, tensor);
            if (i) s.together &= s.stride[s.ndim - 1] == x->size * s.stride[s.ndim];
        }
    return s;
}

/* Copies the elements to where groups are axes, or from there. */
static bool copy(const side *s, sc_dtype t, bool back)
{
    int64_t stride[3 * SC_MAXDIM], n = 1;
    for (int i = s->ndim - 1; i >= 0; n *= s->dim[i--]) stride[i] = n;
    AtenTensorHandle here = sc_torch_over(s->data, s->ndim, s->dim, s->stride, t),
                     there = sc_torch_over(s->copy, s->ndim, s->dim, stride, t);
    const bool done = here && there && !torch.aoti_torch_copy_(back ? here : there, back ? there : here, 0);
    sc_torch_drop(&here);
    sc_torch_drop(&there);
    return done;
}

/* Makes axes of the groups; false: no memory, or torch failed. */
static bool gather(side *s, sc_dtype t, bool filled)
{
    if (s->together) return true;
    s->copy = sc_work_take((size_t)(s->size[0] * s->size[1] * s->size[2]) * sc_dtype_size(t));
    s->group[0] = s->size[1] * s->size[2], s->group[1] = s->size[2], s->group[2] = 1;
    return s->copy && (!filled || copy(s, t, false));
}

static void *where(const side *s) { return s->copy ? s->copy : s->data; }

static bool multiply_sides(const sc_dense_product *p, side *a, side *b, side *out)
{
    if (!gather(a, p->dtype, true) || !gather(b, p->dtype, true) || !gather(out, p->dtype, false))
        return false;
    matrices x = {.a = where(a),
                  .b = where(b),
                  .out = where(out),
                  .dtype = p->dtype,
                  .batch = a->size[0],
                  .m = a->size[1],
                  .n = b->size[2],
                  .k = a->size[2]};
    memcpy(x.a_stride, a->group, sizeof x.a_stride);
    memcpy(x.b_stride, b->group, sizeof x.b_stride);
    memcpy(x.out_stride, out->group, sizeof x.out_stride);
    return run(&x) && (!out->copy || copy(out, p->dtype, true));
}

/* Nothing is recorded. What fails where extents agree has no memory. */
int sc_torch_multiply(const sc_dense_product *p, sc_err *e)
{
    side a = side_of(p, A, (int[]){SC_BATCH, SC_ROWS, SC_SUMMED}),
         b = side_of(p, B, (int[]){SC_BATCH, SC_SUMMED, SC_COLUMNS}),
         out = side_of(p, OUT, (int[]){SC_BATCH, SC_ROWS, SC_COLUMNS});
    const bool done = multiply_sides(p, &a, &b, &out);
    sc_work_give(a.copy);
    sc_work_give(b.copy);
    sc_work_give(out.copy);
    return done ? SC_OK : sc_error(e, SC_ENOMEM, "out of memory for a dense product");
}
