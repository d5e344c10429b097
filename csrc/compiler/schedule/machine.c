/* machine.c: what operations take: those of a typical machine, with the speeds of this one. */
#include <math.h>

#include "private.h"

static const Machine typical_machine = {.flop = .25,
                                        .load = .25,
                                        .store = .5,
                                        .update = .75,
                                        .factor = {1, 2, 4, 10},
                                        .across = 1,
                                        .enter = 2,
                                        .dense = .3,
                                        .entry = .6,
                                        .step = 4,
                                        .meet = 1.6,
                                        .leave = 2,
                                        .search = 10,
                                        .halving = 3.5,
                                        .lanes = 3,
                                        .bit = .8,
                                        .slot = 6,
                                        .sort = 2,
                                        .clear = 16,
                                        .append = 1.5,
                                        .twice = 1.7,
                                        .convert = 20,
                                        .start = 500,
                                        .team = 700};

int64_t machine_cache(const Prog *p, int level)
{
    static const int64_t typical[] = {32 << 10, 1 << 20, 16 << 20};
    return (p->cache[level] ? p->cache[level] : typical[level]) / (level ? 2 : 1);
}

Machine machine_of(const Prog *p)
{
    Machine m = typical_machine;
    double by[SC_NSPEED];
    bool plain = true;
    for (int k = 0; k < SC_NSPEED; k++) plain &= p->speeds.step[k] == 0;
    if (plain) return m;
    for (int k = 0; k < SC_NSPEED; k++) by[k] = exp2(p->speeds.step[k] / 4.0);
    enum { CORE, BRANCH, L2, L3, MEMORY, INSERT, CLEAR, TEAM };
    double *const core[] = {&m.flop,  &m.load,  &m.store, &m.update, &m.across,  &m.enter, &m.dense,
                            &m.entry, &m.lanes, &m.bit,   &m.append, &m.convert, &m.start};
    double *const branch[] = {&m.step, &m.meet, &m.leave, &m.search, &m.halving, &m.sort};
    for (int k = 0; k < SC_LEN(core); k++) *core[k] *= by[CORE];
    for (int k = 0; k < SC_LEN(branch); k++) *branch[k] *= by[BRANCH];
    for (int k = L2; k <= MEMORY; k++) m.factor[k - L2 + 1] *= by[k] / by[CORE];
    m.slot *= by[INSERT];
    m.clear /= by[CLEAR];
    m.team *= by[TEAM];
    return m;
}
