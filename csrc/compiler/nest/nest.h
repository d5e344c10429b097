/* nest.h: the language of loops: constructors, text, what is legal, what is left where tensors have no entry. */
#ifndef SC_NEST_H
#define SC_NEST_H

#include "../expr/expr.h"

/* ---- nest.c ---- */
/* A dense loop over coordinates that lie side by side: not one over tiles of them. */
bool nest_runs_along(const Nest *);
/* The indices that an entry of a loop in a tensor has: its own, and those of singletons below. */
uint32_t nest_binds(const Nest *loop);
/* An access to a row of a dense operand that one of the indices `by` chooses, which runs along `along` at stride 1. */
bool expr_reads_row(const Expr *, uint32_t by, int along);
int expr_runs_along(const Expr *access); /* the index along which elements lie side by side, -1: none */
Nest *nest_parse(Prog *, const char *text, int at, int *end); /* registers workspaces in p->tensor */
Index parse_slot(Lexer *);                                    /* an index of a loop, or "#" var */
int parse_count(Lexer *, const char *what);                   /* 1 to 65536 */
void index_print(const Prog *, Index, sc_text *);
void nest_print(const Prog *, const Nest *, sc_text *);
/* The line that a loop, a workspace or an evaluation begins with, without its bracket, in the arena; a vec loop of one
 * evaluation is a line with it. */
const char *nest_line(Prog *, const Nest *);
void nest_verify(Prog *, const Nest *);
/* Calls f on every node below n, n first. */
void nest_walk(const Nest *, void (*f)(const Nest *, void *), void *);
bool nest_has_sources(const Nest *);                      /* a loop in a tensor, or a merge, stands in it */
Op work_reduce(const Nest *producer, const Tensor *work); /* O_CONST where it is assigned */
/* The loops of n, one inside of the other, around another evaluation; those over entries take them one by one. */
Nest *nest_around(Prog *, const Nest *n, Expr *lhs, Expr *rhs);
/* Bytes of a workspace of which only what is read is cleared: more would be in no cache. */
enum { WORK_SCATTERED = 16 << 20 };
/* What clears those elements of a dense workspace of the lane that are read, at entries of operands alone; null: all are
 * cleared. */
Nest *work_clears(Prog *, const Nest *work);
int nest_pars(const Nest *); /* loops that threads share */
Nest *nest_seq(Prog *, int n, Nest *const *);
Nest *nest_loop(Prog *, LoopKind, Index, Tensor *in, Nest *body);
Nest *nest_work(Prog *, Tensor *work, Nest *producer, Nest *consumer);
Nest *nest_eval(Prog *, Expr *lhs, Op reduce, Expr *rhs);

/* ---- batch.c ---- */
/* Whether vectors can take what has the index: entries of t and dense operands that lie side by side along it, numbers of
 * 32 or 64 bits. */
bool expr_has_lanes(const Expr *, int var, const Tensor *t);
const char *nest_batch_refused(const Nest *loop); /* why it cannot take its turns in batches, or null */
int nest_loop_level(const Nest *loop);            /* of the operand it runs in; -1 where it runs in none */

/* ---- stays.c ---- */
/* How many times the entries of the rows that it meets one has, and more, for which it is noted (lower/noted.c). */
#define ROW_LONGER 2
/* Which tensor of an intersection, 0 or 1, has the same row in each turn of the loop around it, over this index; -1: none, or
 * an array of its places would be too large. */
int nest_row_stays(Prog *, const Nest *merge, int around);

/* ---- twins.c ---- */
void nest_twins(Prog *,
                Nest *); /* of a nest as text: operands that no loop runs in are read where a twin is */

/* ---- vector.c ---- */
bool nest_over_words(const Nest *loop); /* in a level of bit masks */
/* A dense operand is read wherever the index says, by whole coordinates: a vector of them can pick its numbers. */
bool nest_picks(const Expr *access, int var);
bool nest_vector_picks(const Nest *loop); /* something in the loop is read so */
const char *
nest_vector_refused(const Nest *loop); /* why it cannot take a vector of entries at a time, or null */

/* ---- absent.c: what is left where tensors have no entry; sets of tensors as bits, by place in p->tensor ---- */
uint64_t tensor_bit(const Prog *, const Tensor *);
Expr *expr_absent(Prog *, Expr *, uint64_t absent); /* null: absent too, that is zero */
/* Of an expression that is something without these, the smallest part with all of them that is. */
Expr *expr_beside(Prog *, Expr *, uint64_t absent);
/* What the evaluation still assigns; null: nothing, its target keeps what it started from. */
Expr *eval_absent(Prog *, const Assign *, uint64_t absent);
/* As eval_absent(), while reductions are not loops yet: nothing is left to assign. A maximum or minimum that is all of
 * the right side is dead in skip mode only: it may be taken in the result itself, which would keep the identity. */
bool assign_dead(Prog *, const Assign *, uint64_t absent);
/* What is left to assign goes into a reduction, and is the same for every coordinate of var. */
bool assign_repeats(Prog *, const Assign *, int var, uint64_t absent);
/* Whether something that is seen outside of the nest is still assigned. */
bool nest_alive(Prog *, const Nest *, uint64_t absent);
/* Whether a loop that does not visit coordinates where these are absent leaves a value out, other than what has been
 * given to all of them before. What workspaces have there may be anything: they are read at the coordinates that were
 * visited. */
bool loop_misses(Prog *, const Nest *loop, uint64_t absent, const Assign *given);
/* Whether a workspace has a slot for each position of a loop in a tensor. */
bool loop_has_slot(const Nest *loop, const Tensor *work);
/* What the nest still does outside is the same for every coordinate of var, and reduced. */
bool nest_repeats(Prog *, const Nest *, int var, uint64_t absent);
/* The nest does the same with either set absent. */
bool nest_alike(Prog *, const Nest *, uint64_t absent, uint64_t other);
/* Something that is still assigned reads the tensor. */
bool nest_needs(Prog *, const Nest *, const Tensor *, uint64_t absent);
/* The set for the second block of a workspace: with the workspace where nothing fills it. */
uint64_t work_absent(Prog *, const Nest *work, uint64_t absent);
#endif
