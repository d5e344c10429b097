/* ir.h: the private header of the compiler, grouped by file.
 *
 * Three languages, each printed, parsed back and verified:
 *   E  the expression  what is computed: index notation over tensors
 *   N  the nest        how: loops, workspaces and evaluations; it is the schedule text
 *   S  the statements  typed imperative code; what emit prints as C and the executor runs
 * compile.c lists the passes. Everything lives in one arena; any pass may call
 * fail(), which does not return. */
#ifndef SC_IR_H
#define SC_IR_H

#include <setjmp.h>

#include "../../base.h"
#include "../../plan.h"
#include "limits.h"

/* Whether k is in a set of small numbers, which is an integer of as many bits. */
static inline bool in(uint32_t set, int k) { return set >> k & 1; }

typedef struct Prog Prog;
typedef struct Tensor Tensor;
typedef struct Expr Expr;
typedef struct Nest Nest;
typedef struct Val Val;
typedef struct Stmt Stmt;

/* ---- ops ---- */
typedef enum {
#define OP(id, ...) O_##id,
#include "ops.h"
#undef OP
    O_LAST_E,
#define OPS(id, ...) O_##id,
#define LEAF(id, ...) O_##id,
#include "ops.h"
#undef OPS
#undef LEAF
} Op;
typedef enum { F_INFIX, F_PREFIX, F_CALL } Form;
typedef enum { W_SIMPLE, W_SLOW, W_SERIES } Work; /* what an evaluation takes: ops.h */
typedef struct {
    const char *text;
    int arity;
    Form form;
    double zero;
    Work work;
    bool reals, integers; /* numbers that it applies to, as far as this table says */
    bool leaf;            /* no function of numbers */
} OpInfo;
const OpInfo *op_info(Op); /* ops.c */
bool op_compares(Op);
/* Identity of a reduction: 0 for O_ADD, 1 for O_MUL, -inf for O_MAX, +inf for O_MIN. */
double op_identity(Op);
/* The scalar function itself on doubles, and on integers (comparisons give 0 or 1); NaN and 0 where there is none. */
double op_eval(Op, double a, double b);
int64_t op_eval_int(Op, int64_t a, int64_t b);
bool op_is_whole(double); /* an int64 */
/* What kernels of a type compute of a and b; false: a double does not hold it. Where no type is known yet, of doubles. */
bool op_eval_in(sc_dtype, Op, double a, double b, double *out);

/* ---- E: index notation ----
 *   program := assign { ";" assign }
 *   assign  := access ("=" | "+=" | "max=" | "min=") expr
 *   access  := NAME [ "[" var { "," var } "]" ]
 * "=" is Einstein summation: in every product (maximal chain of * and /) the
 * indices that are neither on the left nor used outside of it are summed there.
 * "+=", "max=" and "min=" reduce the whole right side over what is not on the
 * left. A result starts from the identity of its reduction. */
typedef struct {
    char name[24];
    int64_t extent; /* at compile time */
    int arg, dim;   /* where it is read: dimension dim of operand arg */
    bool fold;      /* the extent is a constant of the generated code */
} Var;

typedef struct { /* i, i/block or i%block; slot: the position of i inside its tile ("#i") */
    uint8_t var, part, slot;
    int32_t block;
} Index;

typedef enum { T_IN, T_OUT, T_WORK } Role;
typedef enum { W_REG, W_LANE, W_PRIVATE, W_SHARED } Storage;

/* A sparse operand that is accessed with several tuples of indices, or a diagonal A[i,i] beside A[i,j], is one
 * Tensor for every tuple: the operand itself for the first, and aliases A_1, A_2 .. for the others, which have the
 * arg, structure and values of the operand, and dimvar and a name of their own. A diagonal has one variable in two
 * places of dimvar. Dense tensors have no aliases: their dimvar is that of the first access. */
