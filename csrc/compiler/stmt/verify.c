/* verify.c: what every later pass and the executor may rely on.
 *
 * requires  nothing
 * breaks    nothing; stops at the first fault with the entry and the reason */
#include "stmt.h"

#include <string.h>

typedef struct Seen Seen;
struct Seen {
    const Local *local;
    Seen *outer;
};
typedef struct {
    Prog *p;
    const Module *m;
    const char *entry;
    Seen *scope; /* locals that are set here */
} StmtVerifier;

#define WRONG(v, ...)                                                                                        \
    fail((v)->p, SC_EINTERNAL, -1, "statements, %s: %s", (v)->entry,                                         \
         sc_arena_printf(&(v)->p->arena, __VA_ARGS__))

static const char *text(StmtVerifier *v, Type t) { return type_text(v->p, t); }

static bool visible(const StmtVerifier *v, const Local *l)
{
    for (const Seen *s = v->scope; s; s = s->outer)
        if (s->local == l) return true;
    return false;
}

static bool hides(const StmtVerifier *v, const char *name)
{
    for (const Seen *s = v->scope; s; s = s->outer)
        if (!strcmp(s->local->name, name)) return true;
    return false;
}

/* Names are given with the slots of the frame. */
static void declare(StmtVerifier *v, const Local *l)
{
    Seen *s = NEW(v->p, Seen);
    if (visible(v, l)) WRONG(v, "local %s is declared again inside its own block", l->name);
    if (l->slot >= 0 && hides(v, l->name)) WRONG(v, "two names %s are visible at once", l->name);
    *s = (Seen){l, v->scope};
    v->scope = s;
}

static void check_type(StmtVerifier *v, Type t)
{
    bool lanes = t.lanes >= 1 && t.lanes <= 64 && (t.lanes & (t.lanes - 1)) == 0;
    if (t.dtype >= SC_NDTYPE) WRONG(v, "a value of no known type");
    if (!lanes) WRONG(v, "%d lanes: expected a power of two up to 64", t.lanes);
}

static void check_same(StmtVerifier *v, const char *what, Type want, Type got)
{
    if (!type_same(want, got)) WRONG(v, "%s needs %s, got %s", what, text(v, want), text(v, got));
}

static void check_value(StmtVerifier *v, const Val *x, int depth);

static void check_place(StmtVerifier *v, const Buf *b, const Val *index, const Val *stride, int lanes,
                        int depth)
{
    bool known = false;
    for (int k = 0; k < v->m->nbuf; k++) known |= v->m->buf[k] == b;
    if (!known) WRONG(v, "a buffer that the module does not declare");
    check_value(v, index, depth + 1);
    check_same(v, "an address", I64, index->type);
    if (!stride) return;
    check_value(v, stride, depth + 1);
    check_same(v, "a stride", I64, stride->type);
    if (lanes == 1) WRONG(v, "a stride in %s without lanes", b->name);
}

static void check_cast(StmtVerifier *v, const Val *x)
{
    Type from = x->kid[0]->type;
    bool splat = from.lanes == 1 && x->type.lanes > 1;
    if (!splat && from.lanes != x->type.lanes)
        WRONG(v, "no conversion from %s to %s: lanes must agree or be 1", text(v, from), text(v, x->type));
    if (splat && from.dtype != x->type.dtype)
        WRONG(v, "a splat of %s to %s: convert first", text(v, from), text(v, x->type));
    if (from.dtype != x->type.dtype && (type_is_half(from) ? x->type.dtype : from.dtype) != SC_F32 &&
        (type_is_half(from) || type_is_half(x->type)))
        WRONG(v, "a conversion from %s to %s: 16 bit numbers are converted from and to f32", text(v, from),
              text(v, x->type));
    if (x->type.dtype == SC_BOOL && from.dtype != SC_BOOL)
        WRONG(v, "a conversion to bool: compare with zero instead");
}

static bool op_takes(Op op, Type t)
{
    const OpInfo *info = op_info(op);
    if (type_is_half(t)) return false;
    if (op == O_EVEN || op == O_ODD) return t.dtype != SC_BOOL && t.lanes > 1;
    if (!(type_is_float(t) ? info->reals : info->integers)) return false;
    if (op == O_COUNT || op == O_EXTRACT) return t.dtype == SC_I64 && t.lanes == 1;
    if (op == O_CTZ && t.lanes > 1) return false;
    return t.dtype != SC_BOOL || op_compares(op) || op == O_AND || op == O_OR;
}

