/* drive_lanes.c: one KERNEL step on its lanes.
 *
 * The number of lanes follows from the work alone, then ranges follow from the
 * number of lanes, so results do not depend on which thread ran what. A lane's
 * sc_lane lives on the stack of the thread that runs it; nothing is allocated
 * unless the step asks for workspaces or splits a unit.
 *
 * A hub is a unit heavier than a sixteenth of a lane's share q = total / (16 T), and heavy enough to pay for a cut.
 * Every hub holds a multiple of q inside its own span of the weight axis, so 16 T
 * binary searches find them all. They are taken first, above a quarter of a share
 * in pieces, then what lies between them in ranges that become smaller: lanes end together.
 *
 * Chunks of a sparse result are fixed ranges that lanes take from a common
 * counter, in order. A kernel whose hash table is full is called again with a larger one.
 *
 * Long work is done in pieces, between which the thread that was called asks whether it should end. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "drive.h"

#define PATIENCE 1000 /* looks at what another thread does before the processor is given away */
#ifndef SC_PIECE_WORK
#define SC_PIECE_WORK (1 << 25) /* multiply-adds of a lane between two questions whether to go on */
#endif
#define MAXPIECES 256
#define EVALUATION 2.5 /* elements that are moved in the time of an evaluation */
#define HUBS 16        /* in a lane's share */
/* What copies of a workspace cost, in multiply-adds of vectors: each element that is cleared and summed, and a second
 * start of the lanes. */
#define COPY 2
#define RESTART (SC_LANE_WORK / 2 * SC_ENTRY_WORK)

/* A call of an entry: units [begin, end), or a piece of unit when slot >= 0. */
typedef struct {
    int64_t begin, end, unit;
    int slot;
} item;

typedef struct {
    sc_drive *drive;
    const sc_step *step;
    sc_units units;
    int64_t total;
    int nlane, pieces; /* of a lane's share */
    sc_pulse pulse;    /* of the thread that was called */
    char *scratch, *partial;
    int64_t scratch_at[SC_MAXWORK + 1]; /* where workspaces lie in a lane's scratch; the last is its size */
    int64_t scratch_size, partial_size; /* of a lane; of a copy or carry slot */
    item *items;
    int nitem;
    int64_t cut[SC_MAXLANE + 1]; /* between the shares of lanes, where these are fixed */
    atomic_int next, rc;
    _Atomic int64_t slots; /* of the largest table */
} stepping;

/* ---- sizes and memory ---- */
static int scratch_bytes(const sc_step *s, const int64_t *dim, int64_t *at, sc_err *e)
{
    at[0] = 0;
    for (int k = 0; k < s->nscratch; k++) {
        int64_t n;
        int rc = sc_size_bytes(&s->scratch[k], dim, &n, e);
        if (rc) return rc;
        if (n > INT64_MAX - 63 || !sc_add(at[k], (n + 63) & ~(int64_t)63, &at[k + 1]))
            return sc_error(e, SC_EVALUE, "the workspaces of this expression overflow: more than 2^63 bytes");
    }
    return SC_OK;
}

static int take(int64_t n, int64_t each, void *out, sc_err *e)
{
    int64_t size;
    void *p = sc_mul(n, each, &size) ? sc_work_take((size_t)size) : NULL;
    memcpy(out, &p, sizeof p);
    if (p) return SC_OK;
    return sc_error(e, SC_ENOMEM, "out of memory: a workspace of %lld times %lld bytes", (long long)n,
                    (long long)each);
}

/* Of entries, and one at least of each coordinate where units are those. */
static double evaluations(const stepping *r)
{
    const sc_step *s = r->step;
    if (!s->entries) return (double)r->total;
    return (double)r->drive->tensor[s->entries - 1].view.nval + (double)r->units.n * s->block;
}

