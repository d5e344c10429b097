/* listed.c: steps that the library computes, a product for each of what a sparse matrix has in one dimension, with the
 * rows of dense tensors that it lists there in the other. All rows are gathered before, or summed behind. */
#include "../listed.h"

#include "../slabs.h"
#include "run.h"

sc_format sc_listed_format(const Dense *d)
{
    sc_format f = {.ndim = 2, .nlevel = 2};
    const uint8_t each = (uint8_t)d->each_list;
    f.level[0] = (sc_levelspec){.kind = SC_DENSE, .dim = each, .unique = true};
    f.level[1] = (sc_levelspec){.kind = SC_COMPRESSED, .dim = !each, .unique = true};
    return f;
}

/* A dense tensor: as it is, a matrix for each, or the rows that are listed, in memory of their own. */
typedef struct {
    sc_view view;
    int each;
    void *rows;
} gathered;

static bool open(const sc_tensor *list, const sc_tensor *t, int each, int listed, bool filled, gathered *s)
{
    *s = (gathered){.view = t->view, .each = each};
    if (listed < 0) return true;
    const sc_tensor rows = sc_listed_rows(list);
    s->rows = sc_slabs_take(&rows, t, listed, filled, &s->view);
    return s->rows;
}

/* What it has for one of them, whose entries are [begin, end). */
static sc_view part(const gathered *s, int64_t at, int64_t begin, int64_t end, sc_dtype type)
{
    sc_view v = s->view;
    const int d = s->rows ? 0 : s->each;
    v.val = (char *)v.val + (size_t)(v.stride[d] * (s->rows ? begin : at)) * sc_dtype_size(type);
    v.dim[d] = s->rows ? end - begin : 1;
    v.nval = s->view.nval / sc_max(s->view.dim[d], 1) * v.dim[d];
    return v;
}

/* Entries [begin, end) at once. */
static void multiply(const Dense *d, const sc_tensor *out, const gathered s[3], int64_t at, int64_t begin,
                     int64_t end, sc_err *err)
{
    sc_view v[3];
    for (int k = 0; k < 3; k++) v[k] = part(&s[k], at, begin, end, out->dtype);
    if (begin < end)
        sc_dense_multiply_views(d, out, &v[0], &v[1], &v[2], err);
    else if (!s[2].rows)
        sc_listed_clear(&v[2], out->format.ndim, out->dtype);
}

/* oneDNN's tiles of bfloat16 read behind a row that they do not fill, and multiply that by zero: such rows end before
 * one with an infinity or NaN. */
static int64_t stop_of(const Dense *d, const sc_tensor *out, const gathered s[3], int64_t begin, int64_t end)
{
    enum { TILE = 32 };
    int64_t length = 1;
    for (int i = 0; i < d->nsum; i++) length *= s[0].view.dim[d->sum_a[i]];
    if (out->dtype != SC_BF16 || !s[2].rows || length % TILE == 0) return end;
    return sc_listed_infinite(&s[d->scaled].view, sc_min(begin + 1, end), end);
}

static int multiply_each(const Dense *d, const sc_tensor *list, const sc_tensor *out, const gathered s[3],
                         sc_err *err)
{
    const void *pos = list->view.level[1].pos;
    int64_t begin = 0, end, stop;
    for (int64_t at = 0; at < list->view.dim[d->each_list]; at++) {
        end = sc_index(pos, list->itype, at + 1);
        do {
            stop = stop_of(d, out, s, begin, end);
            multiply(d, out, s, at, begin, stop, err);
            if (err->code) return err->code;
            begin = stop;
        } while (begin < end);
    }
    return SC_OK;
}

int sc_listed_run(const Dense *d, const sc_tensor *in, const sc_tensor *out, sc_err *err)
{
    const sc_tensor *list = &in[d->list];
    gathered s[3];
    bool room = open(list, &in[d->a], d->each_a, d->listed_a, true, &s[0]) &
                open(list, &in[d->b], d->each_b, d->listed_b, true, &s[1]) &
                open(list, out, d->each_out, d->listed_out, false, &s[2]);
    if (room && !d->pattern) sc_listed_scale(list, &s[d->scaled].view);
    if (room && !multiply_each(d, list, out, s, err) && s[2].rows)
        room = sc_listed_sum(list, &s[2].view, &out->view, out->format.ndim);
    for (int k = 0; k < 3; k++) sc_work_give(s[k].rows);
    return room ? err->code : sc_error(err, SC_ENOMEM, "out of memory for a dense product");
}