static void check_op(StmtVerifier *v, const Val *x)
{
    const OpInfo *op = op_info(x->op);
    Type t = x->kid[0]->type;
    if (!op_takes(x->op, t)) WRONG(v, "'%s' does not apply to %s", op->text, text(v, t));
    if (op->arity == 2) check_same(v, op->text, t, x->kid[1]->type);
    check_same(v, op->text, op_compares(x->op) ? (Type){SC_BOOL, t.lanes} : t, x->type);
}

static void check_select(StmtVerifier *v, const Val *x)
{
    check_same(v, "select", (Type){SC_BOOL, x->type.lanes}, x->kid[0]->type);
    check_same(v, "select", x->type, x->kid[1]->type);
    check_same(v, "select", x->type, x->kid[2]->type);
}

static void check_kids(StmtVerifier *v, const Val *x, int n, int depth)
{
    for (int k = 0; k < n; k++) {
        if (!x->kid[k]) WRONG(v, "'%s' lacks an operand", op_info(x->op)->text);
        check_value(v, x->kid[k], depth + 1);
    }
}

static void check_param(StmtVerifier *v, const Val *x)
{
    for (int k = 0; k < v->m->nparam; k++)
        if (v->m->param[k] == x->param) return check_same(v, x->param->name, I64, x->type);
    WRONG(v, "a parameter that the module does not declare");
}

static bool is_index_array(const Buf *b) { return b->dtype == SC_I32 || b->dtype == SC_I64; }

static void check_meet(StmtVerifier *v, const Val *x, int depth)
{
    for (int k = 0; k < 2; k++) {
        const Val *part = x->kid[k];
        if (part->op != O_PART) WRONG(v, "what meets is two parts of index arrays");
        for (int i = 0; i < 2; i++) check_place(v, part->buf, part->kid[i], NULL, 1, depth);
        if (!is_index_array(part->buf)) WRONG(v, "a part of %s, which is no index array", part->buf->name);
    }
    if (x->kid[0]->buf->dtype != x->kid[1]->buf->dtype) WRONG(v, "parts that meet have one type");
    check_same(v, "a meet", I64, x->type);
}

static void check_pick(StmtVerifier *v, const Val *x, int depth)
{
    const Val *crd = x->kid[2];
    check_place(v, x->buf, x->kid[0], x->kid[1], x->type.lanes, depth);
    check_same(v, x->buf->name, (Type){(uint8_t)x->buf->dtype, x->type.lanes}, x->type);
    if (x->type.lanes == 1) WRONG(v, "a pick of one lane: load it");
    if (crd->op != O_LOAD || crd->kid[1] || !is_index_array(crd->buf))
        WRONG(v, "what picks from %s is a part of an index array", x->buf->name);
    check_place(v, crd->buf, crd->kid[0], NULL, 1, depth);
    check_same(v, "what picks", (Type){(uint8_t)crd->buf->dtype, x->type.lanes}, crd->type);
}

/* Entries of an array in the lanes that have a bit. */
static void check_lanes(StmtVerifier *v, const Val *x, int depth)
{
    const char *what = op_info(x->op)->text;
    check_place(v, x->buf, x->kid[0], NULL, 1, depth);
    check_value(v, x->kid[1], depth + 1);
    check_same(v, "the bits of lanes", I64, x->kid[1]->type);
    check_same(v, what, (Type){(uint8_t)x->buf->dtype, x->type.lanes}, x->type);
    if (x->type.lanes == 1 || sc_dtype_size(x->buf->dtype) < 4)
        WRONG(v, "%s of %s: expected lanes of 32 or 64 bits", what, text(v, x->type));
}

