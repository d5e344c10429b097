/* progress.c: long conversions tell how far they are.
 *
 * A conversion is several passes over its entries. Each is a step, and what is told is the share of the step, which the
 * thread that was called knows of its own part. How many steps there will be depends on the entries. */
#include <stdatomic.h>

#include "kernels.h"

#define TIMES 20 /* in the time until the first */

static sc_progress *_Atomic told;
static _Atomic int64_t wait;

static _Thread_local struct {
    int depth, step;
    int64_t begin, next;
    double share; /* when last asked */
    bool told;
} at;

void sc_progress_install(sc_progress *f, int64_t after)
{
    atomic_store(&wait, after);
    atomic_store(&told, f);
}

void sc_progress_begin(void)
{
    if (at.depth++ || !atomic_load(&told)) return;
    at.begin = sc_now();
    at.next = at.begin + atomic_load(&wait);
    at.step = 1;
    at.share = 0;
    at.told = false;
}

void sc_progress_end(void)
{
    sc_progress *f = atomic_load(&told);
    if (--at.depth || !at.told) return;
    at.told = false;
    if (f) f(0, 1, sc_now() - at.begin);
}

bool sc_progress_tell(int64_t time, double share)
{
    if (!at.depth) return false;
    at.step += share < at.share;
    at.share = share;
    sc_progress *f = atomic_load(&told);
    if (!f || time < at.next) return false;
    at.next = time + atomic_load(&wait) / TIMES;
    at.told = true;
    return f(at.step, share, time - at.begin);
}
