/* path.h: a program in steps: temporaries that sums of products are taken by, each step a program of its own. */
#ifndef SC_PATH_H
#define SC_PATH_H

#include "../expr/expr.h"

typedef struct
{ /* a product of two dense tensors, which are operands of a step, summed over dimensions that both have */
    bool is;
    /* An operand of slabs, or -1: one of the two, or what the result is like. Of a, b and the result that dimension
     * which has the coordinates of the slabs only, where they are dense; or -1. */
    int8_t slabs, listed_a, listed_b, listed_out;
    /* A sparse operand that lists rows, or -1, and its dimension with a product each of the rows that are listed in the
     * other. That of a, b and the result which is `each`, or -1; the `listed` are the other one's. The rows of one of the
     * operands, 0 or 1, are scaled by the values, or those are a pattern. */
    int8_t list, each_list, each_a, each_b, each_out, scaled;
    bool pattern;
    uint8_t a, b, nsum;
    uint8_t sum_a[SC_MAXDIM], sum_b[SC_MAXDIM]; /* those of a, in its order, and the same of b */
    /* The dimension of a, and of b, that each of the result is, or -1. */
    int8_t in_a[SC_MAXDIM], in_b[SC_MAXDIM];
} Dense;

/* What a step takes and gives counts as values: operands of the program first, then the results of the steps. */
typedef struct {
    sc_request request;      /* operands that are temporaries have the sizes that were estimated */
    uint8_t from[SC_MAXOP];  /* the value that operand k is */
    int first, n;            /* its results are the values from `first` on */
    int8_t result[SC_MAXOP]; /* which of the program they are, or -1: temporaries */
    sc_spec made[SC_MAXOP];
    int8_t like[SC_MAXOP]; /* the operand whose structure a result has, or -1 */
    /* Bit k: operand k is dense, has zeros where the program has no term, and is a factor: times an infinity, such a
     * zero makes a NaN. */
    uint32_t holes;
    bool plain;             /* the step is a sum of products of its operands */
    uint8_t kept[SC_MAXOP]; /* dimensions of operand k that the result of a plain step has, as bits */
    Dense dense;            /* the step is for a library */
    double cost, entries;   /* nanoseconds; of a temporary, estimated */
    double bytes;           /* of a temporary, by these entries */
} Step;
typedef struct {
    int n, nvalue;
    Step *step[MAXPATHSTEP];
    double cost;      /* of all steps */
    const char *tree; /* the orders of contraction, as schedule="path(..)" takes them */
    const char *next; /* what was next best to each, for people */
} Path;

/* What the scheduler says of a request: what it costs, infinite where it has no nest for these formats, negative where
 * the request means nothing, and why; and what its results are. */
typedef struct {
    double (*of)(void *ctx, const sc_request *, sc_outcome *, sc_err *why);
    void *ctx;
} Costs;

/* Results of a checked and inferred program that are read later are what they would be if nothing read them; what reads
 * them begins a step (p->apart). `infer` says what results are, and no costs. */
void path_cut(Prog *, const Costs *infer);
/* Refuses what a program that stays whole would not mean. */
void path_check_whole(Prog *);
/* Whether a schedule is one of steps, by the operands that they read. */
bool path_asks_steps(const char *asked);
/* The steps of a checked and inferred program; null where it is best taken as it is. asked: what a user says of the
 * order, "path(..)", or of steps; or null. */
const Path *path_find(Prog *, const char *asked, const Costs *);
void path_print(const Path *, sc_text *);
/* Gives the request the names that all have which say the same; its text lies in the empty *text from then on. */
void path_common(sc_request *, sc_text *text);
#endif
