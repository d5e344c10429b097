/* expr.h: the language of index notation: text to trees and back, what is checked, rewritten and inferred. */
#ifndef SC_EXPR_H
#define SC_EXPR_H

#include "../ir/ir.h"

/* ---- parse.c: E text ---- */
/* Declared tensors (p->tensor) are resolved by name; unknown names on a left side become results. Fills
 * var, assign; einsum strings ("ij,jk->ik") take the operands in order. */
void parse_program(Prog *, const char *text);
Expr *parse_expr(Lexer *); /* also used by nest_parse */
Expr *parse_access(Lexer *);
void expr_print(const Prog *, const Expr *, sc_text *);
void prog_print(const Prog *, sc_text *); /* parses back */
void sums_print(const Prog *, sc_text *); /* the same with reductions and aliases written out, for people */

/* ---- inline.c: temporaries that are read once; before names.c ---- */
void expr_inline(Prog *);

/* ---- names.c: results numbered, aliases made ---- */
void name_results(Prog *);
void name_aliases(Prog *);
Tensor *name_alias(Prog *, Tensor *, int pos); /* the same operand once more, under a name of its own */
void name_access(Prog *, Expr *); /* of a nest: the Tensor of the operand that has these indices */

void prog_declare(Prog *, const sc_spec *, const int64_t *dim); /* an operand, before parse_program */

/* ---- twins.c: operands of one structure ---- */
bool tensor_is_twin(const Tensor *, const Tensor *); /* of one structure, at the same indices */
/* e, with t read where loops in its twin are: as it is if there is nothing to compute `elsewhere`. */
Expr *expr_follow(Prog *, Expr *e, Tensor *t, Tensor *twin, bool elsewhere);
Expr *expr_twins(Prog *,
                 const Assign *); /* the right side, with one operand of each structure that loops run in */

/* ---- rewrite.c: expressions as equal expressions, up to rounding. Nothing is changed in place; what does not change
 * is shared. Called after check. ---- */
typedef struct {
    Expr *e;
    bool under; /* a factor: divides. A term: is subtracted */
} Part;
uint32_t expr_free(const Expr *);                              /* indices used and not reduced inside */
bool expr_sure(const Expr *);                                  /* present at every coordinate */
bool expr_equal(const Expr *, const Expr *);                   /* the same tree */
Expr *expr_find(Expr *, const Tensor *);                       /* the first one; null: it is not read */
bool expr_reads(const Expr *, const Tensor *);                 /* this very Tensor, not its aliases */
Expr *expr_replace(Prog *, Expr *, const Expr *old, Expr *by); /* the node old, wherever it is shared */
/* The same indices of another tensor where old is read. */
Expr *expr_reading(Prog *, Expr *, const Tensor *old, Tensor *);
/* A node like e over these kids; e itself where it has them already. */
Expr *expr_with_kids(Prog *, Expr *, Expr *, Expr *);
Expr *expr_reduce(Prog *, Op, uint32_t vars, Expr *); /* the expression itself without vars */
/* The maximal product (* / and unary -, which becomes a factor -1) or sum (+ -) at e, left to right: how many parts;
 * one part, e, where it is neither or has more than MAXFACTOR. */
int expr_factors(Prog *, Expr *, Part *);
int expr_terms(Prog *, Expr *, Part *);
Expr *expr_product(Prog *, int n, const Part *); /* of no factor: 1 */
/* The product of the factors that vary with none of these indices; null where these are none, or all. *rest: of the
 * others, divisors among them. */
Expr *expr_take_out(Prog *, Expr *, uint32_t vars, Expr **rest);
Expr *expr_sum(Prog *, int n, const Part *); /* of no term: 0 */
/* Constants folded, x*1 x/1 x+0 x-0 0*x 0/x -(-x) gone, constants of a product in front. A missing factor makes
 * x*1 missing as before. */
Expr *expr_simplify(Prog *, Expr *);
/* A product with a zero is zero, whatever stands beside it: only the entries that say where there is a value stay. */
Expr *expr_zeros(Prog *, Expr *);
/* reduce_V(product) as reduce_{V-inner}(the factors without an index of inner * reduce_inner(the others)); for max
 * and min the same with the terms of a sum. The node itself where that is not legal or changes nothing: inner must
 * be a part of V. Infinite and NaN factors outside stay right where the inner reduction is expr_sure, or where
 * the nest visits its result only where something was reduced (a sparse workspace). */
Expr *expr_contract(Prog *, Expr *reduce, uint32_t inner);
Expr *expr_flatten(Prog *, Expr *reduce); /* the inverse: reductions of the same kind inside become one */
Expr *expr_hoist(Prog *, Expr *); /* out of every reduction that is sure, what does not depend on it */

/* ---- check.c: ranks, extents, types, what is supported; Einstein summation made explicit ---- */
void expr_check(Prog *);
/* What "=" means by this right side, its sums explicit; *unsummed: indices that it has no sum for. */
Expr *expr_explicit(Prog *, const Expr *lhs, Expr *rhs, uint32_t *unsummed);

/* ---- derive*.c: the gradients of a checked and inferred program, as the text of a program; see scorch.h. Changes
 * the formats of p's results to what is delivered. ---- */
void expr_derive(Prog *, uint32_t wanted, uint32_t given, sc_gradient *);

/* ---- compose.c: a checked and inferred program over composed operands, of parts[k] parts, as
 * the text of one over the parts; see scorch.h ---- */
void expr_compose(Prog *, const uint8_t *parts, sc_composed *);

/* ---- covered.c ---- */
/* The indices whose combinations are stored: e is missing at all others. */
uint32_t expr_covered(const Prog *, const Expr *);
/* Above zero where e has an entry, zero where it is missing; the same indices. */
Expr *expr_entries(Prog *, Expr *);
bool expr_kills(const Prog *, const Expr *,
                const Tensor *t);               /* e is absent wherever this very Tensor has no entry */
void expr_check_division(Prog *, const Expr *); /* refuses divisors that are zero where an entry is missing */

/* ---- infer.c: types of results, p->ask, and Tensor.format where it is settled: dense, or like an operand, or by the
 * nest of a user. A sparse result that the scheduler may lay out has nlevel 0. ---- */
void expr_infer(Prog *);
void expr_make_dense(Prog *, Tensor *); /* settles the format so */
#endif
