/* result.c: sparse results that the nest assembles.
 *
 * A result has dense levels, then compressed ones, each with a cursor: the position of its next entry, counted from
 * where the chunk begins. The nest is lowered twice. The entry that counts moves the cursors and leaves them to the
 * driver; the entry that fills begins with them where the driver says, and writes. Where operands bound the number of
 * entries the one that fills is enough: it leaves its cursors to the driver, which then moves what it wrote. Where they
 * do not, but loops that only write need not run to say how often they would, a third entry bounds the count; the
 * driver then chooses. The
 * innermost level grows where the assignment stands. Every level above is looked at again where the body of its own
 * loop ends: when the level below has grown, the coordinate is stored, and where the fibre below ends. */
#include "private.h"

/* ---- what is assembled ---- */

typedef struct {
    Low *l;
    const Nest *loop[MAXLOOP];
    int n, found; /* assembled evaluations */
    bool keeps;   /* there are workspaces in memory */
    /* Of the last evaluation: operands that are stored wherever it is reached. */
    const Tensor *t[MAXBOUNDING];
    int nt;
    const Nest *stored; /* the part of the nest whose loops run over what operands store, or null */
} BoundSearch;

/* The outermost loop around that counts coordinates of the index. */
static const Nest *loop_over(const BoundSearch *path, Index ix)
{
    for (int k = 0; k < path->n; k++)
        if (index_same(path->loop[k]->ix, ix) && !path->loop[k]->by) return path->loop[k];
    return NULL;
}

static void add_result(BoundSearch *path, const Tensor *t)
{
    Low *l = path->l;
    for (int k = 0; k < t->format.nlevel; k++) {
        l->fibre[l->nfibre].body = loop_over(path, tensor_level_index(t, k))->body;
        l->fibre[l->nfibre].result = t;
        l->fibre[l->nfibre++].level = k;
        if (!sc_kind_of(&t->format.level[k])->crd) continue;
        if (l->ncursor == SC_MAXCURSOR)
            fail(l->p, SC_ENOTIMPL, -1,
                 "a kernel of the nest assembles results of more than %d compressed levels: make them in "
                 "several "
                 "kernels",
                 SC_MAXCURSOR);
        l->cursor[l->ncursor].result = t;
        l->cursor[l->ncursor++].level = k;
    }
}

/* ---- bounds ---- */
/* Every level that stores coordinates is entered by a loop around. */
static bool entered(const BoundSearch *path, const Tensor *t)
{
    for (int k = 0; k < t->format.nlevel; k++) {
        bool in = !sc_kind_of(&t->format.level[k])->crd;
        for (int i = 0; i < path->n && !in; i++) {
            const Nest *n = path->loop[i];
            if (n->by || !index_same(n->ix, tensor_level_index(t, k))) continue;
            in = n->in == t;
            for (int m = 0; m < n->nmerge; m++) in |= n->merge[m] == t;
        }
        if (!in) return false;
    }
    return true;
}

/* The operand has the indices of the result, so each of its entries appends one entry at most. */
static bool same_indices(const Tensor *t, const Expr *lhs)
{
    uint32_t vars = 0;
    for (int d = 0; d < t->ndim; d++) vars |= 1u << t->dimvar[d];
    return t->ndim == lhs->tensor->ndim && vars == expr_vars(lhs);
}

static bool along_dense(const Nest *n)
{
    for (int k = 0; n->in && k < n->in->format.nlevel; k++)
        if (index_same(tensor_level_index(n->in, k), n->ix)) return !sc_kind_of(&n->in->format.level[k])->crd;
    return !n->nmerge;
}

/* The outermost loop over stored entries, if no loop inside of it runs over a dense level of an operand; else null. */
static const Nest *stored_part(const BoundSearch *path)
{
    int k = 0;
    while (k < path->n && along_dense(path->loop[k])) k++;
    for (int i = k; i < path->n; i++)
        if (path->loop[i]->in && along_dense(path->loop[i])) return NULL;
    return k < path->n ? path->loop[k] : NULL;
}

static void find_bounding(BoundSearch *path, const Expr *lhs)
{
    const Prog *p = path->l->p;
    path->found++;
    path->nt = 0;
    path->stored = stored_part(path);
    for (int k = 0; k < p->ntensor && path->nt < MAXBOUNDING; k++) {
        const Tensor *t = p->tensor[k];
        if (tensor_is_sparse(t) && same_indices(t, lhs) && entered(path, t)) path->t[path->nt++] = t;
    }
}

