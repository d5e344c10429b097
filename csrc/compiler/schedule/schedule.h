/* schedule.h: the nests of assignments, the cheapest first. */
#ifndef SC_SCHEDULE_H
#define SC_SCHEDULE_H

#include "../nest/nest.h"

/* ---- parts.c, fuse.c: nests of several assignments as one ---- */
/* work w { first } then { rest }; private and shared workspaces that `first` begins with stay around both. */
Nest *schedule_before_rest(Prog *, Nest *first, Tensor *w, Nest *rest);
/* The two kernels as one loop, where t is a number for each of its turns; else null, and nothing has changed. */
Nest *schedule_fuse(Prog *, Nest *first, Tensor *t, Nest *rest);

/* ---- parts.c ---- */
bool source_is_sparse(const Tensor *);  /* a sparse operand or a sparse workspace: what loops run in */
bool source_may_repeat(const Tensor *); /* coordinates may be stored more than once */
Tensor *work_new(Prog *, const char *name, Storage);
void work_slot(Tensor *, Index);
Expr *work_access(Prog *, Tensor *);
Expr *expr_stored_access(Prog *, Tensor *); /* stored(t), at the indices that t has */
/* Appends a level over dimension d of t to a format: such levels are csr or csc of a matrix, which may have dense levels
 * below, else all compressed. */
void schedule_plain_level(sc_format *, const Tensor *t, int d);

/* ---- text.c: what a user asks of the scheduler ---- */
#define WHY 256
enum { SERIAL = -1 };
typedef struct Wish { /* zero: anything will do */
    int norder, ninner;
    Index order[MAXORDER]; /* loops, outermost first; a nest need not have all of them */
    int parallel;          /* 1 + the index that threads share, or SERIAL */
    uint32_t inner[2];     /* sums over these are taken first, inside of the others; 0: none is */
    uint32_t first;        /* a sum over these is computed first, as a whole */
    int tile[SC_MAXVAR];   /* size of register tiles */
    int gather[SC_MAXVAR]; /* entries that are gathered into a tile of registers */
    int block[SC_MAXVAR];  /* coordinates of the blocks that threads share out, each with its entries */
    bool converts;         /* to these formats, and no others */
    sc_format format[SC_MAXOP];
    int ahead; /* 1 + how many entries ahead rows are prefetched; 0: not said */
} Wish;
const Wish *wishes_parse(Prog *); /* one for each assignment, from p->wishes */
/* Takes what is asked of the program as a whole. True: operands are to be converted first. */
bool wishes_convert(Prog *, const Wish *);
void wishes_finish(const Prog *, const Wish *, sc_text *); /* prints that part again */
bool wishes_text(Prog *, const char *text); /* whether it is not a nest but what is asked of the scheduler */

/* ---- search.c: the nests of one assignment ---- */
typedef struct Search Search;
Search *search_new(Prog *, const Assign *, const Wish *); /* the candidates for an assignment, best first */
int search_count(const Search *);
double search_cost(const Search *, int k);
const char *search_why(const Search *); /* of the first order that gave no nest; may be null */
/* Candidate k, whose nest is given, as the text that asks for it. */
void search_print(const Search *, int k, const Nest *, sc_text *);
/* The nest of candidate k, null where it cannot be built. Settles the format of a result that had none; operands
 * that are converted have their new formats from here on, and p->draft.convert. */
Nest *search_nest(Search *, int k);
void search_explain(const Search *, int k); /* into p->draft.orders: k was chosen */

/* ---- ahead.c, batch.c, vector.c, factors.c, across.c, widen.c, cost.c, where.c: whole nests ---- */
/* Loops that read rows of large dense operands prefetch them. */
void schedule_ahead(const Prog *, Nest *);
void schedule_batch(Nest *);           /* loops over rows that sum entries take them in batches */
void schedule_vector(Prog *, Nest *);  /* loops over entries, and over dense results, take vectors */
void schedule_factors(Prog *, Nest *); /* products begin with what these leave as it is */
Nest *schedule_across(Prog *, Nest *); /* numbers that vectors are added to are vectors until all are */
Nest *schedule_widen(Prog *, Nest *);  /* what these pick of 16 bit floats is made f32 first */
double cost_nest(Prog *, const Nest *);
/* Gives an operand a format, and estimates the positions of its levels: as many as entries at random would have, times
 * the share of those that its level of the same depth had before. */
void cost_convert(Prog *, Tensor *, const sc_format *to);

/* The nest, and behind it those that say where results have entries, which cannot be told from values. */
Nest *schedule_where(Prog *, Nest *);
#endif