/* Of an evaluation: narrow vectors take as long as wide ones. */
static double entry_work(const stepping *r)
{
    const double each = sc_size_work(&r->step->work, r->drive->dim);
    return each > SC_ENTRY_WORK ? each : SC_ENTRY_WORK;
}

static int lanes(const stepping *r)
{
    const sc_step *s = r->step;
    if (s->strategy == SC_SERIAL) return 1;
    const double entry = entry_work(r);
    int n = sc_team_lanes(EVALUATION * evaluations(r) * entry / SC_ENTRY_WORK);
    if (s->strategy == SC_PRIVATE) {
        const double copies = RESTART + COPY * (double)r->partial_size / (double)sc_dtype_size(s->dtype);
        if (copies > evaluations(r) * entry * (n - 1) / n) n = 1; /* more than other lanes take over */
    }
    if (s->sums) n = r->drive->call.copies[s->sums - 1]; /* the lanes that have them in their caches */
    if (s->strategy != SC_SPLIT && r->units.n < n) n = (int)sc_max(r->units.n, 1);
    return n;
}

static int pieces(const stepping *r)
{
    const double work = evaluations(r) * sc_size_work(&r->step->work, r->drive->dim) / r->nlane;
    return work < 2.0 * SC_PIECE_WORK ? 1 : (int)sc_min((int64_t)(work / SC_PIECE_WORK), MAXPIECES);
}

/* Weight of what is run at once where a heavy unit is cut: four parts of each piece. */
static int64_t part_of(const stepping *r) { return sc_max(r->total / (4 * r->nlane) / r->pieces, 1); }

/* ---- splitting ---- */
/* Ranges, smaller towards the end of what is left. */
static void put_range(stepping *r, int64_t begin, int64_t end, int64_t *left)
{
    const int64_t share = part_of(r);
    while (begin < end) {
        const int64_t ahead = sc_units_before(&r->units, begin);
        const int64_t size = sc_min(share, sc_max(*left / (2 * r->nlane), share / 4));
        int64_t to = sc_units_find(&r->units, begin, ahead + sc_max(size, 1));
        to = sc_min(sc_max(to, begin + 1), end);
        *left -= sc_units_before(&r->units, to) - ahead;
        r->items[r->nitem++] = (item){begin, to, 0, -1};
        begin = to;
    }
}

/* Pieces of equal positions; their weights are as even as the level below. What is no heavier than one stays whole. */
static int put_pieces(stepping *r, int64_t unit, int slot)
{
    const int64_t share = part_of(r);
    int64_t weight = sc_units_before(&r->units, unit + 1) - sc_units_before(&r->units, unit);
    int64_t begin = sc_units_child(&r->units, unit), n = sc_units_child(&r->units, unit + 1) - begin;
    const int np = (int)sc_min((weight + share - 1) / share, n);
    if (np < 2) {
        r->items[r->nitem++] = (item){unit, unit + 1, 0, -1};
        return slot;
    }
    for (int k = 0; k < np; k++)
        r->items[r->nitem++] =
            (item){begin + sc_split_even(n, k, np), begin + sc_split_even(n, k + 1, np), unit, slot + k};
    return slot + np;
}

/* hub has room for HUBS T units; returns how many there are, in order. What is less than half of what pays for a lane
 * is none: a lane that has it to boot ends before hubs would have been found. */
static int find_hubs(const stepping *r, int64_t *hub)
{
    int n = 0, most = HUBS * r->nlane;
    const int64_t pays = (int64_t)(SC_LANE_WORK / 2 * SC_ENTRY_WORK / entry_work(r));
    int64_t share = sc_max(r->total / most, pays), from = 0;
    if (sc_units_within(&r->units, share)) return 0;
    for (int k = 0; k < most && share > 0; k++) {
        from = sc_units_find(&r->units, from, sc_share(r->total, k, most) + 1);
        const int64_t u = from - 1;
        if (u < 0 || u >= r->units.n || (n && hub[n - 1] == u)) continue;
        int64_t below = sc_units_child(&r->units, u);
        if (below < 0 || sc_units_child(&r->units, u + 1) - below < 2) continue;
        if (sc_units_before(&r->units, u + 1) - sc_units_before(&r->units, u) > share) hub[n++] = u;
    }
    return n;
}