static void find(BoundSearch *path, const Nest *n)
{
    if (n->op == N_EVAL && tensor_assembled(n->eval.lhs->tensor)) {
        add_result(path, n->eval.lhs->tensor);
        find_bounding(path, n->eval.lhs);
    }
    path->keeps |= n->op == N_WORK && n->work->place != W_REG;
    if (n->op == N_LOOP) path->loop[path->n++] = n;
    for (int k = 0; k < n->n; k++) find(path, n->kid[k]);
    if (n->body) find(path, n->body);
    if (n->then) find(path, n->then);
    if (n->op == N_LOOP) path->n--;
}

/* Whether the driver can tell what the operand stores in a range of units; of sorted rows it knows what windows have. */
static bool has_units(const Prog *p, const Tensor *t, const sc_step *s)
{
    const sc_levelspec *v = &t->format.level[0];
    if (s->strategy == SC_SERIAL) return true;
    if (sc_kind_of(&t->format.level[t->format.nlevel - 1])->sorted) return false;
    if (t->dimvar[v->dim] != s->var) return false;
    if (t->arg == s->arg && !s->coords) return true;
    const bool coordinates = s->coords || s->arg < 0 || !sc_kind_of(&p->tensor[s->arg]->format.level[0])->crd;
    return s->block == 1 && v->part == SC_WHOLE && coordinates &&
           (!sc_kind_of(v)->crd || (sc_kind_of(v)->pos && s->coords));
}

/* The terms of the bound: the least sets of operands whose entries, without those of others, append something. */
static void add_terms(Low *l, const BoundSearch *path, sc_step *s)
{
    bool alive[1u << MAXBOUNDING];
    for (unsigned set_ = 0; set_ < 1u << path->nt; set_++) {
        uint64_t absent = 0;
        unsigned args = 0;
        bool least = true;
        for (int i = 0; i < path->nt; i++) {
            if (set_ >> i & 1)
                args |= 1u << path->t[i]->arg;
            else
                absent |= tensor_bit(l->p, path->t[i]);
        }
        alive[set_] = nest_alive(l->p, path->stored, absent);
        for (int i = 0; i < path->nt; i++)
            if (set_ >> i & 1 && alive[set_ & ~(1u << i)]) alive[set_] = true, least = false;
        if (!alive[set_] || !least) continue;
        if (!set_ || s->nbound == SC_MAXBOUND) {
            s->nbound = 0;
            return;
        }
        s->bound[s->nbound++] = args;
    }
}

/* s: the step over the units of the kernel, which gets the bound. */
static void bound(Low *l, BoundSearch *path, sc_step *s)
{
    if (path->found != 1 || path->keeps || !path->stored) return;
    const Tensor *r = l->cursor[0].result;
    int n = 0;
    for (int i = 0; i < path->nt; i++)
        if (has_units(l->p, path->t[i], s)) path->t[n++] = path->t[i];
    path->nt = n;
    if (s->strategy == SC_SERIAL || tensor_level_index(r, 0).var == s->var) add_terms(l, path, s);
}

int results_find(Low *l, sc_step *s)
{
    BoundSearch path = {.l = l};
    l->ncursor = l->nfibre = 0;
    find(&path, l->kernel);
    if (l->ncursor) bound(l, &path, s);
    return l->ncursor;
}

bool results_alone(const Low *l)
{
    for (int c = 1; c < l->ncursor; c++)
        if (l->cursor[c].result != l->cursor[0].result) return false;
    return l->ncursor > 0;
}

Local *result_cursor(const Low *l, const Tensor *t, int level)
{
    for (int c = 0; c < l->ncursor; c++)
        if (l->cursor[c].result == t && l->cursor[c].level == level) return l->cursor[c].next;
    return NULL;
}

/* ---- entries ---- */
static Buf *cursors(Low *l) { return module_buf(l->p, B_CURSORS, 0, 0, SC_I64, true, "cursors"); }

void results_open(Low *l)
{
    for (int c = 0; c < l->ncursor; c++) {
        char *name =
            sc_arena_printf(&l->p->arena, "%s_next%d", l->cursor[c].result->name, l->cursor[c].level);
        l->cursor[c].next = lower_mut(l, name, val_load(l->p, cursors(l), 1, val_int(l->p, c), NULL));
    }
}

void results_close(Low *l)
{
    for (int c = 0; c < l->ncursor && (counting(l) || l->leaves); c++) {
        Address to = {.buf = cursors(l)};
        lower_store(l, &to, val_int(l->p, c), O_CONST, val_local(l->p, l->cursor[c].next));
    }
}

