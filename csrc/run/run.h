/* run.h: shared by run/: what a program is, and what the process counts. */
#ifndef SC_RUN_H
#define SC_RUN_H

#include <stdatomic.h>

#include "../compiler/compile.h"
#include "../jit/jit.h"
#include "exec.h"

/* Of programs that a process keeps, unless it is told otherwise. */
#define SC_PROGRAM_BYTES ((int64_t)256 << 20)

typedef struct { /* an operand */
    char name[32];
    /* The format that kernels read; the one that it is converted to first, nlevel 0: none. */
    sc_format format, convert;
    bool perm; /* values are found through a permutation */
    int unit;
    uint32_t index[SC_MAXDIM]; /* the variables, as bits, that run over each dimension */
} sc_operand;

typedef struct { /* a result as kernels make it */
    char name[32];
    sc_format format;
    sc_dtype dtype;
    /* As in Tensor; like: an operand, where: among operands and results; or -1. */
    int unit, like, shared, where;
    int dimvar[SC_MAXDIM];
} sc_made;

typedef struct { /* a result as it is delivered */
    sc_spec spec;
    int like; /* the operand whose structure it shares, or -1 */
    bool converts;
    double fill; /* what it holds where it has a position and no entry */
} sc_delivered;

typedef struct { /* an index variable */
    char name[24];
    int operand, dim; /* where its extent is read */
    int64_t fold;     /* the extent that code was made for, or -1 */
} sc_index_of;

struct sc_program {
    _Atomic int refs;
    int way;
    bool general; /* found for run-time widths */
    bool asks;    /* for conversions: it has no code */
    int nin, nout, nmade, nvar;
    int nhidden; /* results behind those that are returned */
    int64_t bytes;
    const char *text; /* the expression, as it was asked for first; behind the program */
    sc_plan plan;
    sc_kernel *entry[SC_MAXENTRY];
    const sc_object *object; /* of the JIT, retained */
    Prog *walked;            /* by the executor */
    const char *why;         /* it is, in the memory of what it walks; null: no memory for it */
    const void *self;        /* its module */
    sc_index_of var[SC_MAXVAR];
    sc_operand *in;
    sc_made *made;
    sc_delivered *result;
    sc_step *step;
    struct sc_steps *steps; /* several programs, one behind the other, instead of code; or null */
};

#define SC_MAXEXTRA 8
typedef struct { /* the program of a step that reads extra layouts */
    sc_program *program;
    uint32_t perms; /* operands whose values are found through a permutation, as bits */
} sc_resolved;
typedef struct {
    Step plan;
    sc_program
        *program; /* null: it depends on layouts, or on entries of temporaries, or a library computes it */
    _Atomic(sc_resolved *) resolved; /* set once, by the first run */
    _Atomic int64_t entries;         /* of a sparse temporary, in the last run; 0 before */
} sc_stage;
typedef struct sc_steps {
    int n, nvalue;
    sc_request whole;    /* the program as one step */
    _Atomic int waiting; /* runs that are taken as one step, since one in steps met what is not finite */
    int nextra;
    struct { /* layouts of operands that steps want beside those that were given */
        int operand;
        sc_format format;
    } extra[SC_MAXEXTRA];
    char *text, *tree; /* the plan, for people, and the orders of contraction */
    char *said;        /* all texts of requests */
    sc_stage step[];
} sc_steps;

typedef struct {
    sc_jit_mode mode;
    sc_target target;
    _Atomic int64_t programs, compiled, from_memory, from_disk, from_bundle, executor, runs[3], path_ns,
        compile_ns, load_ns, program_bytes, forgotten, tuned;
    sc_dense_multiply *multiply; /* null: no library is installed */
    bool swift;                  /* it multiplies float32 as fast as the CPU can */
} sc_process;
extern sc_process sc_this_process; /* process.c */
void sc_process_start(void);       /* defaults, once */

/* ---- program.c, call.c: programs of one step; steps.c puts several behind one another ---- */
typedef int sc_maker(const sc_request *, sc_program **, sc_err *);
/* The program of a request that is kept, or else made. */
int sc_program_find(const sc_request *, sc_maker *, sc_program **, uint64_t *handle, sc_err *);
int sc_make_dense(sc_tensor *, sc_alloc *, void *ctx, sc_err *); /* row-major in the order of its levels */
int sc_whole_make(const sc_request *, sc_program **, sc_err *);
int sc_whole_run(const sc_program *, const sc_tensor *in, sc_tensor *out, sc_alloc *, void *const *ctx,
                 sc_err *);
int sc_whole_text(const sc_request *, const sc_program *, const char *stage, sc_text *, sc_err *);
int sc_check_stage(const char *stage, sc_err *);

/* ---- steps_make.c ---- */
/* A step gives the value, unlike an operand of the program or another layout of one. */
bool sc_step_made(const sc_program *, int value);
bool sc_step_reads_sparse(const sc_stage *, const sc_program *); /* a temporary */
/* The request of a step in the names of all that say the same, to be freed as its text is; a schedule says names, so
 * with one it is as it was. Null: no memory. */