static void check_dot(StmtVerifier *v, const Val *x, int depth)
{
    check_place(v, x->buf, x->kid[0], NULL, 1, depth);
    if (x->buf->dtype != SC_BF16) WRONG(v, "a dot of %s, which holds no bf16", x->buf->name);
    for (int k = 1; k < 3; k++) {
        check_value(v, x->kid[k], depth + 1);
        check_same(v, "a dot", (Type){SC_BF16, x->type.lanes}, x->kid[k]->type);
    }
    check_same(v, "a dot", (Type){SC_F32, x->type.lanes}, x->type);
}

static void check_value(StmtVerifier *v, const Val *x, int depth)
{
    if (depth > MAXDEPTH)
        WRONG(v, "an expression of more than %d levels: store parts of it in locals", MAXDEPTH);
    check_type(v, x->type);
    switch (x->op) {
    case O_CONST: return;
    case O_VAR:
        if (!visible(v, x->local)) WRONG(v, "local %s is used where it is not set", x->local->name);
        check_same(v, x->local->name, x->local->type, x->type);
        return;
    case O_PARAM: check_param(v, x); return;
    case O_LOAD:
        check_place(v, x->buf, x->kid[0], x->kid[1], x->type.lanes, depth);
        check_same(v, x->buf->name, (Type){(uint8_t)x->buf->dtype, x->type.lanes}, x->type);
        return;
    case O_CAST:
        check_kids(v, x, 1, depth);
        check_cast(v, x);
        return;
    case O_SEARCH:
        if (!is_index_array(x->buf)) WRONG(v, "a search in %s, which is no index array", x->buf->name);
        for (int k = 0; k < 3; k++) check_place(v, x->buf, x->kid[k], NULL, 1, depth);
        check_same(v, "a search", I64, x->type);
        return;
    case O_MARKS:
        if (x->buf->dtype != SC_BOOL) WRONG(v, "marks of %s, which has no truth values", x->buf->name);
        check_place(v, x->buf, x->kid[0], NULL, 1, depth);
        check_same(v, "marks", I64, x->type);
        return;
    case O_PICK: check_pick(v, x, depth); return;
    case O_PAIR:
        if (x->buf->dtype != SC_I32) WRONG(v, "a pair of %s, which is no i32 index array", x->buf->name);
        check_place(v, x->buf, x->kid[0], NULL, 1, depth);
        check_same(v, "a pair", I64, x->type);
        return;
    case O_LANE:
        check_kids(v, x, 1, depth);
        if (x->i < 0 || x->i >= x->kid[0]->type.lanes || x->kid[0]->type.lanes == 1 ||
            x->type.dtype == SC_BOOL)
            WRONG(v, "lane %lld of %s", (long long)x->i, text(v, x->kid[0]->type));
        check_same(v, "a lane", (Type){x->kid[0]->type.dtype, 1}, x->type);
        return;
    case O_FIRST:
        check_kids(v, x, 1, depth);
        check_same(v, "a count of lanes", I64, x->kid[0]->type);
        if (x->type.lanes == 1) WRONG(v, "the first lanes of one");
        return;
    case O_BITS:
        check_kids(v, x, 1, depth);
        check_same(v, "bits", I64, x->kid[0]->type);
        if (x->type.lanes == 1 || x->type.lanes > 16)
            WRONG(v, "bits of %d lanes: expected 2 to 16", x->type.lanes);
        return;
    case O_MASKED:
    case O_EXPAND: check_lanes(v, x, depth); return;
    case O_MEET: check_meet(v, x, depth); return;
    case O_DOT: check_dot(v, x, depth); return;
    case O_SPREAD:
        check_lanes(v, x, depth);
        check_value(v, x->kid[2], depth + 1);
        check_same(v, "the rest of a spread", (Type){(uint8_t)x->buf->dtype, 1}, x->kid[2]->type);
        if (x->kid[2]->op != O_CONST) WRONG(v, "the rest of a spread is a constant");
        return;
    case O_HRED:
        check_kids(v, x, 1, depth);
        if (x->kid[0]->type.lanes == 1 || x->kid[0]->type.dtype == SC_BOOL || type_is_half(x->type))
            WRONG(v, "a reduction over the lanes of %s", text(v, x->kid[0]->type));
        if (x->reduce != O_ADD && x->reduce != O_MAX && x->reduce != O_MIN)
            WRONG(v, "lanes reduce by +, max or min, not by '%s'", op_info(x->reduce)->text);
        check_same(v, "a reduction of lanes", (Type){x->kid[0]->type.dtype, 1}, x->type);
        return;
    default: break;
    }
    if (op_info(x->op)->leaf) WRONG(v, "'%s' is no operator of statements", op_info(x->op)->text);
    check_kids(v, x, op_info(x->op)->arity, depth);
    if (x->op == O_SELECT)
        check_select(v, x);
    else
        check_op(v, x);
}