/* ---- levels ---- */
void result_put_index(Low *l, BufOrigin origin, const Tensor *t, int level, Val *at, Val *v)
{
    Address to = {.buf = lower_buf(l, origin, t, level)};
    to.buf->mut = true;
    lower_store(l, &to, at, O_CONST, val_cast(l->p, (Type){(uint8_t)t->itype, 1}, v));
}

/* Position of the result in its dense levels down to this one. */
static Val *dense_position(Low *l, const Tensor *t, int level)
{
    Val *at = val_int(l->p, 0);
    for (int k = 0; k <= level; k++) {
        Index ix = tensor_level_index(t, k);
        at = val_op(l->p, O_ADD, val_op(l->p, O_MUL, at, lower_slot_extent(l, &ix)), lower_index(l, ix));
    }
    return at;
}

void fibres_open(Low *l, const Nest *n)
{
    for (int i = 0; i < l->nfibre; i++) {
        const Tensor *t = l->fibre[i].result;
        int k = l->fibre[i].level;
        if (l->fibre[i].body != n || !sc_kind_of(&t->format.level[k])->crd || k + 1 == t->format.nlevel)
            continue;
        Val *next = val_local(l->p, result_cursor(l, t, k + 1));
        l->fibre[i].first = val_local(l->p, lower_declare(l, "first", next, false));
    }
}

/* Below a stored or dense coordinate: the fibre ends here. */
static void end_fibre(Low *l, const Tensor *t, int level, Val *parent)
{
    if (counting(l)) return;
    Val *end = val_local(l->p, result_cursor(l, t, level));
    result_put_index(l, B_POS, t, level, val_op(l->p, O_ADD, parent, val_int(l->p, 1)), end);
}

static void close_stored(Low *l, const Tensor *t, int level, Val *first)
{
    Prog *p = l->p;
    Local *next = result_cursor(l, t, level);
    Stmt *grown = lower_put(l, S_IF), **outer = l->tail;
    grown->a = val_op(p, O_NE, val_local(p, result_cursor(l, t, level + 1)), first);
    l->tail = &grown->body;
    if (!counting(l))
        result_put_index(l, B_CRD, t, level, val_local(p, next),
                         lower_index(l, tensor_level_index(t, level)));
    end_fibre(l, t, level + 1, val_local(p, next));
    lower_set(l, next, val_op(p, O_ADD, val_local(p, next), val_int(p, 1)));
    l->tail = outer;
}

void fibres_close(Low *l, const Nest *n)
{
    for (int i = 0; i < l->nfibre; i++) {
        const Tensor *t = l->fibre[i].result;
        int k = l->fibre[i].level;
        if (l->fibre[i].body != n || k + 1 == t->format.nlevel) continue;
        if (sc_kind_of(&t->format.level[k])->crd)
            close_stored(l, t, k, l->fibre[i].first);
        else if (sc_kind_of(&t->format.level[k + 1])->crd)
            end_fibre(l, t, k + 1, dense_position(l, t, k));
    }
}

void result_append_lanes(Low *l, const Tensor *t, int off, Val *coords, Val *values)
{
    int level = t->format.nlevel - 1;
    Val *at = val_op(l->p, O_ADD, val_local(l->p, result_cursor(l, t, level)), val_int(l->p, off));
    Address crd = {.buf = lower_buf(l, B_CRD, t, level)}, val = {.buf = lower_buf(l, B_VAL, t, 0)};
    crd.buf->mut = true;
    if (coords) lower_store(l, &crd, at, O_CONST, coords);
    if (values) lower_store(l, &val, at, O_CONST, values);
}

static void put(Low *l, Buf *b, Val *at, Val *bits, Val *v)
{
    Stmt *s = lower_put(l, S_PUT);
    s->buf = b;
    s->a = at;
    s->b = v;
    s->c = bits;
    b->mut = true;
}

void result_append_some(Low *l, const Tensor *t, Val *bits, Val *coords, Val *values)
{
    const int level = t->format.nlevel - 1;
    Val *at = val_local(l->p, result_cursor(l, t, level));
    put(l, lower_buf(l, B_CRD, t, level), at, bits, coords);
    put(l, lower_buf(l, B_VAL, t, 0), at, bits, values);
}

void result_append_count(Low *l, const Tensor *t, Val *n)
{
    Local *next = result_cursor(l, t, t->format.nlevel - 1);
    lower_set(l, next, val_op(l->p, O_ADD, val_local(l->p, next), n));
}
