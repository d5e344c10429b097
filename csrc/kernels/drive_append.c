/* drive_append.c: sparse results whose size is known when they were made.
 *
 * A kernel may append at most so many entries for a range of units as some
 * operands store there. So every chunk gets room for them, and a slot more, in
 * arrays of the whole bound that the kernel writes as if they were the result:
 * what no entry reaches is never touched. Then the result is allocated and every
 * chunk moves to its place. The pos of a level without a compressed one above has
 * a size that does not depend on the entries: it is the result's own from the
 * start, and only shifted. */
#include <string.h>

#include "drive.h"

/* ---- bounds ---- */
/* Position in level 0 of t where unit u begins; u is neither the first nor the last. */
static int64_t position(const sc_tensor *t, bool own, int64_t u)
{
    const sc_level *v = &t->view.level[0];
    int64_t lo = 0, hi = v->npos;
    if (own || t->format.level[0].kind == SC_DENSE) return u;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (sc_index(v->crd, t->itype, mid) < u)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int64_t leaves_before(const sc_drive *d, const sc_step *s, int k, int chunk)
{
    const sc_tensor *t = &d->tensor[k];
    const sc_level *v = &t->view.level[0];
    int64_t p = 0;
    if (chunk == d->chunks.n)
        p = t->format.level[0].kind == SC_DENSE ? v->size : v->npos;
    else if (chunk > 0)
        p = position(t, k == s->arg && !s->coords, d->chunks.cut[chunk]);
    return sc_leaves_before(t, 0, p);
}

static int64_t most(const sc_drive *d, const sc_step *s, int chunk)
{
    int64_t sum = 0;
    for (int b = 0; b < s->nbound; b++) {
        int64_t least = INT64_MAX;
        for (uint32_t rest = s->bound[b]; rest; rest &= rest - 1) {
            int k = __builtin_ctz(rest);
            least = sc_min(least, leaves_before(d, s, k, chunk + 1) - leaves_before(d, s, k, chunk));
        }
        sum += least;
    }
    return sum;
}

/* ---- room ---- */
static size_t up(size_t n) { return (n + 63) & ~(size_t)63; }

/* The arrays that grow, one behind the other; with memory they are put into the view. returns their bytes */
static size_t lay_out(sc_drive *d, int t, int64_t n, char *memory)
{
    const sc_tensor *r = &d->tensor[t];
    sc_view *v = &d->view[t];
    size_t at = 0, each = sc_dtype_size(r->itype);
    bool below = false;
    for (int l = 0; l < r->format.nlevel; l++) {
        if (r->format.level[l].kind == SC_DENSE) continue;
        if (memory) v->level[l].crd = memory + at;
        at += up(each * (size_t)n);
        if (below && memory) v->level[l].pos = memory + at;
        if (below) at += up(each * (size_t)(n + 1));
        below = true;
    }
    if (memory) v->val = memory + at;
    return at + up(sc_dtype_size(r->dtype) * (size_t)n);
}

/* The pos of the first compressed level. */
static int first_pos(sc_drive *d, int out)
{
    int t = d->plan->nin + out, l = 0;
    const sc_tensor *r = &d->tensor[t];
    int64_t parent = 1;
    for (; r->format.level[l].kind == SC_DENSE; l++) {
        d->view[t].level[l].size = d->view[t].dim[r->format.level[l].dim];
        if (!sc_mul(parent, d->view[t].level[l].size, &parent) || parent == INT64_MAX)
            return sc_error(d->err, SC_EVALUE,
                            "the dense levels of the result have more than 2^63 positions");
    }
    return sc_drive_pos(d, out, l, parent);
}

int sc_append_open(sc_drive *d, const sc_step *s)
{
    sc_chunks *c = &d->chunks;
    const int out = s[1].out, t = d->plan->nin + out;
    int64_t n = 0;
    for (int k = 0; k < c->n; k++) {
        c->base[k] = n;
        for (int i = 0; i < c->ncursor; i++) c->cursor[k * c->ncursor + i] = n;
        n += most(d, s, k) + 1;
    }
    if (n > INT64_MAX / 64) return sc_error(d->err, SC_EVALUE, "the result may have more than 2^57 entries");
    sc_work_give(c->room);
    c->room = sc_work_take(lay_out(d, t, n, NULL));
    if (!c->room)
        return sc_error(d->err, SC_ENOMEM, "out of memory: room for %lld entries of the result",
                        (long long)n);
    sc_fill_advise(c->room, lay_out(d, t, n, c->room));
    return first_pos(d, out);
}

/* ---- moving ---- */
typedef struct {
    const sc_drive *drive;
    const sc_tensor *result;
    sc_view from;
    const sc_view *to;
} moving;

static void move(void *to, int64_t at, const void *from, int64_t base, int64_t n, size_t size)
{
    if (n) memcpy((char *)to + (size_t)at * size, (const char *)from + (size_t)base * size, (size_t)n * size);
}

/* to[begin ..] := from[base ..] - by, n entries */
static void shift(void *to, const void *from, sc_dtype itype, int64_t begin, int64_t n, int64_t base,
                  int64_t by)
{
    if (itype == SC_I64) {
        for (int64_t i = 0; i < n; i++) ((int64_t *)to)[begin + i] = ((const int64_t *)from)[base + i] - by;
        return;
    }
    for (int64_t i = 0; i < n; i++) /* the bound may be beyond int32, the result is not */
        ((uint32_t *)to)[begin + i] = ((const uint32_t *)from)[base + i] - (uint32_t)by;
}

static void move_level(const moving *m, int chunk, int l, int cursor)
{
    const sc_chunks *c = &m->drive->chunks;
    const sc_dtype itype = m->result->itype;
    const sc_level *from = &m->from.level[l], *to = &m->to->level[l];
    const int64_t base = c->base[chunk], *place = &c->cursor[chunk * c->ncursor];
    const int64_t *next = place + c->ncursor; /* where the chunk behind begins */
    void *pos = (void *)(uintptr_t)to->pos;
    move((void *)(uintptr_t)to->crd, place[cursor], from->crd, base, next[cursor] - place[cursor],
         sc_dtype_size(itype));
    if (cursor > 0) {
        int64_t above = place[cursor - 1];
        shift(pos, from->pos, itype, above + 1, next[cursor - 1] - above, base + 1, base - place[cursor]);
    } else if (l > 0 && base != place[cursor]) { /* written in place: all rows of the chunk's units */
        int64_t inner = 1;
        for (int k = 1; k < l; k++) inner *= m->to->level[k].size;
        int64_t rows = m->to->level[0].size, block = m->drive->chunks.block;
        int64_t begin = sc_min(c->cut[chunk] * block, rows), end = sc_min(c->cut[chunk + 1] * block, rows);
        shift(pos, pos, itype, begin * inner + 1, (end - begin) * inner, begin * inner + 1,
              base - place[cursor]);
    }
}

static void move_chunks(void *arg, int lane, int64_t begin, int64_t end)
{
    const moving *m = arg;
    const sc_chunks *c = &m->drive->chunks;
    (void)lane;
    for (int k = (int)begin; k < end; k++) {
        int cursor = 0;
        for (int l = 0; l < m->result->format.nlevel; l++)
            if (m->result->format.level[l].kind != SC_DENSE) move_level(m, k, l, cursor++);
        const int64_t *place = &c->cursor[k * c->ncursor + cursor - 1];
        move(m->to->val, *place, m->from.val, c->base[k], place[c->ncursor] - *place,
             sc_dtype_size(m->result->dtype));
    }
}

void sc_append_close(sc_drive *d, int out, const sc_view *from)
{
    const int t = d->plan->nin + out;
    moving m = {d, &d->tensor[t], *from, &d->view[t]};
    sc_parallel_ranges(sc_team_lanes((double)m.to->nval), d->chunks.n, move_chunks, &m);
    sc_work_give(d->chunks.room);
    d->chunks.room = NULL;
}