struct Tensor {
    char name[32];
    Role role;
    int id;  /* its place in p->tensor */
    int arg; /* position in sc_call.view: operands, then results; -1 for workspaces */
    int ndim;
    int dimvar[SC_MAXDIM]; /* the index variable that runs over each dimension (extents agree) */
    Tensor *alias;         /* of a sparse operand accessed at several tuples of indices; see below */
    int64_t extent[SC_MAXDIM];
    sc_format format;
    sc_dtype dtype, itype;
    uint8_t positions[SC_MAXLEVEL]; /* operands: statistics, as in sc_spec */
    int unit;                       /* dense: dimension of stride 1, or -1 */
    bool perm;                      /* values are found through view.perm */
    int twin;                       /* operands: as in sc_spec */
    sc_often often;                 /* the same */
    bool even;                      /* this and skew: as in sc_spec */
    uint8_t skew;
    bool turned; /* converted: nobody counted its fibres */
    /* The operand whose structure a result shares: an alias with the result's indices. Of an operand, see
     * expr/twins.c: it has no loops of its own, and is read where that one is. */
    Tensor *like;
    int shared; /* with `like`: how many of its levels; dense ones of other indices follow */
    /* Results: missing wherever nothing is stored; sparse unless they are asked for or read as dense. */
    bool covered;
    Tensor *where; /* of a covered result that is computed dense and delivered sparse: which entries it has */
    bool hidden;   /* results: a "tmp", which is not returned */
    Op empty;      /* results: where no point counts they hold the identity of this; 0 of O_CONST */
    /* workspaces */
    Storage place;
    bool bitmap, hash;
    Index slot[SC_MAXDIM];
};

struct Expr { /* immutable */
    Op op;
    Expr *kid[2];
    double c;       /* O_CONST */
    Tensor *tensor; /* O_ACCESS */
    Index ix[SC_MAXDIM];
    Op reduce;     /* O_REDUCE */
    uint32_t vars; /* O_REDUCE: bit v = variable v */
    int pos;       /* offset in the source, for carets */
};

typedef struct {
    Expr *lhs; /* O_ACCESS */
    Op reduce; /* O_ADD O_MAX O_MIN of "+=" "max=" "min="; O_CONST for "=" */
    Expr *rhs;
} Assign;

/* What a choice of loops makes of a program. Choices are drafts until one comes through lowering: a program goes back to
 * what it was by prog_rewind, in which all of this is one assignment. The texts lie in the arena, so that they can be
 * left at any place; what they say ends at n, whatever stands behind. */
typedef struct {
    Nest *nest;
    struct Module *module;
    sc_plan plan;
    int nmade; /* results that kernels make: those of the program, then those that stay inside */
    sc_format convert[SC_MAXOP]; /* formats asked of operands; nlevel 0 where none is */
    bool converts;
    const struct Wish *wish; /* what was asked for the assignment that is being scheduled; null: nothing */
    sc_text why;    /* reasons of the scheduler, one line each; in the C text too, so without statistics */
    sc_text orders; /* loop orders considered, and their costs */
    sc_text chosen; /* the schedule as p->wishes would say it; empty with a user's nest */
} Draft;

struct Prog {
    sc_arena arena;
    sc_err *err;
    jmp_buf *escape;
    const char *source, *file;
    bool unsized; /* extents are not known: what programs return is asked, or their gradients */
    bool skip;    /* implicit="skip": evaluate only where a sparse operand of the assignment is stored */
    int nvar, ntensor, nassign;
    Var var[SC_MAXVAR];
    Tensor *tensor[MAXTENSOR]; /* operands, then results in the order of assignments, aliases, workspaces */
    Assign assign[32];
    int nin, nout; /* operands; results: those that are returned, then the hidden ones */
    int nhidden;
    sc_dtype type, result_type; /* what is computed in; of results that were not declared */
    int vector_bytes;           /* of the target: 16, 32 or 64 */
    bool dots;                  /* it multiplies pairs of bf16 and adds them to an f32 in one instruction */
    int64_t cache[3];           /* bytes of the caches, powers of two; 0: unknown */
    int threads;                /* that kernels will run on, a power of two; 0: unknown */
    sc_speeds speeds;
    bool multiplies, swift;    /* dense products have a library, which is as fast as the CPU in float32 */
    uint32_t settled;          /* operands that are not to be converted */
    bool nofold;               /* no extent becomes a constant */
    const char *wishes;        /* what a user asks of the scheduler, or null */
    bool keeps;                /* a user asks that no other operand is converted */
    int ahead;                 /* 1 + how many entries ahead a user asks for rows; 0: nothing was said */
    sc_format ask[SC_MAXOP];   /* how result r is delivered; Tensor.format is how the kernels make it */
    int8_t ask_like[SC_MAXOP]; /* result r takes the structure of operand ask_like[r] - 1; 0: not asked */
    uint32_t asked;            /* results whose format was asked for */
    uint32_t apart;  /* assignments that read sparse results of those in front: another step (path/apart.c) */
    uint32_t wide;   /* results that are stored in the type that is computed in */
    sc_dtype narrow; /* what the others are stored in, if not SC_BOOL */
    Draft draft;
    struct Choices *choices; /* the nests that settle.c takes from; null with a user's nest */
};

