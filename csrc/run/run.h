/* run.h: shared by run/: what a program is, and what the process counts. */
#ifndef SC_RUN_H
#define SC_RUN_H

#include <stdatomic.h>

#include "../compiler/compile.h"
#include "../jit/jit.h"
#include "exec.h"

struct sc_program {
    Prog *prog;
    sc_kernel *entry[SC_MAXENTRY];
    const void *self; /* the executor's module */
    int way;
    struct {
        int operand, dim; /* where the extent of each index variable is read */
    } extent[SC_MAXVAR];
    uint32_t index[SC_MAXOP]
                  [SC_MAXDIM]; /* the variables, as bits, that run over each dimension of an operand */
    sc_spec result[SC_MAXOP];  /* as delivered */
    bool converts[SC_MAXOP];   /* the kernels write another format than that */
    char *text;                /* the C text */
    char *stage[8];            /* texts that were asked for, as program.c lists them */
};

typedef struct {
    sc_jit_mode mode;
    sc_target target;
    _Atomic int64_t programs, compiled, from_memory, from_disk, from_bundle, executor, runs[3], compile_ns,
        load_ns;
} sc_process;
extern sc_process sc_this_process; /* process.c */
void sc_process_start(void);       /* defaults, once */
int64_t sc_now(void);              /* nanoseconds */
void sc_process_machine(Prog *);   /* caches and threads of this machine, for the choice of schedules */

/* speeds.c */
void sc_speeds_forget(void);                /* they are read again: the cache directory has changed */
void sc_speeds_print(sc_speeds, sc_text *); /* one line, for people */

/* trial.c: runs a compiled program on generated data (seed) and compares every result with the oracle: through
 * the executor, or through compiled code for vectors of `width` bytes. */
int sc_trial(Prog *, bool jit, int width, uint64_t seed, sc_err *);
/* Tries the schedule of a request, p compiled from it, on small extents. */
int sc_trial_schedule(const Prog *p, const sc_request *, int width, sc_err *);

/* call.c: memory for result t of shape dim, which shares the first levels of the operand (structure: its tensor), and
 * values of its own. */
int sc_share(const Tensor *t, const sc_tensor *structure, const int64_t *dim, sc_tensor *out, sc_alloc *,
             void *ctx, sc_err *);

/* program.c: a stage as text; the plan says which results are converted at the end. */
int sc_program_stage(const sc_program *, const char *stage, sc_text *, sc_err *);

/* explain.c: what was decided and why, as text for people. */
int sc_explain(const sc_program *, sc_text *, sc_err *);
#endif
