/* drive_array.c: arrays of results, asked of the caller. */
#include "drive.h"

void *sc_drive_array(sc_drive *d, int out, int what, int level, sc_dtype type, int64_t n)
{
    static const char *const name[] = {"positions", "coordinates", "values"};
    void *p = d->alloc(d->ctx[out], what, level, type, n);
    if (!p) sc_error(d->err, SC_ENOMEM, "out of memory: %lld %s of the result", (long long)n, name[what]);
    if (p) sc_fill_advise(p, (size_t)n * sc_dtype_size(type));
    return p;
}

int sc_drive_pos(sc_drive *d, int out, int level, int64_t parent)
{
    sc_dtype itype = d->tensor[d->plan->nin + out].itype;
    void *pos = sc_drive_array(d, out, SC_POS, level, itype, parent + 1);
    if (!pos) return SC_ENOMEM;
    sc_index_put(pos, itype, 0, 0);
    d->view[d->plan->nin + out].level[level].pos = pos;
    return SC_OK;
}

int sc_drive_countable(const sc_drive *d, int out, int64_t n)
{
    if (d->tensor[d->plan->nin + out].itype == SC_I64 || n <= INT32_MAX) return SC_OK;
    return sc_error(d->err, SC_EVALUE,
                    "the result stores %lld entries, more than int32 indices count: ask for int64",
                    (long long)n);
}
