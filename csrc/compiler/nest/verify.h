/* verify.h: shared by the verify*.c files: verify.c walks loops, verify_eval.c looks at evaluations and workspaces,
 * verify_say.c finds words for them. */
#ifndef SC_NEST_VERIFY_H
#define SC_NEST_VERIFY_H

#include "place.h"

enum { SLOT = SC_MOD + 1 };
typedef struct { /* at a place of the nest; copied at every loop */
    Place known;
    const Nest *by[SC_MAXVAR][SLOT + 1]; /* the loops that bind i, i/N, i%N and #i */
    struct {
        const Nest *tile; /* the loop over tiles of the next level */
        bool merged;
    } of[MAXTENSOR];
    const Nest *par, *loop[MAXLOOP];
    int nloop;
    const Assign *given; /* the item in front assigns it at every coordinate, or null */
} Scene;

typedef enum { CLOSED, FILLING, READING } Scope;

typedef struct {
    Prog *p;
    struct {
        Scope scope;
        const Nest *work;   /* where it is opened */
        int depth;          /* loops around the workspace */
        int writes, kernel; /* assignments; the kernel of the last one */
        Op reduce;
    } use[MAXTENSOR];
    const Nest *kernel;
    int nkernel; /* so far */
    int nlane;   /* lane workspaces of the kernel */
    bool serial; /* the kernel has no par loop */
} NestVerifier;

/* verify_say.c */
const char *verify_index(Prog *, Index); /* as text, for messages */
const char *verify_loop(Prog *, const Nest *);
const char *verify_expr(Prog *, const Expr *);
const char *verify_level(Prog *, const Tensor *, int level);
bool verify_operand(const Tensor *);
bool verify_dense(const Tensor *);
const Nest *verify_binder(const Scene *, Index); /* the loop that makes an index known, or null */
int64_t verify_extent(const Prog *, Index);      /* -1: not constant */

/* verify_eval.c */
bool verify_counts(const Nest *loop); /* it visits every coordinate of its index */
void verify_eval(NestVerifier *, const Scene *, const Assign *);
void verify_workspace(NestVerifier *, const Scene *, const Tensor *);
#endif
