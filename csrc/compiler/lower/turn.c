/* turn.c: two loops that copy numbers to where they lie across.
 *
 *     for i%16 { vec n%16 { t[i,n%16] = A[n,i] } }
 *
 * No order of the loops reads and writes along lines. Where both tiles are whole, squares as wide as a vector are loaded by
 * rows, turned in registers and stored by rows. */
#include "private.h"

enum { SIDE = 16, LEAST = 4 }; /* lanes of a square, at most and at least */

typedef struct {
    const Expr *to, *from;
    Index row, vec; /* of the two loops */
    int lanes;
} Square;

/* Where the index stands, once, in an access to numbers that simply lie in memory; else -1. */
static int slot_of(const Expr *e, Index ix)
{
    const Tensor *t = e->tensor;
    const bool work = t->role == T_WORK && (t->place == W_LANE || t->place == W_SHARED) && !tensor_gathers(t);
    int found = -1, n = 0;
    if (!work && (t->role == T_WORK || !sc_format_is_dense(&t->format))) return -1;
    for (int d = 0; d < t->ndim; d++)
        if (e->ix[d].var == ix.var) n++, found = e->ix[d].part == SC_DIV || e->ix[d].slot ? -1 : d;
    return n == 1 ? found : -1;
}

static bool runs_along(Low *l, const Expr *e, Index ix)
{ return val_is_int(lower_stride(l, e->tensor, slot_of(e, ix)), 1); }

/* The numbers of one lie side by side along one of the loops, those of the other along the other. */
static bool across(Low *l, const Square *s)
{
    const Expr *both[] = {s->to, s->from};
    for (int k = 0; k < 2; k++)
        if (slot_of(both[k], s->row) < 0 || slot_of(both[k], s->vec) < 0) return false;
    return (runs_along(l, s->to, s->vec) && runs_along(l, s->from, s->row)) ||
           (runs_along(l, s->to, s->row) && runs_along(l, s->from, s->vec));
}

static bool find(Low *l, const Nest *n, Square *s)
{
    const Nest *vec = n->body, *eval = vec->op == N_LOOP ? vec->body : NULL;
    if (counting(l) || l->e.vec.on || l->e.rest || l->e.batch || l->e.blend || l->e.spread || l->e.absent)
        return false;
    if (!eval || vec->kind != L_VEC || vec->in || vec->nmerge || eval->op != N_EVAL) return false;
    if (eval->eval.reduce != O_CONST || eval->eval.rhs->op != O_ACCESS || n->unroll) return false;
    *s = (Square){eval->eval.lhs, eval->eval.rhs, n->ix, vec->ix, SIDE};
    if (n->ix.part != SC_MOD || vec->ix.part != SC_MOD || n->ix.var == vec->ix.var) return false;
    const sc_dtype type = (sc_dtype)s->to->tensor->dtype;
    if (type != s->from->tensor->dtype || sc_dtype_size(type) < 2 || !across(l, s)) return false;
    while (s->lanes * (int)sc_dtype_size(type) > l->p->vector_bytes) s->lanes /= 2;
    while ((n->ix.block | vec->ix.block) % s->lanes) s->lanes /= 2;
    return s->lanes >= LEAST;
}

/* How many coordinates a tile has: the last one of an extent that is known may have fewer. */
static int64_t side(const Low *l, Index ix)
{
    const Val *size = l->e.coord[ix.var].modext;
    return size && size->op == O_CONST ? size->i : ix.block;
}

/* The stride between rows of an access to the square. */
static Val *apart(Low *l, const Square *s, const Expr *e)
{
    const Index across = runs_along(l, e, s->row) ? s->vec : s->row;
    return lower_stride(l, e->tensor, slot_of(e, across));
}

/* The first coordinate of each square in a tile. */
static Val *first(Low *l, Index ix, int lanes)
{
    Stmt **outer;
    if (side(l, ix) == lanes) return num(l, 0);
    Stmt *s = lower_for(l, lower_index_name(l, ix), num(l, 0), num(l, side(l, ix)), lanes, &outer);
    return val_local(l->p, s->local);
}

static void squares(Low *l, const Nest *n, const Square *s)
{
    const Env *save = lower_keep(l);
    const int nmemo = l->nmemo;
    lower_bind(l, s->row, first(l, s->row, s->lanes));
    lower_note(l, n->body);
    l->e.vec = (Vec){.on = true, .ix = s->vec, .lanes = s->lanes};
    const Address to = lower_address(l, s->to, false), from = lower_address(l, s->from, false);
    l->e.vec.at = first(l, s->vec, s->lanes);
    Stmt *turn = lower_put(l, S_TURN);
    turn->buf = to.buf;
    turn->a = lower_piece_at(l, &to);
    turn->c = apart(l, s, s->to);
    turn->b = val_load(l->p, from.buf, s->lanes, lower_piece_at(l, &from), apart(l, s, s->from));
    l->nmemo = nmemo;
    lower_back(l, save);
}

/* A tile whose size is not known is as large as tiles are. */
static Val *whole(Low *l, Index ix)
{
    Val *size = l->e.coord[ix.var].modext, *all = num(l, side(l, ix));
    return val_op(l->p, O_EQ, size ? size : all, all);
}

bool turn_applies(Low *l, const Nest *n)
{
    Square s;
    return find(l, n, &s);
}

void turn_lower(Low *l, const Nest *n, void (*in_order)(Low *, const Nest *))
{
    Square s;
    const bool fits = find(l, n, &s);
    while (fits && (side(l, s.row) | side(l, s.vec)) % s.lanes) s.lanes /= 2;
    if (!fits || s.lanes < LEAST) {
        in_order(l, n);
        return;
    }
    Stmt *test = lower_put(l, S_IF), **outer = l->tail;
    Val *full = test->a = val_op(l->p, O_AND, whole(l, s.row), whole(l, s.vec));
    l->tail = &test->body;
    squares(l, n, &s);
    l->tail = &test->other;
    l->e.again = true;
    if (!val_is_int(full, 1)) in_order(l, n);
    l->tail = outer;
}
