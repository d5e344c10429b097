/* torch_dense.c: products of dense matrices, by the libraries that torch has, without the dispatcher. */
#include "torch_call.h"

#define torch sc_torch

/* ---- float32 by oneDNN ---- */
/* Intel's library takes other paths on the processors of others. */
static bool mkl_is_at_home(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("intel");
#else
    return true;
#endif
}

/* Where MKL is away from home. Few rows or columns: it multiplies by these at a sixth of its speed and oneDNN at half of
 * its, but a call takes as long as so many multiply-adds by each of them. Many: oneDNN's takes a tenth to a third less
 * time, which must pay for the copy of its result. Of an a that is part of a larger matrix oneDNN takes a hundred times
 * as long. */
static bool suits_onednn(const sc_dense_product *x)
{
    enum { FEW = 12, CALL = 1 << 16, DEEP = 256, WIDE = 64, MANY = 1 << 24 };
    const int64_t least = sc_min(x->m, x->n), most = sc_max(x->m, x->n);
    const bool few = least > 1 && least <= FEW && x->k * most >= CALL,
               many = x->k >= DEEP && x->n >= WIDE && least > FEW && x->m * x->n >= MANY / x->k;
    return torch.aoti_torch_cpu__linear_pointwise && x->dtype == SC_F32 && x->batch == 1 &&
           x->a_stride[1] == x->k && x->a_stride[2] == 1 && (few || many) && !mkl_is_at_home();
}

/* b turned, [n, k], as oneDNN takes it: *room is null, or holds it. Null: what it should hold would be large. */
static AtenTensorHandle turned(const sc_dense_product *x, float **room)
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

static bool multiply_by_onednn(const sc_dense_product *x, AtenTensorHandle out, bool *done)
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

static bool multiply(const sc_dense_product *x, AtenTensorHandle out, bool tidy)
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
static sc_dense_product by_rows(const sc_dense_product *x)
{
    sc_dense_product y = *x;
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

/* Nothing is recorded. */
int sc_torch_multiply(const sc_dense_product *given, sc_err *e)
{
    const bool tidy = given->batch > 1 || given->dtype == SC_BF16;
    const sc_dense_product x = tidy ? by_rows(given) : *given;
    const int64_t dim[3] = {x.batch, x.m, x.n};
    const bool apart = tidy && !is_tidy(dim, x.out_stride, false, x.dtype);
    AtenTensorHandle out = over(x.out, dim, x.out_stride, x.dtype), made = apart ? empty(dim, x.dtype) : NULL;
    const bool room = out && (made || !apart);
    bool done = false;
    if (room && !multiply_by_onednn(&x, out, &done)) done = multiply(&x, apart ? made : out, tidy);
    if (done && apart) done = !torch.aoti_torch_copy_(out, made, 0);
    sc_torch_drop(&out);
    sc_torch_drop(&made);
    if (!room) return sc_error(e, SC_ENOMEM, "out of memory for a dense product");
    return done ? SC_OK : sc_torch_broken(e);
}