/* Lists the calls of a step with hubs: these first, then the ranges between them. */
static int split(stepping *r)
{
    int64_t hub[HUBS * SC_MAXLANE], from = 0, left = r->total;
    int n = find_hubs(r, hub), slots = 0;
    if (!n) return SC_OK;
    const int64_t most = (8 * (int64_t)r->pieces + 3 * HUBS + 8) * r->nlane + 8;
    int rc = take(most, sizeof(item), &r->items, r->drive->err);
    if (rc) return rc;
    for (int k = 0; k < n; k++) {
        slots = put_pieces(r, hub[k], slots);
        left -= sc_units_before(&r->units, hub[k] + 1) - sc_units_before(&r->units, hub[k]);
    }
    for (int k = 0; k < n; from = hub[k++] + 1) put_range(r, from, hub[k], &left);
    put_range(r, from, r->units.n, &left);
    if (!r->step->finish) return SC_OK;
    return take(sc_max(slots, 1), r->partial_size, &r->partial, r->drive->err);
}

/* ---- running ---- */
static void report(stepping *r, int rc)
{
    int none = 0;
    if (rc) atomic_compare_exchange_strong(&r->rc, &none, rc);
}

static bool going(stepping *r, const sc_lane *lane)
{
    const bool asks = !lane->id && (r->pieces > 1 || r->drive->chunks.n > 1);
    if (asks && sc_pulse_stopped(&r->pulse, 0)) report(r, SC_ESTOP);
    return atomic_load_explicit(&r->rc, memory_order_relaxed) == 0;
}

/* Scratch of a lane that has hash tables, of lane->slots slots. */
static int tables(const stepping *r, sc_lane *lane)
{
    int64_t size;
    sc_work_give(lane->scratch);
    lane->scratch = NULL;
    if (sc_mul(lane->slots, r->step->hash, &size) && sc_add(size, r->scratch_size, &size))
        lane->scratch = sc_work_take((size_t)size);
    if (!lane->scratch) return SC_ENOMEM;
    memset(lane->scratch, 0, (size_t)size);
    return SC_OK;
}

/* One call of an entry; a kernel that asks for larger tables runs again from where it was. */
static void run_range(stepping *r, sc_lane *lane, int entry, int64_t begin, int64_t end)
{
    sc_lane start = *lane;
    int rc = r->drive->entry[entry](&r->drive->call, lane, begin, end);
    while (rc == SC_EGROW && r->step->hash) {
        memcpy(lane->cursor, start.cursor, sizeof start.cursor);
        lane->slots *= 4;
        rc = tables(r, lane);
        if (!rc) rc = r->drive->entry[entry](&r->drive->call, lane, begin, end);
    }
    report(r, rc);
}

static void run_items(stepping *r, sc_lane *lane)
{
    const sc_step *s = r->step;
    while (going(r, lane)) {
        int k = atomic_fetch_add(&r->next, 1);
        if (k >= r->nitem) return;
        const item *it = &r->items[k];
        lane->partial = r->partial && it->slot >= 0 ? r->partial + it->slot * r->partial_size : NULL;
        lane->cursor[0] = it->unit;
        run_range(r, lane, it->slot < 0 ? s->entry : s->part, it->begin, it->end);
    }
}

static void run_chunks(stepping *r, sc_lane *lane)
{
    const sc_chunks *c = &r->drive->chunks;
    size_t size = sizeof(int64_t) * (size_t)c->ncursor;
    while (going(r, lane)) {
        const int turn = atomic_fetch_add(&r->next, 1);
        if (turn >= c->n) return;
        const int k = c->order[turn];
        int64_t *cursor = c->cursor + k * c->ncursor;
        memcpy(lane->cursor, cursor, size);
        run_range(r, lane, r->step->entry, c->cut[k], c->cut[k + 1]);
        if (r->step->counts) memcpy(cursor, lane->cursor, size);
    }
}

