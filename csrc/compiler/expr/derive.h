/* derive.h: shared by the files that make gradients. */
#ifndef SC_DERIVE_H
#define SC_DERIVE_H

#include "expr.h"

/* What one access adds to the gradient of its tensor: an expression whose free indices are among those of the
 * access, sums explicit. */
typedef struct {
    Tensor *to;
    Expr *at, *value;
    bool whole; /* value is a temporary, read at each dimension by itself though `at` may be on a diagonal */
} Share;

typedef struct {
    Tensor *t;    /* sparse: a temporary that inference may find to be so */
    Op reduce;    /* as in Assign */
    int of;       /* the operand whose gradient this is, or -1 */
    Tensor *like; /* the sparse tensor whose adjoint this is, or a part of it, with its structure; or null */
    /* Dimensions that t has among those of the access; all but in gradients of dense operands. */
    uint32_t has;
    int n;
    Share *share[MAXSHARE]; /* their sum is the right side */
} Line;

typedef struct {
    Prog *p;
    uint32_t wanted, given; /* operands, results */
    uint32_t active;        /* assignments that something wanted goes into */
    bool apart;             /* the gradient program may read sparse temporaries: its types are all the same */
    Share share[MAXSHARE];
    int nshare;
    Line line[MAXLINE];
    int nline;
    struct {
        const Expr *e;
        Expr *temp;
    } once[MAXLINE]; /* values that have a temporary */
    int nonce;
    Tensor *grad[SC_MAXOP]; /* incoming gradients, by result */
    int count;              /* of generated names */
} Derive;

/* A product, taken apart. */
typedef struct {
    Expr *over[MAXFRACTION], *under[MAXFRACTION];
    int nover, nunder;
    double c;
} Fraction;

/* derive_parts.c */
bool derive_sparse(const Tensor *);         /* stored at some coordinates only, as far as is known here */
Tensor *derive_operand(Derive *, Tensor *); /* the operand itself, where it is an alias */
Expr *derive_prefix(Prog *, Expr *factor, Expr *product);
bool derive_covered(const Expr *); /* surely zero where nothing is stored */
bool derive_reads_sparse(const Expr *, const void *unused);
void derive_flatten(Derive *, Fraction *, Expr *, bool under);
/* Constant, factors, divisors: so that a divisor finds its factor in the numerator. */
Expr *derive_rebuild(Prog *, const Fraction *);
Expr *derive_tidy(Derive *, Expr *);
Expr *derive_times(Prog *, Expr *a, Expr *b); /* b where a is null */
Expr *derive_access(Derive *, Tensor *, const Index *);
Expr *derive_stored(Derive *, const Expr *at);
/* The sum of the product e over vars, all of which are in scope. */
Expr *derive_sum(Derive *, Expr *e, uint32_t vars, uint32_t scope);

/* A dense tensor called stem_grad, or stem and a number. */
Tensor *derive_tensor(Derive *, const char *stem, bool grad);
Line *derive_line(Derive *, Tensor *, Op reduce, int of);
Share *derive_new_share(Derive *, Tensor *to, Expr *at, Expr *value);
/* t[vars] <reduce> value, ahead of what follows; the access to it. */
Expr *derive_assign(Derive *, Tensor *t, uint32_t vars, Op reduce, Expr *value);
/* The same of a new tensor, over all indices of e. */
Expr *derive_temporary(Derive *, const char *stem, Expr *e);
/* derive_shares.c: what several accesses add to one gradient becomes one sum where they have something sparse in common;
 * and what gradients to several tensors sum is computed once. */
void derive_merge(Derive *, const Tensor *to);
void derive_share(Derive *);
/* derive_write.c: the lines as a request, ready to be compiled. */
void derive_write(Derive *, sc_gradient *);
#endif
