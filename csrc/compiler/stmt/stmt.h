/* stmt.h: the language of statements: values that simplify as they are built, text, what is legal. */
#ifndef SC_STMT_H
#define SC_STMT_H

#include "../ir/ir.h"

/* Deepest value and deepest nesting of blocks: what recursive walks may rely on. */

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
/* The offset of an array is neither a number nor one name: C calls it NAME_at, as no local is called then. */
bool buf_names_offset(const Buf *);

/* ---- build.c: constructors of statements that simplify as they build ---- */
#define I64 ((Type){SC_I64, 1})
Val *val_int(Prog *, int64_t);
Val *val_const(Prog *, Type, double);
Val *val_op(Prog *, Op, Val *, Val *); /* folds constants, x+0, x*1, x*0 for integers */
Val *val_select(Prog *, Val *, Val *, Val *);
Val *val_cast(Prog *, Type, Val *);
Val *val_hred(Prog *, Op, Val *);
Val *val_lane(Prog *, Val *, int lane);
Val *val_first(Prog *, int lanes, Val *n);
Val *val_bits(Prog *, int lanes, Val *bits);
Val *val_masked(Prog *, Buf *, int lanes, Val *at, Val *bits);
Val *val_load(Prog *, Buf *, int lanes, Val *index, Val *stride);
Val *val_pick(Prog *, Buf *, int lanes, Val *base, Val *stride,
              Val *crd); /* crd: a load of as many coordinates */
Val *val_pair(Prog *, Buf *, Val *at);
Val *val_marks(Prog *, Buf *, Val *at);
Val *val_search(Prog *, Buf *, Val *from, Val *to, Val *x);
Val *val_part(Prog *, Buf *, Val *from, Val *to);
Val *val_meet(Prog *, Val *part, Val *other);
Val *val_expand(Prog *, Buf *, int lanes, Val *at, Val *bits);
Val *val_spread(Prog *, Buf *, int lanes, Val *at, Val *bits, Val *fill);
Val *val_dot(Prog *, Buf *, Val *at, Val *x, Val *y);
Val *val_local(Prog *, Local *);
Val *val_param(Prog *, Param *);
bool val_is_int(const Val *, int64_t);
Param *module_param(Prog *, ParamOrigin, int a, int b, const char *name); /* finds or adds */
Buf *module_buf(Prog *, BufOrigin, int arg, int level, sc_dtype, bool mut, const char *name);
Local *local_new(Prog *, const char *stem, Type, bool mut); /* named later: names.c */

/* ---- stmt.c: S text ---- */
void stmt_print(const Prog *, const Module *, sc_text *);
Module *stmt_parse(Prog *, const char *text);
/* Types agree, locals are set before use and only mut ones again, buffers written are mut, strides and
 * lanes are legal, every address is i64. */
void stmt_verify(Prog *, Module *);

/* ---- dots.c: products of neighbouring bf16 numbers are taken two at a time, in place ---- */
void stmt_dots(Prog *, Module *);

/* ---- simplify.c: drops dead lets and empty loops, in place; numbers the locals ---- */
void stmt_simplify(Prog *, Module *);

/* ---- names.c: names of locals, as short as the blocks allow ---- */
void stmt_name(Prog *, Module *);
#endif
