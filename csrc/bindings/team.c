/* team.c: a team over the OpenMP pool that torch uses.
 *
 * A second pool would fight torch's for the cores, so the extension is not
 * built with OpenMP at all: it asks the libtorch_cpu that is already loaded,
 * whose dependencies hold the one runtime of this process, for the entry points
 * that compilers call. torch.set_num_threads sets that runtime's number, and
 * the width of a region follows it.
 *
 * A region is always of all threads, of which as many work as are wanted: the
 * runtime ends threads that the next region does not need and makes them anew
 * for the one after, torch's perhaps, which costs milliseconds. */
#include "bind.h"

#include <dlfcn.h>
#include <stdatomic.h>

typedef void gomp_parallel(void (*)(void *), void *, unsigned, unsigned);
typedef void kmpc_micro(int32_t *, int32_t *, ...);
typedef void kmpc_fork(void *, int32_t, kmpc_micro *, ...);
typedef void kmpc_push(void *, int32_t, int32_t);
typedef int32_t kmpc_gtid(void *);
typedef int query(void);

static struct {
    gomp_parallel *parallel;
    kmpc_fork *fork;
    kmpc_push *push;
    kmpc_gtid *gtid;
    query *thread, *threads, *max;
    int cap;
} omp;

typedef struct {
    sc_body *body;
    void *arg;
    int n; /* threads that work, at most */
} job;

static void member(void *p)
{
    const job *j = p;
    const int id = omp.thread(), all = omp.threads(), n = j->n < all ? j->n : all;
    if (id < n) j->body(j->arg, id, n);
}

static void fork_gomp(sc_body *body, void *arg, int n)
{
    job j = {body, arg, n};
    omp.parallel(member, &j, (unsigned)omp.max(), 0);
}

static void member_kmpc(int32_t *gtid, int32_t *btid, ...)
{
    va_list ap;
    (void)gtid;
    va_start(ap, btid);
    member(va_arg(ap, void *));
    va_end(ap);
}

static void fork_kmpc(sc_body *body, void *arg, int n)
{
    static struct {
        int32_t reserved_1, flags, reserved_2, reserved_3;
        const char *source;
    } where = {0, 2, 0, 0, ";scorch;;0;0;;"};
    job j = {body, arg, n};
    omp.push(&where, omp.gtid(&where), omp.max());
    omp.fork(&where, 1, member_kmpc, (void *)&j);
}

static int width(void)
{
    int n = omp.max();
    return omp.cap > 0 && omp.cap < n ? omp.cap : n;
}

/* Function pointers come out of dlsym as data pointers; POSIX allows the move. */
static bool find(void *lib, const char *name, void *slot)
{
    *(void **)slot = dlsym(lib, name);
    return *(void **)slot != NULL;
}

int sc_team_connect(void *libtorch, int cap, sc_err *e)
{
    static sc_team team = {NULL, width};
    omp.cap = cap;
    bool common = find(libtorch, "omp_get_thread_num", &omp.thread) &&
                  find(libtorch, "omp_get_num_threads", &omp.threads) &&
                  find(libtorch, "omp_get_max_threads", &omp.max);
    if (common && find(libtorch, "GOMP_parallel", &omp.parallel))
        team.fork = fork_gomp;
    else if (common && find(libtorch, "__kmpc_fork_call", &omp.fork) &&
             find(libtorch, "__kmpc_push_num_threads", &omp.push) &&
             find(libtorch, "__kmpc_global_thread_num", &omp.gtid))
        team.fork = fork_kmpc;
    if (!team.fork)
        return sc_error(e, SC_ENOTIMPL,
                        "torch's OpenMP runtime was not found; everything runs on one thread");
    sc_team_install(&team);
    return 0;
}
