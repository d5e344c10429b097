/* dots.c: products of neighbouring bf16 numbers are taken two at a time.
 *
 * requires  a module whose locals have values where they are used
 * sets      bodies of entries, in place; what nobody reads any more is left to simplify.c
 *
 * In a block
 *
 *     c = c + f32x16(a) * f32x16(x[i; 16])           a = A[p]
 *     ..
 *     d = d + f32x16(b) * f32x16(x[j; 16])           b = A[p + 1]
 *
 * becomes c = c + dot(A[p], x[i; 16], x[j; 16]) where the second stood. Unrolled loops sum in copies, so c and d may differ
 * where both are added up in the end, and read nowhere else; a copy that nothing is added to any more is not added to its
 * sum either. */
#include "stmt.h"

typedef struct {
    Local *sum;
    Buf *buf; /* of the scalar, at base + off */
    const Local *base;
    int64_t off;
    Val *at, *x; /* x: lanes of bf16 */
} Product16;

/* v as a local that does not change, and a number. */
static bool split(const Val *v, const Local **base, int64_t *off)
{
    const bool sum = v->op == O_ADD && v->kid[1]->op == O_CONST;
    const Val *x = sum ? v->kid[0] : v;
    *off = sum ? v->kid[1]->i : 0;
    *base = x->op == O_VAR ? x->local : NULL;
    return *base && !(*base)->mut;
}

static bool reads(const Val *v, const Local *l)
{
    if (!v) return false;
    return (v->op == O_VAR && v->local == l) || reads(v->kid[0], l) || reads(v->kid[1], l) ||
           reads(v->kid[2], l);
}

static const Val *below_casts(const Val *v)
{
    while (v->op == O_CAST) v = v->kid[0];
    return v;
}

/* What a local of the block was set to, in front of `end`. */
static const Val *value_in(const Stmt *block, const Stmt *end, const Local *l)
{
    for (const Stmt *s = block; s && s != end; s = s->next)
        if (s->op == S_LET && s->local == l && !l->mut) return s->a;
    return NULL;
}

static bool is_term(const Stmt *block, const Stmt *s, Product16 *t)
{
    const Val *v = s->a;
    if (s->op != S_SET || v->op != O_ADD || v->type.dtype != SC_F32 || v->type.lanes < 4) return false;
    if (v->kid[0]->op != O_VAR || v->kid[0]->local != s->local || v->kid[1]->op != O_MUL) return false;
    const Val *a = below_casts(v->kid[1]->kid[0]), *x = v->kid[1]->kid[1];
    if (a->op == O_VAR) a = value_in(block, s, a->local);
    if (!a || a->op != O_LOAD || a->type.lanes > 1 || a->buf->dtype != SC_BF16 || a->buf->mut) return false;
    if (x->op != O_CAST || x->kid[0]->op != O_LOAD || x->kid[0]->type.dtype != SC_BF16) return false;
    *t = (Product16){.sum = s->local, .buf = a->buf, .at = a->kid[0], .x = x->kid[0]};
    return !t->x->kid[1] && t->x->type.lanes == v->type.lanes && split(a->kid[0], &t->base, &t->off);
}

/* The same piece of two rows. */
static bool same_piece(const Val *x, const Val *y)
{
    const Local *base[2];
    int64_t off[2];
    return x->buf == y->buf && type_same(x->type, y->type) && split(x->kid[0], &base[0], &off[0]) &&
           split(y->kid[0], &base[1], &off[1]) && off[0] == off[1];
}

static bool follows(const Product16 *t, const Product16 *u)
{ return t->buf == u->buf && t->base == u->base && t->off + 1 == u->off && same_piece(t->x, u->x); }

/* ---- copies of sums ---- */
typedef struct {
    const Local *to; /* what it is added to */
    int nread;       /* how often it is read, but for its own terms */
} Join;

static void find_join(const Stmt *s, const Local *l, Join *j)
{
    for (; s; s = s->next) {
        const Val *v = s->a;
        const bool sum =
            s->op == S_SET && v->op == O_ADD && v->kid[0]->op == O_VAR && v->kid[0]->local == s->local;
        j->nread += reads(sum && s->local == l ? v->kid[1] : v, l) + reads(s->b, l) + reads(s->c, l);
        if (sum && v->kid[1]->op == O_VAR && v->kid[1]->local == l) j->to = s->local;
        find_join(s->body, l, j);
        find_join(s->other, l, j);
    }
}

/* What a copy is part of in the end: of what it is added to, if that is all that it is for. */
static const Local *whole_of(const Entry *e, const Local *l)
{
    enum { COPIES = 16 };
    for (int k = 0; k < COPIES; k++) {
        Join j = {0};
        find_join(e->body, l, &j);
        if (!j.to || j.nread != 1) break;
        l = j.to;
    }
    return l;
}

/* ---- pairs ---- */
/* Nothing is stored, and the sum neither set nor read. */
static bool passes(const Stmt *r, const Local *sum)
{
    if (r->op == S_NOTE) return true;
    return (r->op == S_LET || (r->op == S_SET && r->local != sum)) && !reads(r->a, sum);
}

/* The term behind s that follows it. */
static Stmt *partner(const Entry *e, const Stmt *block, const Stmt *s, const Product16 *t, Product16 *u)
{
    for (Stmt *r = s->next; r; r = r->next) {
        if (is_term(block, r, u) && follows(t, u))
            return whole_of(e, t->sum) == whole_of(e, u->sum) ? r : NULL;
        if (!passes(r, t->sum)) return NULL;
    }
    return NULL;
}

/* Whether any were found. */
static bool pair_in(Prog *p, const Entry *e, Stmt **block)
{
    Product16 t, u;
    bool any = false;
    for (Stmt **at = block; *at;) {
        Stmt *s = *at;
        any |= s->body && pair_in(p, e, &s->body);
        any |= s->other && pair_in(p, e, &s->other);
        Stmt *r = is_term(*block, s, &t) ? partner(e, *block, s, &t, &u) : NULL;
        if (!r) {
            at = &s->next;
            continue;
        }
        r->local = t.sum;
        r->a = val_op(p, O_ADD, val_local(p, t.sum), val_dot(p, t.buf, t.at, t.x, u.x));
        *at = s->next;
        any = true;
    }
    return any;
}

/* ---- copies that are left over ---- */
/* Whether the local begins as zero and stays so. */
static bool stays_zero(const Stmt *s, const Local *l)
{
    for (; s; s = s->next) {
        const bool writes = (s->op == S_SET || s->op == S_LET) && s->local == l;
        if (writes && (s->op == S_SET || s->a->op != O_CONST || s->a->f != 0)) return false;
        if (!stays_zero(s->body, l) || !stays_zero(s->other, l)) return false;
    }
    return true;
}

static void drop_copies(const Entry *e, Stmt **at)
{
    while (*at) {
        Stmt *s = *at;
        const Val *v = s->a, *copy = s->op == S_SET && v->op == O_ADD ? v->kid[1] : NULL;
        const bool zero = copy && copy->op == O_VAR && copy->local->mut && v->kid[0]->op == O_VAR &&
                          v->kid[0]->local == s->local && stays_zero(e->body, copy->local);
        drop_copies(e, &s->body);
        drop_copies(e, &s->other);
        if (zero)
            *at = s->next;
        else
            at = &s->next;
    }
}

void stmt_dots(Prog *p, Module *m)
{
    for (int k = 0; k < m->nentry; k++)
        if (pair_in(p, &m->entry[k], &m->entry[k].body)) drop_copies(&m->entry[k], &m->entry[k].body);
}
