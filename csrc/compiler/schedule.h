/* schedule.h: shared by the schedule*.c files and cost.c.
 *
 * schedule.c          assignments -> kernels in a row, temporaries, formats of results
 * schedule_search.c   which orders and rewritings there are, and the cheapest
 * schedule_order.c    orders of loops
 * schedule_build.c    an assignment and an order of its indices -> nest
 * schedule_sums.c     ... where its sums are taken
 * schedule_text.c     what a user asks for, and what was chosen, as text
 * schedule_fuse.c     kernels in a row over the same rows, as one
 * schedule_batch.c    which loops take their rows in batches
 * schedule_parts.c    what builders share
 * schedule_product.c  one sparse operand times dense ones: the nest with register tiles
 * schedule_panel.c    ... and with packed panels
 * schedule_turn.c     ... and with dense operands that are transposed first
 * schedule_gather.c   rows that the entries of a sparse operand route through dense matrices
 * schedule_narrow.c   sums of 16 bit floats that memory takes
 * schedule_where.c    where results have entries that are computed dense and delivered sparse
 * cost.c              what running a nest takes */
#ifndef SC_SCHEDULE_H
#define SC_SCHEDULE_H

#include "ir.h"

#define MAXORDER 20

/* ---- schedule.c ---- */
/* work w { first } then { rest }; private copies that `first` gathers in stand around. */
Nest *before_rest(Prog *, Nest *first, Tensor *w, Nest *rest);

/* ---- schedule_parts.c ---- */
static inline bool in(uint32_t set, int k) { return set >> k & 1; }
int64_t bucket(int64_t n);          /* the power of two from n on */
bool sparse_source(const Tensor *); /* a sparse operand or a sparse workspace: what loops run in */
int source_levels(const Tensor *);
sc_level_kind source_kind(const Tensor *, int level);
Index source_index(const Tensor *, int level);
bool may_repeat(const Tensor *); /* coordinates may be stored more than once */
Tensor *work_new(Prog *, const char *name, Place);
void work_add(Prog *, Tensor *w, const char *name); /* into p->tensor, under a free name */
void work_slot(Tensor *, Index);
Expr *work_access(Prog *, Tensor *);
Expr *stored_access(Prog *, Tensor *); /* stored(t), at the indices that t has */
Index whole_index(int var);
int unit_var(const Expr *access); /* the index along which a tensor has stride 1, -1: none */
/* Appended, of t in another format: csr or csc of a matrix, else compressed levels. */
void plain_level(sc_format *, const Tensor *t, int d);
/* Rows of fewer than 2^bits positions, where that is known, are over before an unrolled loop begins: it has one branch
 * more to miss. */
bool short_fibres(const Tensor *, int level, int bits);
bool sums_nothing(const Prog *, const Expr *sum);  /* over an index of extent 0 */
bool sums_a_vector(const Prog *, const Expr *sum); /* over no more elements than a vector has */
/* Elements of a register tile over variable v; 0 where all of it fits. */
int register_tile(const Prog *, int v, int slots);
/* Factors that do not vary under the vector loop come first, if this is summed: the terms of a maximum or minimum are
 * computed as written, to the last bit as elsewhere (derive.c compares them). */
Expr *scalars_first(Prog *, Op reduce, Expr *, int vec);

/* ---- schedule_text.c ---- */
#define WHY 256
enum { SERIAL = -1 };
typedef struct Wish { /* zero: anything will do */
    int norder, ninner;
    Index order[MAXORDER]; /* a loop of those that is there stands outside of the later ones */
    int parallel;          /* 1 + the index that threads share, or SERIAL */
    uint32_t inner[2];     /* sums over these are taken first, inside of the others; 0: none is */
    uint32_t first;        /* a sum over these is computed first, as a whole */
    int tile[SC_MAXVAR];   /* size of register tiles */
    bool converts;         /* to these formats, and no others */
    sc_format format[SC_MAXOP];
    int ahead; /* 1 + entries */
} Wish;
const Wish *wishes_parse(Prog *); /* one an assignment, from p->wishes */
bool wishes_convert(Prog *,
                    const Wish *); /* takes what holds for the program; operands are to be converted */
bool wish_allows(const Prog *, const Wish *, const Nest *, char why[WHY]);
void vars_print(const Prog *, const char *word, uint32_t vars, sc_text *);
void wishes_finish(const Prog *, const Wish *, sc_text *);

