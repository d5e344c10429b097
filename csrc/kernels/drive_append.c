/* drive_append.c: sparse results whose size is known when they were made.
 *
 * A kernel may append at most so many entries for a range of units as some
 * operands store there, or as another entry of the kernel said. The result is allocated for all of them; what no entry
 * reaches is never touched, and where that is most of it the result is made anew.
 *
 * A lane alone appends to the result itself, chunk by chunk. Several have a room each, which the
 * kernel writes as if it were the result and which fits a cache: one chunk is in
 * it at a time. How many entries the chunks ahead have is known when the kernels
 * have run on them, so chunks get their places in order, and are moved there by
 * their own lanes at once. The pos of a level without a compressed one above has a
 * size that does not depend on the entries: it is written in place, and shifted. */
#include <string.h>

#include "drive.h"

#define BOUNDED (1 << 26) /* entries there may be where they are not counted: memory that stays unused */

/* ---- bounds ---- */
/* Position in level 0 of t where unit u begins; u is neither the first nor the last. */
static int64_t position(const sc_tensor *t, bool own, int64_t u)
{
    const sc_level *v = &t->view.level[0];
    int64_t lo = 0, hi = v->npos;
    if (own || !sc_kind_of(&t->format.level[0])->crd) return u;
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
        p = !sc_kind_of(&t->format.level[0])->crd ? v->size : v->npos;
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
        if (!sc_kind_of(&r->format.level[l])->crd) continue;
        if (memory) v->level[l].crd = memory + at;
        at += up(each * (size_t)n);
        if (below && memory) v->level[l].pos = memory + at;
        if (below) at += up(each * (size_t)(n + 1));
        below = true;
    }
    if (memory) v->val = memory + at;
    return at + up(sc_dtype_size(r->dtype) * (size_t)n);
}

/* The result, with arrays for all entries there may be. */
static int allocate(sc_drive *d)
{
    const sc_chunks *c = &d->chunks;
    const int t = d->plan->nin + c->out;
    const sc_tensor *r = &d->tensor[t];
    sc_view *v = &d->view[t];
    int64_t parent = 1;
    for (int l = 0; l < r->format.nlevel; l++) {
        v->level[l].size = sc_level_size(&r->format.level[l], v->dim);
        if (sc_kind_of(&r->format.level[l])->crd) {
            int rc = sc_drive_pos(d, c->out, l, parent);
            if (rc) return rc;
            v->level[l].crd = sc_drive_array(d, c->out, SC_CRD, l, r->itype, c->most);
            if (!v->level[l].crd) return SC_ENOMEM;
            parent = c->most;
        } else if (!sc_mul(parent, v->level[l].size, &parent) || parent == INT64_MAX) {
            return sc_error(d->err, SC_EVALUE,
                            "the dense levels of the result have more than 2^63 positions");
        }
    }
    v->val = sc_drive_array(d, c->out, SC_VAL, -1, r->dtype, c->most);
    return v->val ? SC_OK : SC_ENOMEM;
}

/* Adds a chunk of at most n entries. */
static void expect(sc_chunks *c, int64_t n)
{
    c->largest = sc_max(c->largest, n);
    if (!sc_add(c->most, n, &c->most)) c->most = INT64_MAX;
}

bool sc_append_bounded(sc_drive *d, const sc_step *s)
{
    sc_chunks *c = &d->chunks;
    for (int k = 0; k < c->n; k++) expect(c, c->cursor[(k + 1) * c->ncursor - 1]);
    memset(c->cursor, 0, sizeof(int64_t) * (size_t)((c->n + 1) * c->ncursor));
    c->out = s[1].out;
    return c->bounded = c->most <= BOUNDED;
}

int sc_append_open(sc_drive *d, const sc_step *s, int nlane)
{
    sc_chunks *c = &d->chunks;
    int64_t room;
    if (s->nbound) c->out = s[1].out;
    for (int k = 0; k < c->n && s->nbound; k++) expect(c, most(d, s, k));
    const int t = d->plan->nin + c->out;
    c->appends = true;
    if (!sc_add(c->most, SC_SLACK, &c->most) || c->most > INT64_MAX / 64)
        return sc_error(d->err, SC_EVALUE, "the result may have more than 2^57 entries");
    int rc = allocate(d);
    if (rc || nlane == 1) return rc;
    c->to = d->view[t];
    c->share = c->largest + SC_SLACK;
    if (!sc_mul(nlane, c->share, &room) || room > INT64_MAX / 64 ||
        !(c->room = sc_work_take(lay_out(d, t, room, NULL))))
        return sc_error(d->err, SC_ENOMEM, "out of memory: room for %lld entries of the result",
                        (long long)c->share * nlane);
    lay_out(d, t, room, c->room);
    return SC_OK;
}

/* Where the room of a lane begins. */
static int64_t base(const sc_chunks *c, int lane) { return c->room ? lane * c->share : 0; }

void sc_append_begin(const sc_chunks *c, int chunk, sc_lane *lane)
{
    for (int i = 0; i < c->ncursor; i++)
        lane->cursor[i] = c->room ? base(c, lane->id) : c->cursor[chunk * c->ncursor + i];
}

