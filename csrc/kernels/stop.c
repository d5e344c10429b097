/* stop.c: long work asks whether it should end.
 *
 * What answers belongs to the bindings, and may take a lock that others hold; so it is asked by the thread that was
 * called, never by those that help it, and only now and then. */
#include <stdatomic.h>

#include "kernels.h"

#define EVERY 40000000 /* nanoseconds */

static bool (*_Atomic asked)(void);

void sc_stop_install(bool (*f)(void)) { atomic_store(&asked, f); }

bool sc_stopped(void)
{
    bool (*f)(void) = atomic_load(&asked);
    return f && f();
}

bool sc_pulse_stopped(sc_pulse *p, double share)
{
    const int64_t now = sc_now();
    if (sc_progress_tell(now, share)) return true;
    if (p->next && now < p->next) return false;
    const bool first = !p->next;
    p->next = now + EVERY;
    return !first && sc_stopped();
}
