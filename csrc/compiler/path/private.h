/* private.h: shared by the files of this folder.
 *
 * apart.c  where steps must begin, since a sparse result is read
 * plan.c   assignments -> steps: which sums are taken apart, and whether that pays
 * taken.c  temporaries, which steps make first
 * terms.c  which term of a sum adds the others
 * common.c what sums share
 * tree.c   the orders of contraction of one product: dynamic programming over subsets of its factors
 * sampled.c functions whose argument is computed at entries first
 * pointwise.c functions of dense operands that a term computes again and again
 * wish.c   "path(..)", or what a user says of single steps, and the plan as text
 * alike.c  requests that say the same in other names
 * step.c   an assignment as a request of its own
 * library.c products of dense tensors, which a library computes
 * entries.c where the entries of sparse tensors make what is stored of an expression */
#ifndef SC_PATH_PRIVATE_H
#define SC_PATH_PRIVATE_H

#include "path.h"

/* The number of the result that an assignment makes. */
static inline int path_result(const Prog *p, int a) { return p->assign[a].lhs->tensor->arg - p->nin; }

static inline bool path_is_sum(const Expr *e) { return e->op == O_REDUCE && e->reduce == O_ADD; }

/* ---- entries.c ---- */
bool path_is_product(const Expr *); /* of accesses, and sums of such */
bool path_has_sparse(const Expr *); /* reads a sparse operand, or a value that is sparse */
uint32_t path_covered(const Prog *,
                      const Expr *); /* indices along which entries of sparse tensors say what is stored */

/* ---- sampled.c ---- */
typedef struct {
    int factor;   /* of a product: has such a function; -1: none has */
    Expr *m, *of; /* the access to the sparse factor; the argument */
} Sampled;
Sampled sampled_find(int n, const Part *);

/* ---- pointwise.c ---- */
Expr *pointwise_find(const Prog *, Expr *); /* one that is better computed first; null: there is none */

/* ---- tree.c ---- */

typedef struct { /* a factor, or what some of them come to */
    uint32_t vars;
    double entries; /* that are stored; of dense ones, elements */
    bool sparse;
    int twin;      /* of a sparse one: 1 + the value whose structure it has, or 0 */
    double spread; /* of a sparse one: see tensor_spread */
    uint32_t rows; /* indices of the fibres that were counted; 0: all */
} Size;

typedef struct Tree Tree;
struct Tree {
    int leaf; /* a factor, or -1 */
    Size size;
    bool holes; /* dense, but made of something sparse: it has zeros where there is no term */
    int n;
    Tree *kid[MAXFACTORS];
};

typedef struct {
    Prog *p;
    int n;
    Size factor[MAXFACTORS];
    uint32_t kept; /* indices of the result */
    bool sparse;   /* the result is */
    int like;      /* the factor whose structure the result has: it stands in the last step; or -1 */
    /* Of each subset: how many sums of the program take it, where 0 counts as 1; whether it is computed already. */
    uint8_t takers[1 << MAXFACTORS], made[1 << MAXFACTORS];
} Product;

typedef struct {
    double cost;
    Tree *tree;
} CostedTree;
/* Up to MAXTREES, the cheapest first by a rough look, and *flat, of a single node. */
int tree_search(const Product *, CostedTree *out, CostedTree *flat);
/* What computing a node from its kids takes, in nanoseconds of a typical machine, and its size. */
double tree_node_cost(const Product *, int n, Size *const *in, uint32_t kept, bool sparse, Size *out);
uint32_t tree_kept(const Product *, uint32_t inside); /* indices of these that others or the result need */
double tree_cells(const Prog *, uint32_t vars); /* elements that a dense tensor over these indices has */

Size tree_size(const Prog *, const Expr *);
double tree_entries(Prog *, Expr *); /* of a result that is sparse, estimated */

/* ---- wish.c ---- */
/* The tree that a user asks for this product: null where none of it is said. */
Tree *wish_tree(const Product *, Expr *const *factor, const char *asked);
void tree_print(const Tree *, Expr *const *factor, sc_text *);
typedef struct Planner Planner;
void wish_steps(Planner *, const char *asked); /* reads what is asked of steps */
/* What is asked of a step over these indices: j|j_1 is the one of them that it has. */
const char *wish_of_step(Prog *, uint32_t vars, const char *asked);