/* ---- N: the nest ----
 *   nest  := { item }
 *   item  := loop | work | eval
 *   loop  := ("for" | "par" | "vec") index [source ["rest"]] ["by" N] ["unroll" N] ["ahead" N] ["batch" N] "{" nest "}"
 *   index := var | var "/" N | var "%" N
 *   source:= "in" TENSOR | "merge" TENSOR { "," TENSOR }
 *   work  := "work" NAME ["[" slot { "," slot } "]"] ":" place ["bitmap" | "hash"] dtype "{" nest "}" "then" "{" nest "}"
 *   slot  := index | "#" var
 *   place := "reg" | "lane" | "private" | "shared"
 *   eval  := access ("=" | "+=" | "max=" | "min=") expr      (O_REDUCE never occurs here)
 * for   runs in order. par is the parallel loop of its kernel, cut into ranges of units; loops around it
 *       are repeated by every lane. A kernel without par runs on one thread. vec must have a constant extent after tiling or is cut into pieces.
 *       `unroll N` on a loop with a constant extent unrolls it; on a loop over positions it takes N at a time
 *       with N copies of the registers accumulated inside.
 *       `ahead N` on a loop over positions asks for the rows of dense operands that the position N further on
 *       needs, where a dense loop inside runs along them: for operands too large for the caches. With `by`, each
 *       turn asks for those of all its positions.
 *       `batch N` on a loop in a tensor that holds nothing but a sum over the entries of its next level takes
 *       N turns at a time: what all their entries add, then the sums. batch.c says where that is legal.
 * in    iterates the next level of that tensor (its ancestors are bound); without a source a loop is dense.
 *       In a sparse workspace that was filled: its entries, in order of coordinate.
 * merge co-iterates the next levels of several tensors, of any kind but dense, and sparse workspaces; which
 *       combinations are visited follows from the expressions inside (absence substitution).
 *       in and merge over an index that is bound already look the coordinate up: `in` runs its body where the
 *       entry is stored, `merge` once for the combination that is, none stored included. So
 *       `for i { for i merge A, B {..} }` visits every coordinate, `for j in A { for j in B {..} }` searches B
 *       for the entries of A, and a diagonal is `for i in A { for i in A {..} }`.
 *       par .. merge: units are ranges of coordinates, cut by the entries of the first tensor.
 * rest  on a fresh in or merge: also what is left to do at the coordinates that it does not visit. That must be the same
 *       at each of them and go into reductions outside, so it is done once, if there are any: a maximum takes it, a sum
 *       takes it as many times as there are.
 * by N  on "in": a tile of N consecutive positions; an inner loop over the same index in the same tensor
 *       visits them, and #i is the position inside the tile. With `unroll N` they stand side by side in the code,
 *       so that registers may have a slot #i.
 * work  a copy of an operand or result slice; cleared to the identity of the reduction that fills it, filled
 *       by the first nest, read by the second. reg: registers; lane: the thread's scratch; private: a copy
 *       per thread, summed when read, fills a whole kernel; shared: one copy, fills a whole kernel. At the top
 *       a dense result that an earlier kernel assigned may be read as well.
 *       bitmap, hash: a sparse lane workspace over whole indices; what was written is what it stores. Behind
 *       "then" it is a tensor of coordinates in lexicographic order, one level an index (Tensor.format says so:
 *       compressed, then singleton levels), that loops run over like over an operand. A kernel with a hash
 *       workspace may run over a range of units twice: it assigns what outlives the range by "=".
 * A sparse result is assembled: its levels are dense ones, each with a dense loop over its index, then compressed
 *       unique ones, each with a loop; the loops that are over its indices stand in the order of its levels. An
 *       entry is appended wherever the assignment is reached; a fibre of a compressed level is stored where
 *       something was appended below it.
 * Index i is known where i, or both i/N and i%N, are bound by enclosing loops. Inside of `i/N in A` a loop over
 * i/M, where M divides N, visits the N/M tiles of that block. */
typedef enum { N_LOOP, N_WORK, N_EVAL, N_SEQ } NestOp;
typedef enum { L_FOR, L_PAR, L_VEC } LoopKind;
struct Nest {
    NestOp op;
    /* N_LOOP */
    LoopKind kind;
    Index ix;
    Tensor *in;
    Tensor *merge[MAXMERGE];
    int nmerge;
    bool rest;
    int by, unroll, ahead, batch; /* 0: none */
    Nest *body;
    /* N_WORK */
    Tensor *work;
    Nest *then; /* producer in body */
    /* N_EVAL */
    Assign eval;
    /* N_SEQ */
    int n;
    Nest **kid;
};

