/* limits.h: how much of everything the compiler takes, and what becomes of more.
 *
 * Arrays of fixed size are bounded here, and so is how long a search goes on. What has "refused" behind it ends in an
 * error that says the limit; what has not goes on without, and says how. Limits that kernels and callers share stand
 * in scorch.h (operands, index variables), abi.h (dimensions, levels, cursors, shared workspaces) and plan.h (steps,
 * entries, lane workspaces, bounds), and are refused in the same way; arrays and parameters of a module are refused
 * beyond those of Module, assignments beyond that of Prog (ir.h). */
#ifndef SC_LIMITS_H
#define SC_LIMITS_H

/* ---- texts and expressions ---- */
#define MAXTENSOR 64   /* operands, their aliases, results and workspaces of one program: refused */
#define MAXNODE 1000   /* operators and parentheses of one expression: refused */
#define MAXINSIDE 240  /* operations inside of each other, once sums are explicit: refused */
#define MAXFILELINE 32 /* lines of a kind in an .sc file: refused */
#define MAXFACTOR 64   /* factors of a product, terms of a sum: more are one part, not looked into */
#define MAXSHARE 64    /* terms of all gradients: refused */
#define MAXFRACTION 48 /* factors, or divisors, of a term of a gradient: refused */
#define MAXLINE 32     /* assignments of a gradient program: refused */
#define MAXCROSSED 2   /* tensors that a gradient reads across its order: with more, its terms are apart */
#define MAXORDER                                                                                             \
    20 /* loops of an order: refused in a text; more parts of indices have no loop of their own */
#define MAXGATHER 32  /* entries of a tile that a text asks for, two at least: refused */
#define MAXAHEAD 4096 /* entries ahead that a text asks for: refused */

/* ---- nests ---- */
#define MAXNEST 64 /* loops and blocks inside of each other in a text: refused */
#define MAXITEM 64 /* items in a row: refused */
#define MAXLOOP                                                                                              \
    80 /* loops inside of each other: refused by the verifier; costs and conditions count no more */
#define MAXMERGE 6 /* tensors that a loop merges: refused in a text; the builder takes another order */

/* ---- the search for one ---- */
#define MAXPERMUTED 6 /* indices of which all orders are tried: beyond, one order is improved */
#define MAXTRIAL 4000 /* orders that are built and costed: the others are not looked at */
#define MAXFORM 12    /* ways to split sums: the others are not looked at */
#define MAXBEST 24    /* candidates that are kept: the cheapest */
#define MAXLAYOUT 6   /* of an operand that is multiplied often: two cuts, and one of each other kind */
#define MAXINTERMEDIATE (64 << 20) /* bytes of a dense intermediate: no larger one is considered */
#define MAXPRODUCTSTEP                                                                                       \
    (SC_MAXLEVEL + SC_MAXVAR) /* loops of a product: never more, each is of a level or of a dense index */
#define MAXTRIES 120          /* compositions that are lowered on trial: then no loops are found */
#define MAXLISTED 40          /* nests of the stage "orders": the others are not listed */
#define MAXSHOWN 8            /* orders that explain shows, beside the chosen one */

/* ---- orders of contraction ---- */
#define MAXFACTORS 8        /* factors of a product that is taken apart: longer ones stay one nest */
#define MAXTREES 4          /* orders that are costed: the cheapest by a rough look */
#define MAXPATHSTEP 48      /* steps: more stay one, or are refused where sparse results are read */
#define MAXSUM 64           /* sums of products whose common parts are known: others share nothing */
#define MAXSAID 128         /* answers of the scheduler that are kept: others are asked for again */
#define MAXNOTED 4          /* rows of a kernel that are noted (lower/noted.c) */
#define UNCOUNTED 64.0      /* entries of a column that others led to, where nobody counted the columns */
#define MAXCELLS 16777216.0 /* elements of a dense temporary, or what the largest dense tensor has: no more */
#define MAXWHOLE 4          /* indices of a product whose one nest is looked at where steps are cheaper */
#define MAXNESTED 4         /* indices of sums inside of others whose one nest is looked at */

/* ---- lowering ---- */
#define MAXLOCAL 2048 /* locals of a kernel, which take long to compile: refused */
#define MAXREG 512    /* vectors kept in registers: refused */
#define MAXMEMO 64    /* values computed once in front of a vector loop: others are computed inside */
#define MAXBESIDE 8   /* sums of a vector loop over words: more are refused, and none are scheduled */
#define MAXTERM 8     /* terms of a batch computed side by side: the loop takes so many at a time */
#define MAXCASE 24    /* bodies of a merge: with more, one loop runs to the end of all */
#define MAXBOUNDING 6 /* operands that bound the entries of a result: others do not */
#define MAXLINES 16   /* cache lines of a row asked for ahead: the processor goes on by itself */
#define MAXDEPTH 256  /* blocks, or values, inside of each other in statements: refused */
#define MAXOPEN 64    /* brackets inside of each other in a line of C: what is deeper is indented by 4 */
#endif