static void check_block(StmtVerifier *v, const Stmt *s, int depth);

static void check_store(StmtVerifier *v, const Stmt *s)
{
    if (!s->buf->mut) WRONG(v, "buffer %s is written but not declared mut", s->buf->name);
    check_value(v, s->b, 1);
    check_place(v, s->buf, s->a, s->c, s->b->type.lanes, 1);
    check_same(v, s->buf->name, (Type){(uint8_t)s->buf->dtype, s->b->type.lanes}, s->b->type);
}

static void check_put(StmtVerifier *v, const Stmt *s)
{
    if (!s->buf->mut) WRONG(v, "buffer %s is written but not declared mut", s->buf->name);
    check_value(v, s->b, 1);
    check_place(v, s->buf, s->a, NULL, s->b->type.lanes, 1);
    check_same(v, s->buf->name, (Type){(uint8_t)s->buf->dtype, s->b->type.lanes}, s->b->type);
    check_value(v, s->c, 1);
    check_same(v, "the bits of lanes", I64, s->c->type);
    if (s->b->type.lanes == 1 || sc_dtype_size(s->buf->dtype) < 4)
        WRONG(v, "put of %s: expected lanes of 32 or 64 bits", text(v, s->b->type));
}

/* Vectors of numbers that are as wide in memory: shuffles move them. */
static void check_turn(StmtVerifier *v, const Stmt *s)
{
    check_store(v, s);
    if (s->b->op != O_LOAD || !s->b->kid[1] || !s->c || s->b->type.lanes < 2 || s->b->type.lanes > 16 ||
        s->b->type.dtype == SC_BOOL)
        WRONG(v, "a square of %s in %s: expected two places with 2 to 16 strided lanes", text(v, s->b->type),
              s->buf->name);
}

static void check_for(StmtVerifier *v, const Stmt *s, int depth)
{
    check_value(v, s->a, 1);
    check_value(v, s->b, 1);
    check_same(v, "the start of a loop", I64, s->a->type);
    check_same(v, "the end of a loop", I64, s->b->type);
    check_same(v, "a counter", I64, s->local->type);
    if (s->step < 1)
        WRONG(v, "the loop over %s steps by %lld: expected a positive step", s->local->name,
              (long long)s->step);
    if (s->local->mut) WRONG(v, "the counter %s is declared mut", s->local->name);
    Seen *outer = v->scope;
    declare(v, s->local);
    check_block(v, s->body, depth + 1);
    v->scope = outer;
}

static void check_keys(StmtVerifier *v, const Buf *b)
{
    if ((b->dtype != SC_I64 && b->dtype != SC_I32) || !b->mut)
        WRONG(v, "sort takes buffers of i32 or i64 that are mut, got %s", b->name);
}

static void check_variable(StmtVerifier *v, const Local *x)
{
    if (!visible(v, x)) WRONG(v, "local %s is assigned where it is not declared", x->name);
    if (!x->mut) WRONG(v, "local %s is assigned again but not declared mut", x->name);
}

static void check_unite(StmtVerifier *v, const Stmt *s)
{
    check_variable(v, s->local);
    check_same(v, s->local->name, I64, s->local->type);
    check_value(v, s->a, 1);
    check_same(v, "a number of entries", I64, s->a->type);
    if (s->buf->dtype != SC_I32 || !s->buf->mut)
        WRONG(v, "unite takes coordinates of i32 that are mut, got %s", s->buf->name);
    if (sc_dtype_size(s->spare->dtype) < 4 || !s->spare->mut)
        WRONG(v, "unite takes values of 32 or 64 bits that are mut, got %s", s->spare->name);
}

