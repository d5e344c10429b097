/* words.c: levels of bit masks.
 *
 * A loop takes the set bits of each word. A vector loop takes the coordinates of a word as they lie, a few at a time: the
 * entries that are there are spread to the lanes of their bits, other operands are read in these lanes alone. So nothing
 * is gathered, and lanes without an entry read nothing and add nothing. Sums over several rows of another operand share
 * what is read of the level: each has a vector of its own. */
#include "private.h"

#define STREAMS 2 /* rows that processors follow by themselves, beside the entries */
#define AHEAD 768 /* entries */

static Val *op(Low *l, Op o, Val *a, Val *b) { return val_op(l->p, o, a, b); }

/* ---- where they lie ---- */
void words_range(Low *l, Fibre *f)
{
    const Index ix = tensor_level_index(f->t, lower_level(l, f->t));
    Val *size = plus(l, lower_slot_extent(l, &ix), num(l, SC_WORD - 1));
    Val *words = lower_let(l, "words", op(l, O_DIV, size, num(l, SC_WORD)));
    f->lo = lower_let(l, "lo", times(l, lower_position(l, f->t), words));
    f->hi = plus(l, f->lo, words);
}

static Val *begins(Low *l, const Fibre *f, Val *word)
{ return lower_load_index(l, lower_buf(l, B_POS, f->t, f->t->format.nlevel - 1), word); }

Val *words_length(Low *l, const Fibre *f) { return op(l, O_SUB, begins(l, f, f->hi), begins(l, f, f->lo)); }

/* Opens a loop over the words: which it is, its bits, and where its entries begin. */
typedef struct {
    Val *w, *bits, *first;
    Stmt **outer;
} WordBits;

static WordBits each_word(Low *l, const Fibre *f)
{
    WordBits x;
    x.w = val_local(l->p, lower_for(l, "w", f->lo, f->hi, 1, &x.outer)->local);
    x.bits = op(l, O_AND, lower_load_index(l, f->crd, x.w), num(l, 0xffffffff));
    x.first = lower_let(l, "first", begins(l, f, x.w));
    return x;
}

static Val *coordinate(Low *l, const Fibre *f, const WordBits *x)
{ return times(l, op(l, O_SUB, x->w, f->lo), num(l, SC_WORD)); }

/* ---- entry by entry ---- */
void words_loop(Low *l, const Nest *n, const Fibre *f)
{
    Prog *p = l->p;
    const WordBits x = each_word(l, f);
    Local *left = lower_mut(l, "bits", x.bits), *next = lower_mut(l, "p", x.first);
    Stmt *loop = lower_put(l, S_WHILE);
    Val *bits = val_local(p, left), *at = coordinate(l, f, &x);
    loop->a = op(l, O_NE, bits, num(l, 0));
    l->tail = &loop->body;
    Val *c = lower_let(l, lower_index_name(l, n->ix), plus(l, at, op(l, O_CTZ, bits, NULL)));
    Val *here = val_local(p, lower_declare(l, "here", val_local(p, next), false));
    lower_set(l, left, op(l, O_AND, bits, op(l, O_SUB, bits, num(l, 1))));
    lower_set(l, next, plus(l, here, num(l, 1)));
    level_enter(l, f->t, here, NULL);
    lower_bind(l, n->ix, c);
    lower_body(l, n->body);
    l->tail = x.outer;
}

/* ---- a vector at a time ---- */
/* An evaluation of the loop, as it is given and with nodes of its own; the turn of an unrolled loop around it. */
typedef struct {
    const Nest *given, *eval;
    const Nest *loop; /* null: there is none */
    int turn;
    Local *sum[2];
} WordSum;

typedef struct {
    const Fibre *f;
    WordSum sum[MAXBESIDE];
    int n, copies, lanes;
} WordSums;

/* Reads of different coordinates are different nodes: what is computed once is known by its node. */
static Expr *copy_of(Prog *p, const Expr *e)
{
    Expr *x = NEW(p, Expr);
    *x = *e;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) x->kid[k] = copy_of(p, e->kid[k]);
    return x;
}

static void add_sum(Low *l, WordSums *s, const Nest *n, const Nest *loop, int turn)
{
    Expr *rhs = eval_absent(l->p, &n->eval, l->e.absent);
    if (!rhs) return;
    if (s->n == MAXBESIDE)
        fail(l->p, SC_ENOTIMPL, -1, "a vec loop over words has at most %d sums: split it", MAXBESIDE);
    const Nest *own = nest_eval(l->p, n->eval.lhs, n->eval.reduce, copy_of(l->p, rhs));
    s->sum[s->n++] = (WordSum){.given = n, .eval = own, .loop = loop, .turn = turn};
}

static void find_sums(Low *l, WordSums *s, const Nest *n, const Nest *loop, int turn)
{
    if (n->op == N_EVAL) add_sum(l, s, n, loop, turn);
    for (int k = 0; n->op == N_SEQ && k < n->n; k++) find_sums(l, s, n->kid[k], loop, turn);
    if (n->op != N_LOOP) return;
    const int64_t turns = lower_const_extent(l, &n->ix);
    if (turns < 0)
        fail(l->p, SC_EVALUE, -1,
             "a loop inside of a vec loop is as long in all tiles: give its sums a slot each");
    for (int u = 0; u < turns; u++) find_sums(l, s, n->body, n, u);
}