/* ---- S: statements ----
 *   module := { buf | par | entry }
 *   buf    := "buf" NAME ":" dtype ["mut"] "=" origin      origin: "pos" arg level | "crd" arg level | "val" arg | "perm" arg
 *                                                          | "cursors" val | "scratch" val | "shared" slot | "partial" val
 *             (cursors: the int64 ones of the lane; val is the byte offset, an expression over parameters)
 *   par    := "par" NAME ":" "i64" "=" origin              origin: "dim" var | "stride" arg dim | "npos" arg level |
 *                                                          "size" arg level | "nval" arg | "cursor" n |
 *                                                          "copies" slot | "slots" | "begin" | "end"
 *   entry  := "entry" NAME "{" { stmt } "}"
 *   stmt   := "let" NAME ":" type "=" val                  a constant
 *           | "mut" NAME ":" type "=" val                  a variable
 *           | NAME "=" val
 *           | NAME "[" val [";" lanes [":" val]] "]" "=" val       store, contiguous or strided lanes
 *           | "put" NAME "[" val ";" lanes "]" "," bits "=" val    store of the lanes whose bits are set, of 32 or 64 bits each
 *           | "for" NAME "=" val "," val ["," step] block          i64 counter, step a constant > 0
 *           | "while" val block | "if" val block ["else" (block | "if" ..)]
 *           | "sort" NAME "," NAME "," val                 the first val keys of an i32 or i64 array, none negative;
 *                                                          the second array, as long, is overwritten
 *           | "unite" NAME "," NAME "," NAME "," val      the first coordinates of an i32 array, as many as the variable
 *                                                    says, 256 at most and each up to val times: sorted, values of the
 *                                                    second array along; those of one are added, in the order they
 *                                                    came in; the variable says how many there are then. Both
 *                                                    arrays have room for 16 more than 256, which are overwritten
 *           | "turn" NAME "[" val ";" lanes ":" val "]" "=" NAME "[" val ";" lanes ":" val "]"   a square of so many rows,
 *                                                    as far apart as that says, becomes the other, transposed
 *           | "fetch" NAME "[" val "]"                 the processor may load what stands there; changes nothing
 *           | "return" INT | "#" text to the end of the line       a comment kept in the C
 *   val    := infix and calls as ops.h spells them, NAME, NUMBER, NAME "[" val [";" lanes [":" val]] "]" (load),
 *             type "(" val ")" (cast or splat), "hadd" | "hmax" | "hmin" "(" val ")",
 *             "lane" "(" val ";" number ")", "first" "(" val ";" lanes ")" (truth values: the lanes below val),
 *             "bits" "(" val ";" lanes ")" (truth values: lane k is bit k), "masked" "(" NAME "[" val ";" lanes "]" "," bits ")",
 *             "search" "(" NAME "," from "," to "," val ")"   in an ascending part of an index array; cheap when near `from`
 *             "meet" "(" part "," part ")"                    part := NAME "[" from ":" to "]"
 *             "spread" "(" NAME "[" val ";" lanes "]" "," bits "," fill ")"
 *             "expand" "(" NAME "[" val ";" lanes "]" "," bits ")"   the same, zero elsewhere
 *             "pick" "(" NAME "[" val ";" lanes [":" val] "]" "," NAME "[" val "]" ")"   NAME at val + c, or val + stride * c,
 *                                                    for as many coordinates c from that place of an index array on
 *             "pair" "(" NAME "," val ")"            two neighbours of an i32 index array, the second 32 bits up
 *             "marks" "(" NAME "," val ")"           bit k is whether entry val + k of an array of truth values is true
 *             "dot" "(" NAME "[" val "]" "," val "," val ")"   entry val of a bf16 array times the second val,
 *                                                    plus the one behind it times the third
 *   type   := dtype ["x" lanes]          bool i16 i32 i64 f16 bf16 f32 f64; lanes 1, 2, 4, .. 64
 * Both kids of an operator have its type, except that comparisons give bool of the kids' lanes (as a value:
 * converted by a cast to 0 or 1). "a & b" of two bools reads b only where a holds. Addresses are i64. Loads widen nothing: cast after. */