sc_request *sc_step_common(const sc_request *, sc_text *, sc_err *);
int sc_step_find(const sc_request *, sc_program **, sc_err *); /* its program */

/* ---- table.c: the programs that are kept ---- */
/* The program of a key, retained; null: the caller makes it, and tells by sc_table_made what came of it. */
int sc_table_find(const char *key, size_t n, sc_program **, uint64_t *handle, sc_err *);
void sc_table_made(const char *key, size_t n, sc_program *, uint64_t *handle); /* null: it failed */
void sc_table_limit(int64_t bytes);
/* Requests without a schedule are made again when they are asked for next, and so are programs in steps, which hold
 * those of their steps; with all, requests with a schedule too. What a text was compiled to stays. */
void sc_table_drop(bool all);
/* The first byte of the key of a request, without and with a schedule; texts have hexadecimal digits. The second one
 * stands for the threads there were, as many as costs are told. */
enum { SC_KEY_PLAIN = 'r', SC_KEY_SCHEDULED = 's' };
char sc_key_threads(void);
void sc_table_stats(sc_stats *);

/* tuned.c: schedules that were measured, for requests without one */
typedef struct {
    char *schedule; /* null: what the scheduler chooses, while others are tried */
    char *results;  /* what its program gives, as text */
    double gain;
    char date[16];
    bool trial; /* not kept: it is being measured */
} sc_tuned;
bool sc_tuned_find(const sc_request *, sc_tuned *); /* to be freed where it is true */
void sc_tuned_free(sc_tuned *);
/* program.c: whether the program of a request is made by what is kept; to be freed then. */
bool sc_tuned_made(const sc_request *, const sc_program *, sc_tuned *);
void sc_tuned_print(const sc_tuned *, sc_text *);                 /* for explain */
int sc_tuned_set(const sc_request *, const sc_tuned *, sc_err *); /* tried from now on */
void sc_tuned_results(const sc_program *, sc_text *);             /* what it gives, in a line */
/* Whether it gives these results and is no slower for lack of a compiler. */
bool sc_tuned_gives(const sc_program *, const char *results);
/* Whether operands can be converted as it asks: blocks divide their extents, and no level is too narrow. */
bool sc_tuned_fits(const sc_program *, const sc_request *);
void sc_tuned_refuse(const sc_request *); /* it does not work in this process */
/* noted.c */
void sc_note_request(const sc_request *, const sc_text *key, const sc_program *);

/* speeds.c */
void sc_process_machine(Prog *);            /* caches, threads and speeds, for the choice of schedules */
void sc_speeds_forget(void);                /* they are read again: the cache directory has changed */
void sc_speeds_print(sc_speeds, sc_text *); /* one line, for people */

/* trial.c: runs a compiled program on generated data (seed) and compares every result with the oracle: through
 * the executor, or through compiled code for vectors of `width` bytes. */
int sc_trial(Prog *, bool jit, int width, uint64_t seed, sc_err *);
/* Compiles the schedule of a request that was compiled as *p once more, for small extents, and tries it. */
int sc_trial_schedule(const Prog *p, const sc_request *, int width, sc_err *);

/* explain.c: of a compiled request, and the program that was found for it. */
int sc_explain(Prog *, const sc_program *, sc_text *, sc_err *);
/* record.c: what is kept of a compiled program, counted once; null: out of memory. */
sc_program *sc_program_describe(const Prog *, const char *text, sc_err *); /* text: of the request */
sc_made sc_made_of(const Prog *, int r);
/* What positions without an entry hold in a result that is delivered in this format: the identity where no point counts;
 * zero in padding. */
double sc_fill_of(const Tensor *, const sc_format *);
void sc_prog_free(Prog *); /* null is fine */
void sc_steps_free(sc_steps *);

/* holes.c: of an operand that stands beside what has zeros where there is no term. */
bool sc_all_finite(const sc_tensor *);
bool sc_has_strides(const sc_tensor *); /* dense, and not its elements side by side */
/* Each row of the innermost level, whose dimension is not one of these (bits), has an entry: so a sum over it has a term
 * everywhere. */
bool sc_has_all_rows(const sc_tensor *, unsigned kept);

/* dense.c: the step of a library, and the sizes of what it makes. */
int sc_dense_run(const Dense *, const sc_tensor *in, const sc_tensor *out, sc_err *);
void sc_dense_shape(const Dense *, int ndim, const sc_tensor *in, int64_t *dim);
/* The product of what these have; the strides are those of the views. */
int sc_dense_multiply_views(const Dense *, const sc_tensor *out, const sc_view *a, const sc_view *b,
                            const sc_view *to, sc_err *);

/* listed.c: the same step where a sparse matrix lists rows. It is read in this layout. */
sc_format sc_listed_format(const Dense *);
int sc_listed_run(const Dense *, const sc_tensor *in, const sc_tensor *out, sc_err *);

/* call.c: a result that shares the levels of an operand (structure: its tensor), and values of its own. */
int sc_share(const sc_made *, const sc_tensor *structure, const int64_t *dim, sc_tensor *out, sc_alloc *,
             void *ctx, sc_err *);
#endif