typedef void WordTurn(Low *, WordSums *, WordSum *);

static void each(Low *l, WordSums *s, WordTurn *f)
{
    for (int k = 0; k < s->n; k++) {
        const Env *save = lower_keep(l);
        if (s->sum[k].loop) lower_bind(l, s->sum[k].loop->ix, num(l, s->sum[k].turn));
        f(l, s, &s->sum[k]);
        lower_back(l, save);
    }
}

static void start_sum(Low *l, WordSums *s, WordSum *x)
{
    const Type type = {(uint8_t)l->p->type, (uint8_t)s->lanes};
    lower_hoist(l, x->eval->eval.rhs);
    for (int c = 0; c < s->copies; c++)
        x->sum[c] = lower_mut(l, "sum", val_const(l->p, type, op_identity(x->eval->eval.reduce)));
}

/* Whether a lane without an entry gets zero: a product of nothing but what is read in its own lane, where both are zero. */
static bool is_zero_apart(const Expr *e, int var)
{
    if (e->op == O_MUL) return is_zero_apart(e->kid[0], var) && is_zero_apart(e->kid[1], var);
    return e->op == O_ACCESS && expr_vars(e) >> var & 1;
}

static void add(Low *l, WordSums *s, WordSum *x)
{
    Prog *p = l->p;
    const Assign *a = &x->eval->eval;
    Local *sum = x->sum[l->e.vec.off / s->lanes % s->copies];
    if (l->e.vec.several && !l->e.vec.off && !x->turn) {
        if (x->loop && x->loop->body == x->given) lower_note(l, x->loop);
        lower_note(l, x->given);
    }
    Val *old = val_local(p, sum), *v = val_cast(p, old->type, lower_value(l, a->rhs));
    if (a->reduce != O_ADD || !is_zero_apart(a->rhs, l->e.vec.ix.var))
        v = val_select(p, val_bits(p, s->lanes, l->e.vec.bits), v,
                       val_const(p, old->type, op_identity(a->reduce)));
    lower_set(l, sum, op(l, a->reduce, old, v));
}

static void finish_sum(Low *l, WordSums *s, WordSum *x)
{
    const Assign *a = &x->eval->eval;
    Val *all = val_local(l->p, x->sum[0]);
    if (s->copies > 1) all = op(l, a->reduce, all, val_local(l->p, x->sum[1]));
    lower_assign(l, a->lhs, a->reduce, val_hred(l->p, a->reduce, all));
}

/* The lanes from bit `off` of a word on. */
static void add_piece(Low *l, WordSums *s, const WordBits *x, int off)
{
    Prog *p = l->p;
    const Env *save = lower_keep(l);
    Vec *v = &l->e.vec;
    v->off = off;
    v->bits = lower_let(l, "bits",
                        op(l, O_AND, off ? op(l, O_SHR, x->bits, num(l, off)) : x->bits,
                           num(l, (INT64_C(1) << s->lanes) - 1)));
    Val *before = op(l, O_COUNT, op(l, O_AND, x->bits, num(l, (INT64_C(1) << off) - 1)), NULL);
    Val *at = off ? plus(l, x->first, before) : x->first;
    Buf *values = lower_buf(l, B_VAL, s->f->t, 0);
    v->entry = lower_let(l, "entry", val_expand(p, values, s->lanes, at, v->bits));
    each(l, s, add);
    lower_back(l, save);
}

/* Many rows keep the processor from seeing that entries will be read. */
static void fetch_ahead(Low *l, const Fibre *f, const WordBits *x)
{
    Val *last = ahead_last(l, f->t, f->t->format.nlevel - 1);
    ahead_values(l, f->t, op(l, O_MIN, plus(l, x->first, num(l, AHEAD)), last), 1);
}

void words_vec(Low *l, const Nest *n, const Fibre *f)
{
    if (counting(l)) return;
    WordSums s = {.f = f, .lanes = l->p->vector_bytes / (int)sc_dtype_size(l->p->type)};
    const Vec save = l->e.vec;
    const int nmemo = l->nmemo;
    find_sums(l, &s, n->body, NULL, 0);
    s.copies = 2 * s.n <= MAXBESIDE ? 2 : 1;
    l->e.vec = (Vec){.on = true, .ix = n->ix, .fibre = f, .lanes = s.lanes, .entry = num(l, 0)};
    l->e.vec.several = n->body->op != N_EVAL;
    lower_note(l, n);
    each(l, &s, start_sum);
    WordBits x = each_word(l, f);
    x.bits = lower_let(l, "word", x.bits);
    l->e.vec.at = lower_let(l, lower_index_name(l, n->ix), coordinate(l, f, &x));
    if (s.n > STREAMS) fetch_ahead(l, f, &x);
    for (int off = 0; off < SC_WORD; off += s.lanes) add_piece(l, &s, &x, off);
    l->tail = x.outer;
    l->nmemo = nmemo;
    l->e.vec = save;
    each(l, &s, finish_sum);
}
