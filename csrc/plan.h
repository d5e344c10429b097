/* plan.h: a program as data. The compiler writes plans, kernels/drive.c walks
 * them, run/ owns them; none of the three knows the others.
 *
 * A kernel entry works on a range of units. What a unit is, what it weighs and
 * how ranges are handed to threads is said here, per step. */
#ifndef SC_PLAN_H
#define SC_PLAN_H

#include "scorch.h"

#define SC_MAXSTEP 128
#define SC_MAXENTRY 64 /* as in abi.h */
#define SC_MAXWORK 16
#define SC_MAXBOUND 4
#define SC_ENTRY_WORK 8 /* multiply-adds of vectors in the time of any other evaluation at an entry */
#define SC_SLACK 32     /* entries that a kernel may write behind those it appends */

/* bytes * product over k < n of ceil(dim[var[k]] / div[k]); checked once. */
typedef struct {
    int64_t bytes;
    int32_t n, div[6];
    int16_t var[6];
} sc_size;

typedef enum {
    SC_STEP_FILL, /* memory `out` := fill, in parallel; a shared workspace that is `bare` is taken as it is */
    SC_STEP_KERNEL, /* entry over the units */
    SC_STEP_ALLOC   /* result `out`, whose compressed levels have the cursors from `cursor` on: allocates
                       pos, crd and values, turns cursors into the place where each chunk starts, and moves there
                       what was appended */
} sc_step_op;

/* Sparse results are assembled by two KERNEL steps, with one ALLOC a result between them. The first one cuts the
 * units into chunks, several a lane, and notes what lane.cursor[0 .. ncursor) holds after each; the second one runs
 * over the same chunks, each begun with its cursors at its first entries, in order of the units. Dense levels come
 * first; the kernels write pos but for its first entry, and both entries of a level that has no level above.
 *
 * Where operands bound what a range appends, one KERNEL step with `bound` and the ALLOC of its one result behind it
 * do: the kernel appends to memory of the bound, chunks SC_SLACK apart, and ALLOC moves the entries to their place.
 *
 * Where an entry can bound what will be counted, `most` of the first step, it runs first, over the same chunks, and
 * leaves bounds as the last cursor. If their sum is small nothing is counted, ALLOC does nothing, and the second step
 * appends as above. It leaves its cursors for that, and has one result. */

/* SERIAL  one lane, all units.
 * OWN     disjoint ranges of units balanced by weight; each unit's results are its own.
 * SPLIT   as OWN, and a unit that alone outweighs total / (4 T) is cut in the positions of the level below:
 *         entry `part` is called once per piece with [begin, end) = positions of level `level` + 1,
 *         lane.cursor[0] = the unit and lane.partial = that piece's carry slot (`partial` bytes, zeroed or
 *         filled by the kernel); then entry `finish` is called with [begin, end) = [unit, unit + 1),
 *         lane.partial = the unit's first slot, lane.cursor[1] = number of slots, added in that order. finish = 0:
 *         pieces leave nothing to add up.
 *         The other units go through `entry` as in OWN.
 * PRIVATE as OWN, but every lane has its own copy of a workspace: lane.partial = its copy, `partial` bytes
 *         each, copies contiguous from call.shared[slot], call.copies[slot] of them, filled with `fill` before.
 * What lies in a slot stays until a later step uses the slot. */
typedef enum { SC_SERIAL, SC_OWN, SC_SPLIT, SC_PRIVATE } sc_strategy;

typedef struct {
    uint8_t op, strategy, entry, part, finish;
    uint8_t snap;   /* units are positions of a nonunique level: cut only where the coordinate changes */
    uint8_t dtype;  /* of fill and of the private copies */
    uint8_t slot;   /* PRIVATE; FILL with out = -1: the place in call.shared */
    uint8_t sums;   /* OWN: 1 + the place in call.shared of the copies that it reads; 0: none */
    uint8_t bare;   /* FILL with out = -1: all of it is written before it is read */
    uint8_t counts; /* KERNEL: the first of the two steps that assemble results */
    uint8_t
        most; /* of them, where they assemble one result: the entry that bounds what is counted; 0: none */
    uint8_t ncursor; /* KERNEL: cursors of the assembled results, 0 where there is none */
    uint8_t nbound;  /* KERNEL: the one step that assembles a result: terms of the bound */
    /* At most so many entries are appended for a range of units, at each level: the sum over the terms of the least of
     * what these operands (bits) store there. Level 0 of such an operand has the coordinates that units are, or is the
     * units. */
    uint32_t bound[SC_MAXBOUND];
    uint8_t cursor; /* ALLOC */
    uint8_t coords; /* KERNEL: what the entry gets are coordinates from 0 to the extent of level 0 of operand
                           arg, cut where its units would be cut */
    uint16_t clean; /* KERNEL: bit k: scratch[k] is zero when the step starts */
    int32_t hash;   /* KERNEL: bytes that one slot of every hash table takes, behind the workspaces below */
    int16_t arg, level; /* KERNEL: units are the positions of this level of operand arg (always level 0: its
                           size when dense, its npos otherwise); weight: stored leaves below. arg = -1: units
                           are ceil(dim[var] / block) coordinates, all of one weight; one unit if var = -1 */
    int16_t entries;    /* KERNEL: 1 + the operand whose entries units of arg = -1 share; work is of one */
    int16_t var, out;   /* out: the result filled or allocated; -1 in FILL: the shared workspace */
    int32_t block;
    double fill;
    sc_size work; /* KERNEL: a leaf, in multiply-adds of vectors (bytes of one evaluation); sizes the team */
    sc_size shared;  /* FILL with out = -1: bytes of the shared workspace, placed in call.shared[slot] */
    sc_size partial; /* SPLIT: bytes of a carry slot; PRIVATE: bytes of a copy */
    int nscratch;    /* KERNEL: lane workspaces, each rounded up to 64 bytes, in this order in
                           lane.scratch */
    sc_size scratch[SC_MAXWORK];
} sc_step;

typedef struct {
    int nstep, nin, nout, nvar;
    sc_step *step; /* at most SC_MAXSTEP */
} sc_plan;

/* Runs a plan (kernels/drive.c). call->view must hold nin operands and nout results, call->dim the
 * extents; tensors gives their formats and types in the same order and is updated with what ALLOC
 * allocated, with alloc(ctx[r], ..) for result r. entry[] are the kernels, in the order the steps number them. */
int sc_plan_run(const sc_plan *, sc_kernel *const *entry, const void *self, sc_tensor *tensors,
                const int64_t *dim, sc_alloc *, void *const *ctx, sc_err *);
#endif