/* Until chunk k is the next one to get its place. It was taken after all ahead of it, each of which is being run or
 * was, so this ends; false: the step has failed. */
static bool wait_turn(stepping *r, const sc_lane *lane, int k)
{
    for (int turns = 0; atomic_load_explicit(&r->drive->chunks.placed, memory_order_acquire) != k; turns++) {
        if (!going(r, lane)) return false;
        if (turns > PATIENCE) sched_yield();
    }
    return true;
}

static void append_chunks(stepping *r, sc_lane *lane)
{
    sc_chunks *c = &r->drive->chunks;
    while (going(r, lane)) {
        int k = atomic_fetch_add(&r->next, 1);
        if (k >= c->n) return;
        sc_append_begin(c, k, lane);
        run_range(r, lane, r->step->entry, c->cut[k], c->cut[k + 1]);
        if (going(r, lane) && wait_turn(r, lane, k)) sc_append_place(r->drive, k, lane);
    }
}

/* The lane's share of the units. */
static void run_share(stepping *r, sc_lane *lane, int t)
{
    int64_t begin = r->cut[t], end;
    for (int k = 1; k <= r->pieces && going(r, lane); k++, begin = end) {
        end = sc_units_part(&r->units, r->cut[t], r->cut[t + 1], k, r->pieces);
        const bool last =
            t == r->nlane - 1 && k == r->pieces; /* also of no units, where there are coordinates */
        const int64_t from = sc_units_edge(&r->units, begin);
        const int64_t to = last ? r->units.end : sc_units_edge(&r->units, end);
        if (from < to) run_range(r, lane, r->step->entry, from, to);
    }
}

static void run_lane(stepping *r, int t)
{
    const sc_step *s = r->step;
    sc_lane lane = {.id = t, .n = r->nlane, .slots = r->drive->slots};
    if (r->scratch) {
        lane.scratch = r->scratch + t * r->scratch_size;
        for (int k = 0; k < s->nscratch && s->clean; k++)
            if (s->clean >> k & 1)
                memset((char *)lane.scratch + r->scratch_at[k], 0,
                       (size_t)(r->scratch_at[k + 1] - r->scratch_at[k]));
    }
    if (s->hash) report(r, tables(r, &lane));
    if (s->strategy == SC_PRIVATE) {
        lane.partial = r->partial + t * r->partial_size;
        sc_fill_serial(lane.partial, s->dtype, r->partial_size / (int64_t)sc_dtype_size(s->dtype), s->fill);
    }
    if (r->items)
        run_items(r, &lane);
    else if (sc_step_appends(r->drive, s))
        append_chunks(r, &lane);
    else if (s->ncursor)
        run_chunks(r, &lane);
    else
        run_share(r, &lane, t);
    if (!s->hash) return;
    sc_work_give(lane.scratch);
    int64_t slots = atomic_load(&r->slots);
    while (slots < lane.slots && !atomic_compare_exchange_weak(&r->slots, &slots, lane.slots)) continue;
}

static void run_lanes(void *arg, int id, int n)
{
    stepping *r = arg;
    for (int t = id; t < r->nlane; t += n) run_lane(r, t);
}

/* Adds up the carry slots of every split unit. */
static void finish(stepping *r)
{
    for (int k = 0, m; k < r->nitem && !atomic_load(&r->rc); k = m) {
        const item *it = &r->items[k];
        for (m = k + 1; m < r->nitem && r->items[m].slot >= 0 && r->items[m].unit == it->unit;) m++;
        if (it->slot < 0) continue;
        sc_lane lane = {
            .n = r->nlane, .scratch = r->scratch, .partial = r->partial + it->slot * r->partial_size};
        lane.cursor[0] = it->unit;
        lane.cursor[1] = m - k;
        report(r, r->drive->entry[r->step->finish](&r->drive->call, &lane, it->unit, it->unit + 1));
    }
}