typedef struct {
    uint8_t dtype, lanes;
} Type;
typedef enum { B_POS, B_CRD, B_VAL, B_PERM, B_SHARED, B_CURSORS, B_SCRATCH, B_PARTIAL } BufOrigin;
typedef struct {
    const char *name;
    sc_dtype dtype;
    bool mut;
    BufOrigin origin;
    int arg, level;
    Val *offset;
} Buf;
typedef enum {
    P_DIM,
    P_STRIDE,
    P_NPOS,
    P_SIZE,
    P_NVAL,
    P_CURSOR,
    P_COPIES,
    P_SLOTS,
    P_BEGIN,
    P_END
} ParamOrigin;
typedef struct {
    const char *name;
    ParamOrigin origin;
    int a, b;
} Param;
typedef struct {
    const char *name;
    Type type;
    bool mut;
    int slot; /* number inside its entry, for the executor */
} Local;
struct Val { /* immutable */
    Op op;
    Type type;
    Val *kid[3];
    int64_t i; /* O_CONST of integer types; O_LANE */
    double f;  /* O_CONST of float types */
    Local *local;
    Param *param;
    Buf *buf;
    Op reduce; /* O_HRED */
};
typedef enum {
    S_LET,
    S_SET,
    S_STORE,
    S_PUT,
    S_TURN,
    S_FOR,
    S_WHILE,
    S_IF,
    S_SORT,
    S_UNITE,
    S_FETCH,
    S_RETURN,
    S_NOTE
} StmtOp;
struct Stmt {
    StmtOp op;
    Stmt *next;
    Local *local; /* LET (let and mut), SET, FOR, UNITE */
    /* LET SET: a. STORE: [a] = b, strided by c. PUT: [a] = b in the lanes of c. TURN: a square of as many rows as b, a
     * load, has lanes, c apart; row k is b, k elements on. FOR: a to b. WHILE IF SORT UNITE: a */
    Val *a, *b;
    Val *c;
    Buf *buf, *spare; /* STORE PUT TURN: buf. SORT UNITE: both */
    int64_t step;     /* FOR; RETURN: the code */
    Stmt *body, *other;
    const char *text;
};
typedef struct {
    const char *name; /* "body", "count", "part", "finish", numbered when there are several kernels */
    Stmt *body;
    int nlocal;
} Entry;
typedef struct Module {
    int nbuf, nparam, nentry;
    Buf *buf[128];
    Param *param[96];
    Entry entry[SC_MAXENTRY];
} Module;
static inline int prog_vector_regs(const Prog *p) { return p->vector_bytes == 64 ? 32 : 16; }
enum { PROG_NEAR = 4 << 20 }; /* bytes that near caches hold, together */
static inline int prog_threads(const Prog *p) { return p->threads ? p->threads : 4; }
/* Of a vector that coordinates pick, which loads of single numbers make: a short one has been filled before there are
 * too many in flight for the registers. */
static inline int prog_picked_lanes(const Prog *p)
{
    enum { PICKED = 32 /* bytes */ };
    return (p->vector_bytes < PICKED ? p->vector_bytes : PICKED) / (int)sc_dtype_size(p->type);
}
/* Rows that code is made for, where they are packed into a tile of just as many: one pass over the entries, where tiles
 * that are powers of two take two. */
static inline bool prog_few_rows(int64_t n)
{ return (n & (n - 1)) && (n < 16 || (n < 32 && !((n - 16) & (n - 17))) || (n < 64 && n % 8 == 0)); }
static inline bool type_is_float(Type t) { return t.dtype >= SC_F16; }
static inline bool type_is_half(Type t) { return t.dtype == SC_F16 || t.dtype == SC_BF16; }
static inline bool type_same(Type a, Type b) { return a.dtype == b.dtype && a.lanes == b.lanes; }

/* ---- prog.c ---- */
/* Stops the compilation: code and message (pos: offset in p->source, or -1; with a position the
 * message gets the source line and a caret). */
_Noreturn void fail(Prog *, int code, int pos, const char *fmt, ...) SC_PRINTF(4, 5);
/* The one place that fail() comes back to: SC_OK where body came through, else what *err says. What body changed stays
 * changed. */
