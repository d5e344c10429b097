/* drive_result.c: sparse results and their chunks.
 *
 * The units are cut into chunks once. A kernel leaves one row of cursors a chunk:
 * how much it counted, or appended; their sums over all chunks are the sizes of
 * the result's levels, and the sums over the chunks ahead say where a chunk begins.
 * So chunks are filled in any order, by any thread, and the result is always the
 * same. */
#include <string.h>

#include "drive.h"

#define CHUNKS 8 /* a lane: so many that lanes end together */

int sc_chunks_cut(sc_drive *d, const sc_step *s, const sc_units *u, int64_t total, int nlane)
{
    sc_chunks *c = &d->chunks;
    int n = nlane == 1 ? 1 : (int)sc_max(sc_min((int64_t)nlane * CHUNKS, u->n), 1);
    size_t size = sizeof(int64_t) * (size_t)(2 * n + 1 + (n + 1) * s->ncursor);
    sc_work_give(c->cut);
    *c = (sc_chunks){.cut = sc_work_take(size), .n = n, .ncursor = s->ncursor, .block = s->block};
    if (!c->cut) return sc_error(d->err, SC_ENOMEM, "out of memory: counts of %d chunks", n);
    memset(c->cut, 0, size);
    c->base = c->cut + n + 1;
    c->cursor = c->base + n;
    for (int k = 0; k <= n; k++) c->cut[k] = sc_units_cut(u, total, k, n);
    return SC_OK;
}

/* Entries of one level become the place where each chunk begins. returns the sum, which is behind the last */
static int64_t places(const sc_chunks *c, int cursor)
{
    int64_t total = 0, *at = &c->cursor[cursor];
    for (int k = 0; k < c->n; k++, at += c->ncursor) {
        int64_t n = *at - c->base[k];
        *at = total;
        total += n;
    }
    return *at = total;
}

static void *array(sc_drive *d, int out, int what, int level, sc_dtype type, int64_t n)
{
    static const char *const name[] = {"positions", "coordinates", "values"};
    void *p = d->alloc(d->ctx[out], what, level, type, n);
    if (!p && n > 0)
        sc_error(d->err, SC_ENOMEM, "out of memory: %lld %s of the result", (long long)n, name[what]);
    if (p) sc_fill_advise(p, (size_t)n * sc_dtype_size(type));
    return p;
}

int sc_drive_pos(sc_drive *d, int out, int level, int64_t parent)
{
    sc_dtype itype = d->tensor[d->plan->nin + out].itype;
    void *pos = array(d, out, SC_POS, level, itype, parent + 1);
    if (!pos) return SC_ENOMEM;
    sc_index_put(pos, itype, 0, 0);
    d->view[d->plan->nin + out].level[level].pos = pos;
    return SC_OK;
}

/* A compressed level of n entries; pos: it has its array already. */
static int alloc_level(sc_drive *d, int out, int level, bool pos, int64_t parent, int64_t n)
{
    sc_dtype itype = d->tensor[d->plan->nin + out].itype;
    sc_level *v = &d->view[d->plan->nin + out].level[level];
    if (itype == SC_I32 && n > INT32_MAX)
        return sc_error(d->err, SC_EVALUE,
                        "the result stores %lld entries, more than int32 indices count: ask for int64",
                        (long long)n);
    int rc = pos ? SC_OK : sc_drive_pos(d, out, level, parent);
    if (rc) return rc;
    if (level == 0) sc_index_put((void *)(uintptr_t)v->pos, itype, 1, n);
    v->crd = array(d, out, SC_CRD, level, itype, n);
    return v->crd || !n ? SC_OK : SC_ENOMEM;
}

int sc_drive_alloc(sc_drive *d, const sc_step *s)
{
    int t = d->plan->nin + s->out, cursor = s->cursor;
    sc_tensor *r = &d->tensor[t];
    sc_view *v = &d->view[t], made = *v;
    int64_t parent = 1;
    for (int l = 0; l < r->format.nlevel; l++) {
        int64_t n;
        v->level[l].size = sc_level_size(&r->format.level[l], v->dim);
        if (r->format.level[l].kind != SC_DENSE) {
            bool pos = d->chunks.room && cursor == s->cursor;
            n = places(&d->chunks, cursor++);
            int rc = alloc_level(d, s->out, l, pos, parent, n);
            if (rc) return rc;
        } else if (!sc_mul(parent, v->level[l].size, &n) || n == INT64_MAX) {
            return sc_error(d->err, SC_EVALUE,
                            "the dense levels of the result have more than 2^63 positions");
        }
        v->level[l].npos = parent = n;
    }
    v->nval = parent;
    v->val = array(d, s->out, SC_VAL, -1, r->dtype, parent);
    if (!v->val && parent) return SC_ENOMEM;
    if (d->chunks.room) sc_append_close(d, s->out, &made);
    r->view = *v;
    return SC_OK;
}