/* ---- the step ---- */
static int prepare(stepping *r)
{
    sc_drive *d = r->drive;
    const sc_step *s = r->step;
    int rc = 0;
    if (s->strategy == SC_SPLIT || s->strategy == SC_PRIVATE)
        rc = sc_size_bytes(&s->partial, d->dim, &r->partial_size, d->err);
    if (!rc && s->nscratch) rc = scratch_bytes(s, d->dim, r->scratch_at, d->err);
    if (rc) return rc;
    r->scratch_size = r->scratch_at[s->nscratch];
    r->nlane = lanes(r);
    r->pieces = pieces(r);
    if ((s->counts || s->nbound) && (rc = sc_chunks_cut(d, s, &r->units, r->total, r->nlane))) return rc;
    if (sc_step_appends(d, s) && (rc = sc_append_open(d, s, r->nlane))) return rc;
    if (r->scratch_size && !s->hash && (rc = take(r->nlane, r->scratch_size, &r->scratch, d->err))) return rc;
    if (s->strategy == SC_SPLIT && r->nlane > 1) rc = split(r);
    if (rc) return rc;
    if (!r->items && !s->ncursor) sc_units_deal(&r->units, r->total, r->nlane, r->cut);
    if (s->strategy != SC_PRIVATE) return SC_OK;
    sc_work_give(d->call.shared[s->slot]);
    d->call.shared[s->slot] = NULL;
    if ((rc = take(r->nlane, r->partial_size, &r->partial, d->err))) return rc;
    d->call.shared[s->slot] = r->partial;
    d->call.copies[s->slot] = r->nlane;
    return SC_OK;
}

static const char *reason(int rc)
{
    switch (rc) {
    case SC_ENOMEM: return "out of memory in a kernel";
    case SC_ESTOP: return "interrupted";
    case SC_EVALUE: return "a kernel met a value it cannot handle";
    default: return "a kernel failed";
    }
}

static int run_kernel(sc_drive *d, const sc_step *s)
{
    stepping r = {.drive = d, .step = s};
    sc_units_init(&r.units, s, d->tensor, d->dim);
    r.total = sc_units_before(&r.units, r.units.n);
    int rc = prepare(&r);
    if (!rc && (r.units.end > 0 || s->strategy == SC_PRIVATE)) {
        if (r.nlane > 1)
            sc_parallel(r.nlane, run_lanes, &r);
        else
            run_lanes(&r, 0, 1);
        if (r.items && s->finish) finish(&r);
        d->slots = sc_max(d->slots, atomic_load(&r.slots));
        rc = atomic_load(&r.rc);
        if (rc) sc_error(d->err, rc, "%s (code %d)", reason(rc), rc);
    }
    sc_work_give(r.scratch);
    sc_work_give(r.items);
    if (s->strategy == SC_SPLIT) sc_work_give(r.partial);
    return rc;
}

/* The entry that bounds what each chunk stores: it takes a look at each entry of the operand and computes nothing. The
 * chunks are those of the lanes that will append. */
static int run_bounds(sc_drive *d, const sc_step *s)
{
    sc_step most = *s;
    most.entry = s->most;
    most.nscratch = most.hash = most.clean = 0;
    return run_kernel(d, &most);
}

int sc_drive_kernel(sc_drive *d, const sc_step *s)
{
    int rc = s->most ? run_bounds(d, s) : SC_OK;
    if (rc || (s->most && sc_append_bounded(d, s))) return rc;
    rc = run_kernel(d, s);
    return !rc && !s->nbound && sc_step_appends(d, s) ? sc_append_close(d) : rc;
}