/* ---- schedule_build.c ---- */
typedef struct {
    int n;
    Index loop[MAXORDER]; /* outermost first; i/N before i%N */
    const Expr *inner[2]; /* sums that were split off others: absent where they have no term */
} Order;
bool wish_orders(const Wish *, const Order *);
/* Order and parallel loop of a nest; where it was built in an order, that one. */
void wish_print(const Prog *, const Order *, const Nest *, sc_text *);

/* ---- schedule_order.c ---- */
/* Every level that cannot be entered by coordinate comes after those above it. */
bool order_follows(const Tensor *, const Order *);
sc_format order_format(const Tensor *, const Order *); /* levels in the order of the loops */
Order order_natural(const Prog *, const Order *all);   /* levels first that lie on top of others */
bool order_legal(const Order *);                       /* blocks come before what is inside of them */
Order order_moved(const Order *, int from, int to);

/* A result that has no format yet gets the one that this nest assembles. Null: no nest in this order; *why then says
 * the reason. */
Nest *build(Prog *, const Assign *, const Order *, char why[WHY]);

/* ---- schedule_product.c ---- */
bool product_fits(Prog *, const Assign *);
/* Null: *to is the format that the sparse operand should be converted to first. Adds to *why, if not null. */
Nest *product_nest(Prog *, const Assign *, sc_format *to, sc_text *why);
/* The same, with a panel of rows that entries choose; null where there is none. */
Nest *packed_nest(Prog *, const Assign *, sc_format *to, sc_text *why);

/* ---- schedule_panel.c ---- */
/* dense levels that the result keeps, then one that is compressed and summed: the same in cuts of about so many
 * coordinates, in *to. Cuts divide the extent. */
bool cut_format(const Prog *, const Assign *, const Tensor *, const sc_format *from, int about,
                sc_format *to);

/* ---- schedule_turn.c ---- */
/* As product_nest, of dense operands that are transposed first; null where none lies across. */
Nest *turned_nest(Prog *, const Assign *, sc_format *to, sc_text *why);

/* ---- schedule_narrow.c ---- */
/* The nest of an assignment, or one whose sums do not pass through 16 bit floats in memory; null where there is none. */
Nest *rounded_once(Prog *, const Assign *, Nest *);

/* ---- schedule_gather.c ---- */
Nest *outer_nest(Prog *, const Assign *, sc_format *to, sc_text *why);  /* as product_nest */
Nest *gather_nest(Prog *, const Assign *, sc_format *to, sc_text *why); /* as product_nest */

/* ---- schedule_search.c ---- */
typedef struct Search Search;
Search *search_new(Prog *, const Assign *, const Wish *); /* the candidates for an assignment, best first */
int search_count(const Search *);
double search_cost(const Search *, int k);
const char *search_why(const Search *); /* of the first order that gave no nest; may be null */
void search_print(const Search *, int k, const Nest *,
                  sc_text *); /* candidate k as a wish, its nest is given */
/* The nest of candidate k, null where it cannot be built. Settles the format of a result that had none; operands
 * that are converted have their new formats from here on, and p->convert. */
Nest *search_nest(Search *, int k);
void search_explain(const Search *, int k); /* into p->orders: k was chosen */

/* ---- schedule_fuse.c ---- */
/* The two kernels as one loop, where t is a number for each of its turns; else null, and nothing has changed. */
Nest *fuse(Prog *, Nest *first, Tensor *t, Nest *rest);
Expr *expr_reading(Prog *, Expr *, const Tensor *old, Tensor *w); /* w in place of old */

/* ---- schedule_ahead.c ---- */
void schedule_ahead(const Prog *,
                    Nest *); /* loops that read rows of large dense operands ask for them ahead */

/* ---- schedule_batch.c ---- */
void schedule_batch(Nest *); /* loops over rows that sum entries take them in batches */

/* ---- cost.c ---- */
double nest_cost(Prog *, const Nest *);
double conversion_time(const Prog *);            /* of an entry of an operand or result into another format */
double tensor_positions(Prog *, const Tensor *); /* entries stored, as far as known */
/* Its format, and how many positions the levels may have then: less than entries at random would take by as much as
 * the level of the same depth had less. */
void convert_tensor(Prog *, Tensor *, const sc_format *to);
#endif