/* ---- moving ---- */
typedef struct {
    const sc_drive *drive;
    const sc_tensor *result;
    const sc_view *from;
    int chunk;
    int64_t base; /* where it begins in the room */
} moving;

static void move(const void *to, int64_t at, const void *from, int64_t base, int64_t n, size_t size)
{
    char *p = (char *)(uintptr_t)to + (size_t)at * size;
    if (n) memcpy(p, (const char *)from + (size_t)base * size, (size_t)n * size);
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

/* Written in place: all rows of the chunk's units. */
static void shift_rows(const moving *m, void *pos, int level, int64_t by)
{
    const sc_chunks *c = &m->drive->chunks;
    const sc_view *v = &c->to;
    int64_t rows = v->level[0].size, inner = 1;
    for (int k = 1; k < level; k++) inner *= v->level[k].size;
    int64_t begin = sc_min(c->cut[m->chunk] * c->block, rows);
    int64_t end = sc_min(c->cut[m->chunk + 1] * c->block, rows);
    shift(pos, pos, m->result->itype, begin * inner + 1, (end - begin) * inner, begin * inner + 1, by);
}

static void move_level(const moving *m, int l, int cursor)
{
    const sc_chunks *c = &m->drive->chunks;
    const sc_level *from = &m->from->level[l], *to = &c->to.level[l];
    const int64_t *place = &c->cursor[m->chunk * c->ncursor], *next = place + c->ncursor;
    void *pos = (void *)(uintptr_t)to->pos;
    move(to->crd, place[cursor], from->crd, m->base, next[cursor] - place[cursor],
         sc_dtype_size(m->result->itype));
    if (cursor > 0)
        shift(pos, from->pos, m->result->itype, place[cursor - 1] + 1, next[cursor - 1] - place[cursor - 1],
              m->base + 1, m->base - place[cursor]);
    else if (l > 0 && m->base != place[cursor])
        shift_rows(m, pos, l, m->base - place[cursor]);
}

void sc_append_place(sc_drive *d, int chunk, const sc_lane *lane)
{
    sc_chunks *c = &d->chunks;
    const int t = d->plan->nin + c->out;
    moving m = {d, &d->tensor[t], &d->view[t], chunk, base(c, lane->id)};
    int64_t *place = &c->cursor[chunk * c->ncursor], *next = place + c->ncursor;
    int cursor = 0;
    for (int i = 0; i < c->ncursor; i++) next[i] = lane->cursor[i] + (c->room ? place[i] - m.base : 0);
    atomic_store_explicit(&c->placed, chunk + 1, memory_order_release);
    if (!c->room) return;
    for (int l = 0; l < m.result->format.nlevel; l++)
        if (sc_kind_of(&m.result->format.level[l])->crd) move_level(&m, l, cursor++);
    move(c->to.val, place[cursor - 1], m.from->val, m.base, next[cursor - 1] - place[cursor - 1],
         sc_dtype_size(m.result->dtype));
}

/* ---- the result ---- */
typedef struct {
    char *to;
    const char *from;
    size_t size;
} copied;

static void copy_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const copied *c = arg;
    const size_t at = (size_t)begin * c->size;
    (void)lane;
    memcpy(c->to + at, c->from + at, (size_t)(end - begin) * c->size);
}

/* An array of n elements instead of one with room for more than twice as many. */
static int fit(sc_drive *d, int what, int level, sc_dtype type, int64_t n, const void **array)
{
    const sc_chunks *c = &d->chunks;
    if (n >= (c->most - SC_SLACK) / 2) return SC_OK;
    void *p = sc_drive_array(d, c->out, what, level, type, n);
    if (!p) return SC_ENOMEM;
    copied all = {p, *array, sc_dtype_size(type)};
    if (n) sc_parallel_ranges(sc_team_lanes((double)n / 4), n, copy_range, &all);
    *array = p;
    return SC_OK;
}

int sc_append_close(sc_drive *d)
{
    sc_chunks *c = &d->chunks;
    sc_tensor *r = &d->tensor[d->plan->nin + c->out];
    sc_view *v = &d->view[d->plan->nin + c->out];
    const int64_t *total = &c->cursor[c->n * c->ncursor];
    int64_t parent = 1;
    int cursor = 0, rc = SC_OK;
    const void *val;
    if (c->room) *v = c->to;
    for (int l = 0; l < r->format.nlevel && !rc; l++) {
        sc_level *at = &v->level[l];
        int64_t n = parent * at->size;
        if (sc_kind_of(&r->format.level[l])->crd) {
            n = total[cursor];
            rc = sc_drive_countable(d, c->out, n);
            if (!rc && cursor++) rc = fit(d, SC_POS, l, r->itype, parent + 1, &at->pos);
            if (!rc) rc = fit(d, SC_CRD, l, r->itype, n, &at->crd);
            if (!rc && !l) sc_index_put((void *)(uintptr_t)at->pos, r->itype, 1, n);
        }
        at->npos = parent = n;
    }
    val = v->val;
    v->nval = parent;
    if (!rc) rc = fit(d, SC_VAL, -1, r->dtype, parent, &val);
    v->val = (void *)(uintptr_t)val;
    r->view = *v;
    return rc;
}
