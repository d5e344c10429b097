/* drive_result.c: sparse results and their chunks.
 *
 * The units are cut into chunks once. A kernel leaves one row of cursors a chunk:
 * how much it counted; their sums over all chunks are the sizes of the result's
 * levels, and the sums over the chunks ahead say where a chunk begins. So chunks
 * are filled in any order, by any thread, and the result is always the same. */
#include <string.h>

#include "drive.h"

#define CHUNKS 8 /* a lane, at least: so many that lanes end together */
/* Stored leaves of an operand in a chunk: what is appended for them stays in a cache of the second level; the same where
 * each may bring several entries, so few chunks that lanes seldom wait for each other's; the same where entries are counted
 * first, or one lane appends: stops are between chunks. */
#define LEAVES 8192
#define FACTORS 65536
#define COUNTED 16384
#define MOST 4096 /* chunks */

/* Cuts chunks, and says in which order they are taken: those that a heavy unit makes twice as heavy as most first, since
 * at the end others would wait for them. */
static void cut_chunks(const sc_chunks *c, const sc_units *u, int64_t total)
{
    int taken = 0;
    for (int k = 0; k <= c->n; k++) c->cut[k] = sc_units_part(u, 0, u->n, k, c->n);
    for (int heavy = 1; heavy >= 0; heavy--)
        for (int k = 0; k < c->n; k++) {
            const int64_t weight = sc_units_before(u, c->cut[k + 1]) - sc_units_before(u, c->cut[k]);
            if ((weight / 2 > total / c->n) == heavy) c->order[taken++] = k;
        }
    for (int k = 0; k < c->n; k++) c->cut[k] = sc_units_edge(u, c->cut[k]);
    c->cut[c->n] = u->end;
}

int sc_chunks_cut(sc_drive *d, const sc_step *s, const sc_units *u, int64_t total, int nlane)
{
    sc_chunks *c = &d->chunks;
    const bool bounds = sc_step_bounds(s) && nlane > 1;
    const int64_t each = bounds ? FACTORS : s->nbound ? LEAVES : COUNTED;
    const int64_t fine = sc_min(total / each, MOST);
    const bool one =
        nlane == 1 && (s->nbound || fine < CHUNKS); /* what the only lane appends is the result */
    int n = one ? 1 : (int)sc_max(sc_min(sc_max((int64_t)nlane * CHUNKS, fine), u->n), 1);
    const size_t size =
        sizeof(int64_t) * (size_t)(n + 1 + (n + 1) * s->ncursor) + sizeof(int32_t) * (size_t)n;
    sc_work_give(c->cut);
    sc_work_give(c->room);
    *c = (sc_chunks){.cut = sc_work_take(size), .n = n, .ncursor = s->ncursor, .block = s->block};
    if (!c->cut) return sc_error(d->err, SC_ENOMEM, "out of memory: counts of %d chunks", n);
    memset(c->cut, 0, size);
    c->cursor = c->cut + n + 1;
    c->order = (int32_t *)(c->cursor + (n + 1) * s->ncursor);
    cut_chunks(c, u, total);
    return SC_OK;
}

/* Entries of one level become the place where each chunk begins. returns the sum, which is behind the last */
static int64_t places(const sc_chunks *c, int cursor)
{
    int64_t total = 0, *at = &c->cursor[cursor];
    for (int k = 0; k < c->n; k++, at += c->ncursor) {
        int64_t n = *at;
        *at = total;
        total += n;
    }
    return *at = total;
}

/* A compressed level of n entries. */
static int alloc_level(sc_drive *d, int out, int level, int64_t parent, int64_t n)
{
    sc_dtype itype = d->tensor[d->plan->nin + out].itype;
    sc_level *v = &d->view[d->plan->nin + out].level[level];
    int rc = sc_drive_countable(d, out, n);
    if (!rc) rc = sc_drive_pos(d, out, level, parent);
    if (rc) return rc;
    if (level == 0) sc_index_put((void *)(uintptr_t)v->pos, itype, 1, n);
    v->crd = sc_drive_array(d, out, SC_CRD, level, itype, n);
    return v->crd ? SC_OK : SC_ENOMEM;
}

int sc_drive_alloc(sc_drive *d, const sc_step *s)
{
    int t = d->plan->nin + s->out, cursor = s->cursor;
    sc_tensor *r = &d->tensor[t];
    sc_view *v = &d->view[t];
    int64_t parent = 1;
    if (d->chunks.bounded) return SC_OK; /* it is made as its kernel runs */
    if (d->chunks.appends) return sc_append_close(d);
    for (int l = 0; l < r->format.nlevel; l++) {
        int64_t n;
        v->level[l].size = sc_level_size(&r->format.level[l], v->dim);
        if (sc_kind_of(&r->format.level[l])->crd) {
            n = places(&d->chunks, cursor++);
            int rc = alloc_level(d, s->out, l, parent, n);
            if (rc) return rc;
        } else if (!sc_mul(parent, v->level[l].size, &n) || n == INT64_MAX) {
            return sc_error(d->err, SC_EVALUE,
                            "the dense levels of the result have more than 2^63 positions");
        }
        v->level[l].npos = parent = n;
    }
    v->nval = parent;
    v->val = sc_drive_array(d, s->out, SC_VAL, -1, r->dtype, parent);
    if (!v->val) return SC_ENOMEM;
    r->view = *v;
    return SC_OK;
}
