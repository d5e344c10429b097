/* span.c: bitmap workspaces, filled and read in the way that suits what one filling writes.
 *
 * Where it is loops over stored entries that fill a workspace, their fibres say how many values they write, and from
 * which coordinate to which, before any of it is done. So each filling takes one of three ways. Entries that lie close
 * together have a byte each, which is set without looking at what is there; bytes are read 64 at a time. A few in a wide
 * range would touch a line of memory each: they go into a list of coordinates and values, which is sorted; values of one
 * coordinate are added in the order of filling. So does what comes from one fibre, whose coordinates are in order already.
 * list.c fills and reads it by vectors. Everything else goes into the bitmap, of which only the range is looked at. */
#include "private.h"

#define LIST 256 /* entries of a list .. */
#define SHORT 32 /* .. where no network sorts more */
/* Coordinates for each value written, up to which they lie close together, if there are few, and if there are more; from
 * which on a list is better. */
#define CLOSE_FEW 64
#define CLOSE 32
#define FEW 64
#define SPARSE 200
#define KEYED (1 << 22)  /* coordinates that a key has room for, beside the number of a place */
#define ROOM (LIST + 16) /* a vector is written from any of the places on */

static Val *narrow(Low *l, Val *v) { return val_cast(l->p, (Type){SC_I32, 1}, v); }

/* ---- where it applies ---- */
static void count_lanes(const Nest *n, void *ctx)
{
    if (n->op == N_WORK && n->work->place == W_LANE) ++*(int *)ctx;
}

/* A loop over the coordinates of a compressed level, each of which is written once. */
static bool writes_fibre(const Nest *n, const Tensor *w)
{
    if (n->body->op != N_EVAL || !n->in) return false;
    const Expr *lhs = n->body->eval.lhs;
    const int k = nest_loop_level(n);
    const sc_levelspec *v = &n->in->format.level[k];
    return lhs->tensor == w && index_same(lhs->ix[0], n->ix) && n->ix.part == SC_WHOLE && v->unique &&
           sc_kind_of(v)->pos && !sc_kind_of(v)->padded;
}

/* bound: indices of the loops around; a loop over such a one looks up where it is. */
static bool fills(const Nest *n, const Tensor *w, uint32_t bound)
{
    if (n->op == N_SEQ) {
        for (int k = 0; k < n->n; k++)
            if (!fills(n->kid[k], w, bound)) return false;
        return n->n > 0;
    }
    if (n->op != N_LOOP || n->kind != L_FOR || n->nmerge || n->rest || n->by || n->batch || n->unroll)
        return false;
    if (n->in && n->in->role != T_IN) return false;
    const uint32_t var = 1u << n->ix.var;
    return (writes_fibre(n, w) && !(bound & var)) ||
           (n->body->op != N_EVAL && fills(n->body, w, bound | (n->ix.part == SC_WHOLE ? var : 0)));
}

bool span_applies(Low *l, const Nest *n)
{
    const Tensor *w = n->work;
    int lanes = 0;
    nest_walk(l->kernel, count_lanes, &lanes);
    return w->bitmap && w->ndim == 1 && w->slot[0].part == SC_WHOLE && lanes <= 2 &&
           l->p->var[w->slot[0].var].extent <= KEYED && fills(n->body, w, 0);
}

/* ---- memory ---- */
bool span_lists(const Low *l, const Lane *a)
{ return l->p->vector_bytes >= 32 && a->reduce == O_ADD && sc_dtype_size(a->work->dtype) >= 4; }

/* The list comes first: where it lies does not depend on extents, which leaves registers to the loops. */
void span_place(Low *l, Lane *a)
{
    const Tensor *w = a->work;
    const int64_t size = (int64_t)sc_dtype_size(w->dtype);
    sc_size bytes = work_size(w);
    bytes.bytes = 1;
    if (span_lists(l, a)) {
        a->key = lane_array(l, w, "key", SC_I32, (sc_size){.bytes = 4 * ROOM}, false);
        a->terms = lane_array(l, w, "terms", w->dtype, (sc_size){.bytes = size * ROOM}, false);
    }
    a->bytes = lane_array(l, w, "bytes", SC_BOOL, bytes, true);
}

/* ---- looking ahead ---- */
Lane *span_look(Low *l, const Nest *n)
{
    Lane *a = lane_of(l, n->work);
    Span *s = &a->span;
    s->n = lower_mut(l, "terms", num(l, 0));
    s->first = lower_mut(l, "first", work_elements(l, n->work));
    s->last = lower_mut(l, "last", num(l, -1));
    s->runs = lower_mut(l, "runs", num(l, 0));
    lower_remark(l, "how much is written, and from where to where");
    return a;
}

