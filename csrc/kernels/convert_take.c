/* convert_take.c: memory for what a conversion makes, and what it says when there is none. */
#include "convert.h"

void *sc_convert_take(const sc_conversion *c, int64_t n, size_t size)
{
    int64_t bytes;
    void *p = sc_mul(n, (int64_t)size, &bytes) ? sc_work_take((size_t)bytes) : NULL;
    if (!p)
        sc_error(c->err, SC_ENOMEM, "out of memory converting a tensor: %lld items of %zu bytes",
                 (long long)n, size);
    return p;
}

static int result(const sc_conversion *c, int what, int level, sc_dtype dtype, int64_t n, void **out)
{
    static const char *const names[] = {"positions", "coordinates", "values"};
    const size_t size = sc_dtype_size(dtype);
    *out = c->alloc(c->ctx, what, level, dtype, n);
    if (*out) {
        sc_fill_advise(*out, (size_t)n * size);
        return SC_OK;
    }
    return sc_error(c->err, SC_ENOMEM,
                    "out of memory: a tensor of %lld %s of %zu bytes each, %.3f GB in all%s", (long long)n,
                    names[what], size, (double)n * (double)size * 1e-9,
                    what == SC_POS ? "; dcsr, csf and coo have none for what is empty: format= asks for one, "
                                     "of scorch.einsum too, layout=torch.sparse_coo of to_torch"
                                   : "");
}

int sc_convert_pos(const sc_conversion *c, int level, int64_t n, void **out)
{ return result(c, SC_POS, level, c->to->itype, n, out); }

int sc_convert_crd(const sc_conversion *c, int level, int64_t n, void **out)
{
    if (c->to->itype == SC_I32 && n > INT32_MAX)
        return sc_error(c->err, SC_EVALUE,
                        "level %d stores %lld coordinates, more than i32 indices count: use i64", level,
                        (long long)n);
    return result(c, SC_CRD, level, c->to->itype, n, out);
}

int sc_convert_val(const sc_conversion *c, int64_t n, void **out)
{
    int rc = result(c, SC_VAL, -1, c->from->dtype, n, out);
    c->to->view.val = *out;
    c->to->view.nval = n;
    return rc;
}

int sc_convert_perm(const sc_conversion *c, int64_t n, int64_t **out)
{
    void *p = NULL;
    int rc = c->perm ? result(c, SC_CRD, -1, SC_I64, n, &p) : SC_OK;
    *out = p;
    if (c->perm) *c->perm = p;
    return rc;
}

int sc_convert_strays(const sc_conversion *c, const bool *stray, int lanes)
{
    for (int t = 0; t < lanes; t++)
        if (stray[t])
            return sc_error(c->err, SC_EVALUE,
                            "a coordinate of the source is out of range; validate the tensor to see which");
    return SC_OK;
}
