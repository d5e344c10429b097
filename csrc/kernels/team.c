/* team.c: running a body on several threads, and cutting work for them.
 *
 * The library starts no threads. It asks the installed team, and does without
 * one whenever a team could hang or would not help: inside a region, and in a
 * child forked after threads ran (they are gone there). Callers at the same
 * time share the cores: each is given the width over their number, which leaves
 * one thread where there are as many callers as cores. A body therefore never
 * relies on being run by more than one thread. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "kernels.h"

static sc_team team;
static atomic_bool installed, ran, orphan; /* orphan: forked after threads ran */
static atomic_int callers;                 /* threads in a region that they asked several threads for */
static _Thread_local bool inside;

/* Whether this process has other threads: the pool may be running for somebody else, torch for one. */
static bool has_threads(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    if (!d) return true;
    while (n < 4 && readdir(d)) n++; /* . and .. and the caller */
    closedir(d);
    return n > 3;
}

static void before_fork(void)
{
    if (!atomic_load(&ran) && has_threads()) atomic_store(&ran, true);
}

static void in_child(void)
{
    if (atomic_load(&ran)) atomic_store(&orphan, true);
    atomic_store(&callers, inside);
}

static void watch_fork(void) { pthread_atfork(before_fork, NULL, in_child); }

void sc_team_install(const sc_team *t)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    atomic_store(&installed, false);
    if (!t || !t->fork || !t->width) return;
    pthread_once(&once, watch_fork);
    team = *t;
    atomic_store(&installed, true);
}

int sc_team_width(void)
{
    if (!atomic_load_explicit(&installed, memory_order_acquire) || atomic_load(&orphan)) return 1;
    int n = team.width();
    return n < 1 ? 1 : n;
}

int sc_team_lanes(double work)
{
    if (!(work >= 2.0 * SC_LANE_WORK)) return 1;
    const int width = sc_team_width(), most = width < SC_MAXLANE ? width : SC_MAXLANE;
    const double each = SC_LANE_WORK * (width > SC_LANE_TEAM ? (double)width / SC_LANE_TEAM : 1);
    return work < each ? 1 : work / each < most ? (int)(work / each) : most;
}

/* ---- regions ---- */
typedef struct {
    sc_body *body;
    void *arg;
} region;

static void enter(void *arg, int id, int n)
{
    const region *r = arg;
    bool outer = inside;
    inside = true;
    r->body(r->arg, id, n);
    inside = outer;
}

void sc_parallel(int n, sc_body *body, void *arg)
{
    const int width = n > 1 && !inside ? sc_team_width() : 1;
    if (width == 1) {
        body(arg, 0, 1);
        return;
    }
    region r = {body, arg};
    const int share = width / (atomic_fetch_add(&callers, 1) + 1);
    if (share > 1) {
        atomic_store_explicit(&ran, true, memory_order_relaxed);
        team.fork(enter, &r, n < share ? n : share);
    } else
        enter(&r, 0, 1);
    atomic_fetch_sub(&callers, 1);
}

typedef struct {
    sc_range *body;
    void *arg;
    int64_t n;
    int nlane;
} ranges;

static void run_ranges(void *arg, int id, int n)
{
    const ranges *r = arg;
    for (int t = id; t < r->nlane; t += n)
        r->body(r->arg, t, sc_split_even(r->n, t, r->nlane), sc_split_even(r->n, t + 1, r->nlane));
}

void sc_parallel_ranges(int nlane, int64_t n, sc_range *body, void *arg)
{
    ranges r = {body, arg, n, nlane};
    if (nlane > 1)
        sc_parallel(nlane, run_ranges, &r);
    else
        run_ranges(&r, 0, 1);
}

#ifndef SC_PIECE_STEPS
#define SC_PIECE_STEPS 4000000 /* of a lane between two questions whether to go on */
#endif

typedef struct {
    ranges r;
    int pieces;
    sc_pulse pulse; /* of the thread that was called */
    atomic_bool stop;
} long_ranges;

/* A lane has the range that it has in any region of so many lanes, whatever its work is: what one region counts,
 * another writes. */
static void run_pieces(void *arg, int id, int n)
{
    long_ranges *x = arg;
    for (int t = id; t < x->r.nlane; t += n) {
        const int64_t begin = sc_split_even(x->r.n, t, x->r.nlane);
        const int64_t each = sc_split_even(x->r.n, t + 1, x->r.nlane) - begin;
        for (int k = 0; k < x->pieces && !atomic_load(&x->stop); k++) {
            x->r.body(x->r.arg, t, begin + sc_split_even(each, k, x->pieces),
                      begin + sc_split_even(each, k + 1, x->pieces));
            if (!id && sc_pulse_stopped(&x->pulse, (k + 1.0) / x->pieces)) atomic_store(&x->stop, true);
        }
    }
}

int sc_parallel_pieces(int nlane, double work, int64_t n, sc_range *body, void *arg)
{
    const double pieces = work / nlane / SC_PIECE_STEPS;
    long_ranges x = {.r = {body, arg, n, nlane},
                     .pieces = pieces < 1      ? 1
                               : pieces > 4096 ? 4096
                                               : (int)pieces};
    if (nlane > 1)
        sc_parallel(nlane, run_pieces, &x);
    else
        run_pieces(&x, 0, 1);
    return atomic_load(&x.stop) ? SC_ESTOP : SC_OK;
}

/* ---- cutting ---- */
int64_t sc_split_find(sc_before *before, const void *ctx, int64_t n, int64_t target)
{
    int64_t lo = 0, hi = n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (before(ctx, mid) < target)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int64_t sc_split_fibre(const void *pos, sc_dtype itype, int64_t n, int64_t q)
{
    int64_t lo = 0, hi = n;
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (sc_index(pos, itype, mid) <= q)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

typedef struct {
    const void *pos;
    sc_dtype itype;
} row_starts;

static int64_t entries_before(const void *ctx, int64_t row)
{
    const row_starts *r = ctx;
    return sc_index(r->pos, r->itype, row);
}

int64_t sc_split_rows(const void *pos, sc_dtype itype, int64_t n, int lane, int nlane)
{
    const row_starts r = {pos, itype};
    if (lane <= 0 || lane >= nlane) return lane <= 0 ? 0 : n;
    return sc_split_find(entries_before, &r, n, sc_split_even(entries_before(&r, n), lane, nlane));
}

/* ---- the first of what is wrong ---- */
typedef struct {
    const void *arg;
    sc_bad_item *body;
    int64_t bad[SC_MAXLANE];
} searching;

static void search_range(void *arg, int lane, int64_t begin, int64_t end)
{
    searching *s = arg;
    if (s->bad[lane] < 0) s->bad[lane] = s->body(s->arg, begin, end);
}

int sc_first_bad(const void *arg, int64_t n, double work, sc_bad_item *body, int64_t *bad, sc_err *e)
{
    searching s = {.arg = arg, .body = body};
    const int lanes = sc_team_lanes(work);
    for (int t = 0; t < lanes; t++) s.bad[t] = -1;
    *bad = -1;
    if (sc_parallel_pieces(lanes, work, n, search_range, &s))
        return sc_error(e, SC_ESTOP, "interrupted while a tensor is validated");
    for (int t = 0; t < lanes; t++)
        if (s.bad[t] >= 0 && (*bad < 0 || s.bad[t] < *bad)) *bad = s.bad[t];
    return SC_OK;
}