void span_fibre(Low *l, const Fibre *f)
{
    Prog *p = l->p;
    const Span *s = &l->looking->span;
    Stmt *some = lower_put(l, S_IF), **outer = l->tail;
    some->a = val_op(p, O_LT, f->lo, f->hi);
    l->tail = &some->body;
    lower_set(l, s->n, plus(l, now(l, s->n), val_op(p, O_SUB, f->hi, f->lo)));
    lower_set(l, s->runs, plus(l, now(l, s->runs), num(l, 1)));
    lower_set(l, s->first, val_op(p, O_MIN, now(l, s->first), lower_load_index(l, f->crd, f->lo)));
    Val *end = val_op(p, O_SUB, f->hi, num(l, 1));
    lower_set(l, s->last, val_op(p, O_MAX, now(l, s->last), lower_load_index(l, f->crd, end)));
    l->tail = outer;
}

Val *span_prefers(Low *l, const Lane *a, Way way)
{
    Prog *p = l->p;
    Val *n = now(l, a->span.n), *range = val_op(p, O_SUB, now(l, a->span.last), now(l, a->span.first));
    if (way == W_BYTES) {
        Val *few = val_op(p, O_LE, n, num(l, FEW));
        return val_op(p, O_LE, range, times(l, n, val_select(p, few, num(l, CLOSE_FEW), num(l, CLOSE))));
    }
    Val *wide = val_op(p, O_GT, range, times(l, n, num(l, SPARSE))),
        *ordered = val_op(p, O_EQ, now(l, a->span.runs), num(l, 1));
    const int most = p->vector_bytes >= 64 ? LIST : SHORT;
    return val_op(p, O_AND, val_op(p, O_LE, n, num(l, most)), val_op(p, O_OR, wide, ordered));
}

/* ---- filling ---- */
void span_store(Low *l, const Lane *a, Val *k, Op op, Val *v)
{
    Prog *p = l->p;
    if (a->way == W_LIST) {
        Val *at = now(l, a->n);
        keep(l, a->key, at, narrow(l, k));
        keep(l, a->terms, at, v);
        lower_set(l, a->n, plus(l, at, num(l, 1)));
        return;
    }
    if (op != O_CONST) {
        Val *both = val_op(p, op, load(l, a->val, k), v);
        v = op == O_ADD ? both
                        : val_select(p, load(l, a->bytes, k), both, v); /* sums start from what is cleared */
    }
    keep(l, a->val, k, v);
    keep(l, a->bytes, k, val_const(p, (Type){SC_BOOL, 1}, 1));
}

/* ---- reading ---- */
void span_read(Low *l, Lane *a)
{
    Stmt *several = lower_put(l, S_IF), **outer = l->tail;
    several->a = val_op(l->p, O_GT, now(l, a->span.runs), num(l, 1));
    l->tail = &several->body;
    Stmt *s = lower_put(l, S_UNITE);
    s->buf = a->key;
    s->spare = a->terms;
    s->local = a->n;
    s->a = now(l, a->span.runs);
    l->tail = outer;
}

static Val *open_list(Low *l, Lane *a, const char *name, Stmt ***outer)
{
    a->at = val_local(l->p, lower_for(l, "x", num(l, 0), now(l, a->n), 1, outer)->local);
    return lower_let(l, name, lower_load_index(l, a->key, a->at));
}

Val *span_open(Low *l, Lane *a, const char *name, Stmt ***outer)
{
    Prog *p = l->p;
    if (a->way == W_LIST) return open_list(l, a, name, outer);
    Val *first = val_op(p, O_SHR, now(l, a->span.first), num(l, 6));
    Val *end = plus(l, val_op(p, O_SHR, now(l, a->span.last), num(l, 6)), num(l, 1));
    Val *word = val_local(p, lower_for(l, "word", first, end, 1, outer)->local);
    Val *base = lower_let(l, "base", times(l, word, num(l, 64)));
    Local *rest = lower_mut(l, "rest", val_marks(p, a->bytes, base));
    Stmt *loop = lower_put(l, S_WHILE);
    loop->a = val_op(p, O_NE, now(l, rest), num(l, 0));
    l->tail = &loop->body;
    Val *k = lower_let(l, name, plus(l, base, val_op(p, O_CTZ, now(l, rest), NULL)));
    lower_set(l, rest, val_op(p, O_AND, now(l, rest), val_op(p, O_SUB, now(l, rest), num(l, 1))));
    return k;
}