/* ---- step.c ---- */
typedef struct { /* the schedule of the step that reads an operand, as a user says it */
    const char *operand, *text;
} StepWish;
typedef struct { /* what the scheduler says to a request */
    sc_request request;
    double cost;
    const sc_err *why; /* it means nothing */
    sc_outcome made[SC_MAXOP];
} Said;
struct Planner {
    Prog *p;
    const Costs *costs;
    Path *path;
    int ntemp;
    const Expr *lhs; /* of the assignment that is taken apart */
    bool factor;     /* the step makes a factor of a product */
    /* Values that are no operands: temporaries, and results that are read later. */
    Tensor *value[MAXTENSOR];
    bool holes[MAXTENSOR];   /* values that have zeros where no term was */
    bool reused[MAXTENSOR];  /* results that stand for a sum which the program wrote elsewhere */
    Expr *how[MAXTENSOR];    /* what temporaries are computed by */
    const Expr *sum[MAXSUM]; /* all sums of products of the program */
    int nsum;
    double entries;   /* of the temporary that was made last, estimated */
    const char *tree; /* the orders of contraction so far, as in schedule="path(..)" */
    const char *next; /* what was next best to each, for people */
    Said *said[MAXSAID];
    int nsaid;
    StepWish wish[SC_MAXOP];
    int nwish;
    const char *refused;       /* why a step does not run as a user says */
    const sc_err *meaningless; /* what was said last of a step that means nothing */
    bool heard;                /* the order that a user asked for fitted a product of the program */
    bool infers; /* formats of results are what steps make of them, and are not settled before (path_cut) */
    bool must;   /* steps that the scheduler has no nest for are taken: it may have one for other formats */
    bool stays;  /* a step was not taken, since it would convert the operand that its result is like */
};
typedef struct { /* steps from here on can be taken back */
    int n, nvalue, ntemp;
    double cost;
    const char *tree, *next;
} Point;
Point step_mark(const Planner *);
void step_rewind(Planner *, Point);
/* Assignments from..to-1 as one step. */
bool step_add_range(Planner *, int from, int to);
/* Appends assignments as a step; result: of the program, or -1. False where the scheduler has nothing for it, or makes
 * another result of it than the program has: then nothing has changed. */
bool step_add(Planner *, int n, const Assign *, const int *result);
bool step_heeds(const Step *, const char *operand); /* it reads this, and has a schedule */
/* A tensor over these indices that a step makes; sparse ones get their format from the scheduler. */
Tensor *step_temporary(Planner *, const Index *, int n, bool sparse, double entries);

/* ---- library.c ---- */
/* A sum of products of two dense tensors of a type that a library takes. */
bool library_multiplies(Prog *, const Expr *, sc_dtype);
bool library_may_multiply(Prog *, const Expr *); /* the same, or of slabs */
/* Takes the library for an assignment where it is faster; like: the operand whose structure the result has, or -1. */
void library_choose(Prog *, Step *, const Assign *, int like);

/* ---- taken.c ---- */
Expr *taken_find(Planner *, const Expr *e); /* the access to the temporary that is e already, or null */
/* The step t = e, whose cost so many share, and the access that stands for e from here on; null where there is none. */
Expr *taken_as(Planner *, Tensor *t, const Index *, Expr *e, int takers);
/* The same of a temporary over the indices `kept`, in the order of entries, turned or not. */
Expr *taken_first(Planner *, Expr *e, uint32_t kept, bool sparse, bool turned, double entries);
Expr *taken_beside(Planner *,
                   Expr *e); /* ... a dense one in the order of the result, where it has these indices */

/* ---- terms.c ---- */
/* The sum of n terms, after those that are sums of products are computed first, but for one that adds the others; a: the
 * assignment whose right side it is, or null. */
Expr *terms_first(Planner *, int n, Part *term, const Assign *a, int result);
/* What so many steps must gain over one nest of the assignment: `other` where there is not one for each term. */
double terms_tie(Prog *, const Assign *, int result, int steps, double other);

/* ---- crowd.c ---- */
bool crowd_is(Prog *, Expr *); /* a sum of terms, of the same indices, that no loop merges all at once */
/* Such a sum, after as many of its sparse terms as are merged are computed first, time and again. */
Expr *crowd_take(Planner *, Expr *);

/* ---- common.c ---- */
bool common_same(Prog *, const Expr *, const Expr *); /* equal but for orders and names in sums */
void common_collect(Planner *, const Expr *);         /* adds the sums in e to pl->sum */
int common_takers(Planner *, const Expr *part);       /* how many sums could take it, at least 1 */
/* Fills takers and made of the product that is the sum of these factors. */
void common_find(Planner *, Product *, const Part *factor, const Expr *sum);
#endif
