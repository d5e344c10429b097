/* stmt.h: shared by the files of the statement side (build, stmt, verify, simplify, emit, maths). */
#ifndef SC_STMT_H
#define SC_STMT_H

#include "ir.h"

/* Deepest value and deepest nesting of blocks: what recursive walks may rely on. */
#define MAXDEPTH 256

static inline bool type_is_float(Type t) { return t.dtype >= SC_F16; }
static inline bool type_is_half(Type t) { return t.dtype == SC_F16 || t.dtype == SC_BF16; }
static inline bool type_same(Type a, Type b) { return a.dtype == b.dtype && a.lanes == b.lanes; }

/* ---- stmt.c ---- */
const char *type_text(Prog *, Type); /* "f32x8", in the arena */
void type_print(sc_text *, Type);
static inline bool stmt_only_if(const Stmt *block) { return block->op == S_IF && !block->next; }
/* Whether a name spells a type; with out null, also the vectors of bytes of the C text, "i8x16". */
bool type_named(const char *name, Type *out);
/* Whether an operand needs parentheses below an infix operator: always where C compilers ask for them. */
bool val_parens(Op parent, const Val *kid, bool right);
/* Shortest fixed spelling that reads back to the same number, with a point or an exponent: 1.0, 2.5e-09. */
void number_print(sc_text *, sc_dtype, double);

bool op_infix(Op);
int op_precedence(Op); /* of infix operators, as in C: * 6 down to | 1 */
typedef struct {       /* of a buffer or parameter: its spelling, how many integers follow */
    const char *word;
    int args;
} OriginWord;
enum { N_BUF_WORDS = B_PARTIAL + 1, N_PARAM_WORDS = P_END + 1 };
extern const OriginWord buf_words[], param_words[];

/* ---- emit_lib.c: the functions that generated text is written with ----
 * As elements of C vectors, bool stands for signed char. */
typedef enum {
    H_SPLAT,
    H_LOAD,
    H_STORE,
    H_GATHER,
    H_SCATTER,
    H_SELECT,
    H_MIN,
    H_MAX,
    H_RELU,
    H_ABS,
    H_SQRT,
    H_SHL,
    H_FROM_F16, /* of the type f32 that is given or taken */
    H_FROM_BF16,
    H_TO_F16,
    H_TO_BF16,
    H_SORT,  /* sort(keys, spare, n): i64, not negative */
    H_FIRST, /* truth values, of a mask type */
    H_HADD,
    H_HMAX,
    H_HMIN,
    H_EVEN,
    H_ODD,
    H_SEARCH,
    H_MEET,
    H_SPREAD,
    H_EXTRACT,
    H_EXP,
    H_LOG,
    H_TANH,
    H_SIGMOID,
    H_COUNT
} Helper;
typedef struct { /* what a text uses; bit n: with 2^n lanes */
    uint8_t used[H_COUNT][SC_NDTYPE];
    uint8_t vector[SC_NDTYPE]; /* types */
    uint8_t loose[SC_NDTYPE];  /* their unaligned variants */
} Needs;
const char *helper_name(Helper); /* functions are called sc_<name>_<type> */
void need(Needs *, Helper, Type);
void need_type(Needs *, Type);
void meet_emit(sc_text *, Helper, Type); /* emit_meet.c: H_MEET, H_SPREAD, H_EXTRACT */
void needs_emit(Needs *, sc_text *);     /* typedefs and functions that were asked for, in a fixed order */
Type mask_type(int bytes, int lanes);    /* integers as wide as what is compared */
const char *c_scalar(int dtype);         /* of memory: "float", "sc_i64", "signed char" for bool */
bool type_blends(Type);                  /* H_SELECT chooses between two numbers of it */
void c_type(sc_text *, Type);            /* of locals: "f32x8", "float", "_Bool" */
#endif