static void check_stmt(StmtVerifier *v, const Stmt *s, int depth)
{
    switch (s->op) {
    case S_LET:
        check_value(v, s->a, 1);
        check_same(v, s->local->name, s->local->type, s->a->type);
        declare(v, s->local);
        break;
    case S_SET:
        check_variable(v, s->local);
        check_value(v, s->a, 1);
        check_same(v, s->local->name, s->local->type, s->a->type);
        break;
    case S_STORE: check_store(v, s); break;
    case S_PUT: check_put(v, s); break;
    case S_TURN: check_turn(v, s); break;
    case S_FOR: check_for(v, s, depth); break;
    case S_WHILE:
    case S_IF:
        check_value(v, s->a, 1);
        check_same(v, "a condition", (Type){SC_BOOL, 1}, s->a->type);
        check_block(v, s->body, depth + 1);
        check_block(v, s->other, depth + 1);
        break;
    case S_RETURN:
        if (s->step < 0 || s->step > INT32_MAX)
            WRONG(v, "return %lld: expected an error code", (long long)s->step);
        if (s->next) WRONG(v, "a statement after return");
        break;
    case S_SORT:
        check_value(v, s->a, 1);
        check_same(v, "a number of entries", I64, s->a->type);
        check_keys(v, s->buf);
        check_keys(v, s->spare);
        check_same(v, s->spare->name, (Type){(uint8_t)s->buf->dtype, 1}, (Type){(uint8_t)s->spare->dtype, 1});
        break;
    case S_UNITE: check_unite(v, s); break;
    case S_FETCH: check_place(v, s->buf, s->a, NULL, 1, 1); break;
    case S_NOTE: break;
    }
}

static void check_block(StmtVerifier *v, const Stmt *s, int depth)
{
    Seen *outer = v->scope;
    if (depth > MAXDEPTH) WRONG(v, "more than %d blocks inside each other", MAXDEPTH);
    for (; s; s = s->next) check_stmt(v, s, depth);
    v->scope = outer;
}

static void check_entry(StmtVerifier *v, const Entry *e)
{
    v->entry = sc_arena_printf(&v->p->arena, "entry %s", e->name);
    v->scope = NULL;
    check_block(v, e->body, 0);
}

static void check_buf(StmtVerifier *v, const Buf *b)
{
    bool placed = b->origin >= B_CURSORS;
    v->entry = sc_arena_printf(&v->p->arena, "buffer %s", b->name);
    if (b->dtype >= SC_NDTYPE) WRONG(v, "no known type");
    if ((b->origin == B_POS || b->origin == B_CRD || b->origin == B_PERM) && b->dtype != SC_I32 &&
        b->dtype != SC_I64)
        WRONG(v, "index arrays are i32 or i64, got %s", sc_dtype_name(b->dtype));
    if (b->origin == B_CURSORS && b->dtype != SC_I64)
        WRONG(v, "cursors are i64, got %s", sc_dtype_name(b->dtype));
    if (b->level < 0 || b->level >= SC_MAXLEVEL || b->arg < 0) WRONG(v, "no such level");
    if (b->origin == B_SHARED && b->arg >= SC_MAXSHARED) WRONG(v, "no such workspace");
    if (!placed) return;
    if (!b->offset) return;
    check_value(v, b->offset, 1);
    check_same(v, "an offset", I64, b->offset->type);
}

static void check_origin(StmtVerifier *v, const Param *q)
{
    int limit = q->origin == P_STRIDE                        ? SC_MAXDIM
                : q->origin == P_NPOS || q->origin == P_SIZE ? SC_MAXLEVEL
                                                             : 1;
    v->entry = sc_arena_printf(&v->p->arena, "parameter %s", q->name);
    if (q->a < 0 || q->b < 0 || q->b >= limit ||
        ((q->origin == P_CURSOR || q->origin == P_COPIES) && q->a >= SC_MAXCURSOR))
        WRONG(v, "no such dimension, level or cursor");
}

void stmt_verify(Prog *p, Module *m)
{
    StmtVerifier v = {.p = p, .m = m};
    for (int k = 0; k < m->nparam; k++) check_origin(&v, m->param[k]);
    for (int k = 0; k < m->nbuf; k++) check_buf(&v, m->buf[k]);
    for (int k = 0; k < m->nentry; k++) check_entry(&v, &m->entry[k]);
}