int prog_try(Prog *, void (*body)(void *), void *ctx, sc_err *err);
/* What a program is but for memory: the draft, and the tensors, which trying loops adds and gives other formats. */
typedef struct Mark Mark;
const Mark *prog_mark(Prog *);
void prog_rewind(Prog *, const Mark *);
void *prog_bytes(Prog *, size_t);
sc_text prog_text(Prog *); /* an empty text that grows in the arena */
#define NEW(p, type) ((type *)prog_bytes((p), sizeof(type)))
Module *prog_module(Prog *); /* of the draft, an empty one if there was none */
/* The name, or another where no name may begin like it. */
const char *name_stem(Prog *, const char *);
/* stem, stem_1, stem_2 ...: the first that is no word of C and names nothing in the module yet. */
const char *name_fresh(Prog *, const char *stem);
bool name_reserved(const char *);
/* Refuses words of schedules, and names that with their end take more than `size` bytes. */
void prog_check_name(Prog *, const char *name, size_t size, int pos);
int prog_var(Prog *, const char *name, bool add); /* -1 if absent */
Tensor *prog_tensor(Prog *, const char *name);
Tensor *prog_result(const Prog *, int r);
/* Whether operands and results have the type that is computed in, and no value depends on where it stands: what is stored
 * on the way is what would be computed there. */
bool prog_has_one_type(const Prog *);
int prog_id(const Prog *, const Tensor *); /* its place in p->tensor: an error if it is not there */
Tensor *prog_keep(Prog *, Tensor *);       /* at the end of p->tensor, where there is room */
/* A new tensor: arg -1, dimvar -1, the rest zero. Role T_OUT is numbered by name_results, or by who adds it later. */
Tensor *prog_add(Prog *, const char *name, Role, int pos);

/* ---- lex.c: one tokenizer for all three languages ---- */
typedef enum { K_END, K_NAME, K_NUMBER, K_PUNCT } TokenKind;
typedef struct {
    Prog *prog;
    const char *text; /* the whole source */
    int at;           /* next byte */
    TokenKind kind;   /* current token */
    int pos, len;
    double number;
    bool integer;
} Lexer;
int lex_name_length(const char *s); /* of the name that s begins with, 0: none */
int lex_number_length(const char *s, bool *integer);
void lex_open(Lexer *, Prog *, const char *text, int at);
void lex_next(Lexer *);
bool lex_is(const Lexer *, const char *spelling);
bool lex_accept(Lexer *, const char *spelling);
void lex_expect(Lexer *, const char *spelling, const char *where);
char *lex_name(Lexer *, const char *what); /* takes a name, into the arena */
int64_t lex_int(Lexer *, const char *what);
const char *lex_format(Lexer *); /* the text of a format, quoted or a name with numbers in parentheses */
_Noreturn void lex_fail(Lexer *, const char *expected); /* "expected .., got <the current token>" */

/* ---- expr.c ---- */
Expr *expr_new(Prog *, Op, Expr *, Expr *);
Expr *expr_const(Prog *, double);
Expr *expr_access(Prog *, Tensor *, const Index *); /* one index for every dimension */
uint32_t expr_vars(const Expr *);                   /* indices used, reduced ones included */
/* Some node, e itself included, passes the test, which is also given x. */
bool expr_any(const Expr *e, bool (*test)(const Expr *, const void *), const void *x);
bool expr_has(const Expr *, Op);              /* such a node, e itself included */
int expr_dim_of(const Expr *access, int var); /* the first dimension that is over it, or -1 */

/* ---- tensor.c: what a tensor says of itself ---- */
bool tensor_is_sparse(const Tensor *);       /* an operand with absent entries */
void tensor_spec(const Tensor *, sc_spec *); /* what prog_declare was told, or would be */
bool index_same(Index, Index);
Index tensor_level_index(const Tensor *, int level); /* what the level is indexed by */
bool tensor_assembled(const Tensor *);               /* a sparse result whose structure this program makes */
/* A result with all levels of the operand that it is like: only the values differ. */
bool tensor_shares_all(const Tensor *);
bool tensor_shares_upper(const Tensor *); /* it has the first levels alone, and its own behind them */
/* The operand gives its first levels to a result, which would have others if it were converted. */
bool tensor_gives_upper(const Prog *, int operand);
bool tensor_shares_index(const Tensor *, int var); /* a level that the result shares is over this index */
double tensor_spread(const Tensor *);              /* of the logarithms of the numbers of entries of rows */
/* Rows are known to have fewer than 2^bits positions on average. Unrolling gains nothing in them, and adds a branch
 * that is mispredicted. */
bool tensor_short_fibres(const Tensor *, int level, int bits);
bool tensor_gathers(const Tensor *); /* a workspace that stores what was written: bitmap or hash */
bool work_has_slot(const Tensor *work, int var); /* #var is one of its dimensions */
#endif
