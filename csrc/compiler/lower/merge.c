/* merge.c: co-iteration.
 *
 * A merge advances positions of several tensors together, or looks each of them
 * up where the coordinate is known already. Which of them are present makes a
 * case; what a case computes is the nest with the absent ones replaced by zero
 * (nest/absent.c), and cases that compute nothing vanish. That is the whole lattice:
 * there is no rule for any operator. Tensors that an enclosing case lacks are
 * left out.
 *
 * The usual form has a loop for every set of tensors that are not exhausted, as
 * long as the set has a case that computes something. With many tensors that
 * text would be long: then one loop runs to the end of all, and an exhausted
 * tensor has a coordinate beyond every other. */
#include "private.h"

/* Ratios of the lengths of two fibres from which an intersection gallops, where it else takes single steps, or vectors:
 * a search costs as much as passing so many entries. */
#define GALLOP 12
#define GALLOP_MEET 24

typedef struct {
    const Nest *nest;
    int n;
    bool lookup;
    Fibre f[MAXMERGE];
    Local *next[MAXMERGE];               /* the position that a tensor has reached */
    Val *pos[MAXMERGE], *end[MAXMERGE];  /* at this coordinate: its entry; the end of its run, or null */
    Val *crd[MAXMERGE], *here[MAXMERGE]; /* its own coordinate; whether that is this one */
    Val *coord;
    Local *seen;                 /* how many coordinates had a case that was run, where there is a rest */
    bool alive[1u << MAXMERGE];  /* whether the case of a set computes something */
    bool useful[1u << MAXMERGE]; /* whether that of the set, or of a subset, does */
} Merge;

static bool has(unsigned set_, int i) { return set_ >> i & 1; }
static int size_of(unsigned set_) { return __builtin_popcount(set_); }
static unsigned all_of(const Merge *m) { return (1u << m->n) - 1; }

static const char *named(Low *l, const char *form, const Fibre *f)
{ return sc_arena_printf(&l->p->arena, form, f->t->name); }

static Val *conjunction(Low *l, const Merge *m, unsigned set_, Val *const *each)
{
    Val *v = NULL;
    for (int i = 0; i < m->n; i++)
        if (has(set_, i)) v = v ? val_op(l->p, O_AND, v, each[i]) : each[i];
    return v;
}

/* The subsets of a set, larger ones first, the empty one last; returns how many. */
static int subsets_of(unsigned set_, unsigned *subset)
{
    int n = 0;
    for (int size = size_of(set_); size >= 0; size--)
        for (unsigned s = set_ + 1; s-- > 0;)
            if ((s & set_) == s && size_of(s) == size) subset[n++] = s;
    return n;
}

/* ---- cases ---- */
static uint64_t absent_in(Low *l, const Merge *m, unsigned set_)
{
    uint64_t absent = l->e.absent;
    for (int i = 0; i < m->n; i++)
        if (!has(set_, i)) absent |= tensor_bit(l->p, m->f[i].t);
    return absent;
}

static void count_seen(Low *l, const Merge *m, Val *n)
{
    if (m->seen) lower_set(l, m->seen, plus(l, val_local(l->p, m->seen), n));
}

static void merge_case(Low *l, const Merge *m, unsigned set_)
{
    const Env *save = lower_keep(l);
    count_seen(l, m, num(l, 1));
    l->e.absent = absent_in(l, m, set_);
    for (int i = 0; i < m->n; i++)
        if (has(set_, i)) level_enter(l, m->f[i].t, m->pos[i], m->end[i]);
    if (m->lookup)
        lower_resolve(l);
    else
        lower_bind(l, m->nest->ix, m->coord);
    lower_body(l, m->nest->body);
    lower_back(l, save);
}

/* Whether one evaluation, with a Blend, takes the place of all cases of two tensors. */
static bool is_blend(Low *l, const Merge *m, Blend *b)
{
    const Nest *n = m->nest->body;
    if (m->n != 2 || m->lookup || n->op != N_EVAL || !m->alive[1] || !m->alive[2] || !m->alive[3])
        return false;
    *b = (Blend){{m->f[0].t, m->f[1].t}, {m->here[0], m->here[1]}};
    for (int i = 0; i < 2; i++)
        if (!m->f[i].unique || b->t[i]->role == T_WORK) return false;
    const Expr *rhs = eval_absent(l->p, &n->eval, l->e.absent);
    return rhs && (counting(l) || blend_applies(l, b, rhs));
}

/* if all of a larger subset are here ... else if ... A subset that computes nothing has a case in front of a smaller
 * one that does; the last one has no test where nothing else remains. */
static void merge_cases(Low *l, const Merge *m, unsigned set_)
{
    unsigned subset[1u << MAXMERGE];
    const int n = subsets_of(set_, subset);
    Blend blend;
    if (is_blend(l, m, &blend)) {
        const Blend *around = l->e.blend;
        l->e.blend = &blend;
        merge_case(l, m, set_);
        l->e.blend = around;
        return;
    }
    Stmt **outer = NULL; /* the tail behind the whole chain */
    bool all = !m->lookup;
    for (int k = 0; k < n - 1; k++) all &= m->useful[subset[k]];
    for (int k = 0; k < n; k++) {
        const unsigned s = subset[k];
        if (!m->useful[s]) continue;
        if (!s || (all && k == n - 2)) {
            merge_case(l, m, s);
            break;
        }
        Stmt *test = lower_put(l, S_IF);
        if (!outer) outer = l->tail;
        test->a = conjunction(l, m, s, m->here);
        l->tail = &test->body;
        if (m->alive[s]) merge_case(l, m, s);
        l->tail = &test->other;
    }
    if (outer) l->tail = outer;
}

/* ---- loops ---- */
/* What is here, given the coordinate of every tensor and that of this step. */
static void meet(Low *l, Merge *m, unsigned set_)
{
    Prog *p = l->p;
    for (int i = 0; i < m->n; i++) {
        if (!has(set_, i)) continue;
        const Fibre *f = &m->f[i];
        Val *at = val_local(p, m->next[i]);
        m->pos[i] = at;
        m->end[i] = NULL;
        m->here[i] = val_op(p, O_EQ, m->crd[i], m->coord);
        if (f->unique) continue;
        Val *beyond = val_search(p, f->crd, at, f->hi, val_op(p, O_ADD, m->coord, val_int(p, 1)));
        m->pos[i] = val_local(p, lower_declare(l, named(l, "%s_first", f), at, false));
        m->end[i] = lower_let(l, named(l, "%s_last", f), beyond);
    }
}

static void step(Low *l, Merge *m, unsigned set_)
{
    Prog *p = l->p;
    for (int i = 0; i < m->n; i++)
        if (has(set_, i) && m->end[i])
            lower_set(l, m->next[i], m->end[i]);
        else if (has(set_, i))
            lower_set(l, m->next[i],
                      val_op(p, O_ADD, val_local(p, m->next[i]), val_cast(p, I64, m->here[i])));
}

static Val *inside(Low *l, const Merge *m, unsigned set_)
{
    Val *in[MAXMERGE];
    for (int i = 0; i < m->n; i++) in[i] = val_op(l->p, O_LT, val_local(l->p, m->next[i]), m->f[i].hi);
    return conjunction(l, m, set_, in);
}

static Stmt **begin_while(Low *l, Val *test)
{
    Stmt *s = lower_put(l, S_WHILE), **outer = l->tail;
    s->a = test;
    l->tail = &s->body;
    return outer;
}

static const char *coordinate_name(Low *l, const Merge *m, int i)
{ return sc_arena_printf(&l->p->arena, "%s_%s", lower_index_name(l, m->nest->ix), m->f[i].t->name); }

/* The coordinates where the tensors of a set stand, and their least or greatest. */
static void read_coordinates(Low *l, Merge *m, unsigned set_, Op op)
{
    Val *c = NULL;
    for (int i = 0; i < m->n; i++) {
        if (!has(set_, i)) continue;
        Val *at = lower_load_index(l, m->f[i].crd, val_local(l->p, m->next[i]));
        m->crd[i] = lower_let(l, coordinate_name(l, m, i), at);
        c = c ? val_op(l->p, op, c, m->crd[i]) : m->crd[i];
    }
    m->coord = lower_let(l, lower_index_name(l, m->nest->ix), c);
}

/* What one tensor alone has left, or has at all. */
static void merge_rest(Low *l, const Merge *m, int i)
{
    const Env *save = lower_keep(l);
    Fibre rest = m->f[i];
    if (m->next[i]) {
        lower_remark(l, named(l, "the rest of %s", &m->f[i]));
        rest.lo = val_local(l->p, m->next[i]);
    }
    l->e.absent = absent_in(l, m, 1u << i);
    Val *visited = level_walk(l, m->nest, &rest);
    lower_back(l, save);
    count_seen(l, m, visited);
}

/* Two tensors are merged, and each step does one evaluation. */
static bool is_short(const Merge *m)
{ return m->n == 2 && m->nest->body->op == N_EVAL && m->f[0].unique && m->f[1].unique; }

static Val *one_more(Low *l, const Merge *m)
{
    Prog *p = l->p;
    Val *in[2];
    for (int i = 0; i < 2; i++)
        in[i] = val_op(p, O_LT, val_op(p, O_ADD, val_local(p, m->next[i]), val_int(p, 1)), m->f[i].hi);
    return conjunction(l, m, 3, in);
}

/* While two tensors have two entries left each. The next coordinate of both is loaded before the comparison says which
 * of them moves on: then no step waits for a load, and takes a fraction of the time. */
static void merge_ahead(Low *l, Merge *m)
{
    Prog *p = l->p;
    Local *c[2];
    Val *then[2];
    Stmt *some = lower_put(l, S_IF), **after = l->tail;
    some->a = inside(l, m, 3);
    l->tail = &some->body;
    lower_remark(l, "while both have one more entry: it is loaded ahead");
    for (int i = 0; i < 2; i++)
        c[i] = lower_mut(l, coordinate_name(l, m, i),
                         lower_load_index(l, m->f[i].crd, val_local(p, m->next[i])));
    begin_while(l, one_more(l, m));
    m->coord = lower_let(l, lower_index_name(l, m->nest->ix),
                         val_op(p, O_MIN, val_local(p, c[0]), val_local(p, c[1])));
    for (int i = 0; i < 2; i++) {
        Val *beyond = val_op(p, O_ADD, val_local(p, m->next[i]), val_int(p, 1));
        m->pos[i] = val_local(p, m->next[i]);
        m->end[i] = NULL;
        m->here[i] = lower_let(l, named(l, "in_%s", &m->f[i]), val_op(p, O_EQ, val_local(p, c[i]), m->coord));
        then[i] = lower_let(l, "then", lower_load_index(l, m->f[i].crd, beyond));
    }
    merge_cases(l, m, 3);
    step(l, m, 3);
    for (int i = 0; i < 2; i++) lower_set(l, c[i], val_select(p, m->here[i], then[i], val_local(p, c[i])));
    l->tail = after;
}

/* While all of a set have entries left. */
static void merge_loop(Low *l, Merge *m, unsigned set_)
{
    if (size_of(set_) == 1) {
        merge_rest(l, m, __builtin_ctz(set_));
        return;
    }
    if (is_short(m)) merge_ahead(l, m);
    Stmt **outer = begin_while(l, inside(l, m, set_));
    read_coordinates(l, m, set_, O_MIN);
    meet(l, m, set_);
    merge_cases(l, m, set_);
    step(l, m, set_);
    l->tail = outer;
}

/* ---- a vector of each at a time ---- */
#define HALF 32 /* where the bits of the second tensor begin */

/* Two tensors whose coordinates can be merged so: an intersection, or a union that appends vectors of entries. */
static bool meets(Low *l, const Merge *m, Spread *s)
{
    *s = (Spread){.both.t = {m->f[0].t, m->f[1].t}};
    if (l->p->vector_bytes != 64 || m->n != 2 || m->lookup || !m->alive[3]) return false;
    for (int i = 0; i < 2; i++) {
        const Tensor *t = m->f[i].t;
        if (t->role != T_IN || !m->f[i].unique || t->itype != m->f[0].t->itype) return false;
    }
    if (!m->useful[1] && !m->useful[2]) return true;
    return m->alive[1] && m->alive[2] && m->nest->body->op == N_EVAL && spread_applies(l, s, m->nest->body);
}

/* The body for every coordinate that both have. */
static void merge_hits(Low *l, Merge *m, Val *const in[2])
{
    Prog *p = l->p;
    Local *left[2];
    Val *both = lower_let(l, "both", val_op(p, O_AND, in[0], in[1]));
    Stmt *some = lower_put(l, S_IF), **after = l->tail;
    some->a = val_op(p, O_NE, both, val_int(p, 0));
    l->tail = &some->body;
    for (int i = 0; i < 2; i++)
        left[i] = lower_mut(l, named(l, "hits_%s", &m->f[i]), val_op(p, O_EXTRACT, both, in[i]));
    begin_while(l, val_op(p, O_NE, val_local(p, left[0]), val_int(p, 0)));
    for (int i = 0; i < 2; i++) {
        Val *hit = val_op(p, O_CTZ, val_local(p, left[i]), NULL);
        m->pos[i] =
            lower_let(l, named(l, "%s_at", &m->f[i]), val_op(p, O_ADD, val_local(p, m->next[i]), hit));
        m->end[i] = NULL;
    }
    m->coord = lower_let(l, lower_index_name(l, m->nest->ix), lower_load_index(l, m->f[0].crd, m->pos[0]));
    merge_case(l, m, 3);
    for (int i = 0; i < 2; i++) {
        Val *x = val_local(p, left[i]);
        lower_set(l, left[i], val_op(p, O_AND, x, val_op(p, O_SUB, x, val_int(p, 1))));
    }
    l->tail = after;
}

static void merge_meet(Low *l, Merge *m, Spread *s)
{
    Prog *p = l->p;
    const bool all = m->useful[1];
    Val *some[2], *part[2], *in[2];
    for (int i = 0; i < 2; i++) {
        s->f[i] = &m->f[i];
        s->at[i] = val_local(p, m->next[i]);
        some[i] = val_op(p, O_LT, s->at[i], m->f[i].hi);
        part[i] = val_part(p, m->f[i].crd, s->at[i], m->f[i].hi);
    }
    lower_remark(l, "a vector of each at a time: the bits say who has the coordinates, in their order");
    Stmt **outer = begin_while(l, val_op(p, all ? O_OR : O_AND, some[0], some[1]));
    Val *met = lower_let(l, "met", val_meet(p, part[0], part[1]));
    for (int i = 0; i < 2; i++) {
        Val *bits = i ? val_op(p, O_SHR, met, val_int(p, HALF)) : met;
        in[i] = lower_let(l, named(l, "in_%s", &m->f[i]), val_op(p, O_AND, bits, val_int(p, UINT32_MAX)));
    }
    if (all)
        spread_eval(l, s, m->nest->body, in);
    else
        merge_hits(l, m, in);
    for (int i = 0; i < 2; i++)
        lower_set(l, m->next[i], val_op(p, O_ADD, s->at[i], val_op(p, O_COUNT, in[i], NULL)));
    l->tail = outer;
}

static void merge_loops(Low *l, Merge *m)
{
    Spread s;
    if (meets(l, m, &s)) {
        merge_meet(l, m, &s);
        return;
    }

    unsigned subset[1u << MAXMERGE];
    const int n = subsets_of(all_of(m), subset);
    for (int k = 0; k < n - 1; k++)
        if (m->useful[subset[k]]) merge_loop(l, m, subset[k]);
}

/* ---- one loop for all ---- */
/* All tensors of some set have entries left, where the set computes something and no smaller one in it does. */
static Val *something_left(Low *l, const Merge *m)
{
    Val *v = NULL;
    for (unsigned s = 1; s <= all_of(m); s++) {
        bool least = m->useful[s];
        for (int i = 0; i < m->n; i++) least &= !has(s, i) || !m->useful[s & ~(1u << i)];
        if (least) v = v ? val_op(l->p, O_OR, v, inside(l, m, s)) : inside(l, m, s);
    }
    return v;
}

static void merge_all(Low *l, Merge *m)
{
    Prog *p = l->p;
    Val *c = NULL;
    Stmt **outer = begin_while(l, something_left(l, m));
    for (int i = 0; i < m->n; i++) {
        Val *at = lower_load_index(l, m->f[i].crd, val_local(p, m->next[i]));
        Val *held = val_select(p, inside(l, m, 1u << i), at, val_int(p, INT64_MAX));
        m->crd[i] = lower_let(l, coordinate_name(l, m, i), held);
        c = c ? val_op(p, O_MIN, c, m->crd[i]) : m->crd[i];
    }
    m->coord = lower_let(l, lower_index_name(l, m->nest->ix), c);
    meet(l, m, all_of(m));
    merge_cases(l, m, all_of(m));
    step(l, m, all_of(m));
    l->tail = outer;
}

static int count_cases(const Merge *m)
{
    int n = 0;
    for (unsigned s = 1; s <= all_of(m); s++)
        for (unsigned sub = s; m->useful[s] && sub; sub = (sub - 1) & s) n += m->alive[sub];
    return n;
}

/* ---- intersections ---- */
/* Two tensors are merged, only coordinates that both have count, and no loop in a tensor stands inside. */
static bool intersects(const Merge *m)
{ return m->n == 2 && !m->useful[1] && !m->useful[2] && !nest_has_sources(m->nest->body); }

/* Both jump to the greater of their coordinates. */
static void gallop(Low *l, Merge *m)
{
    Prog *p = l->p;
    lower_remark(l, "one is much longer: both jump");
    Stmt **outer = begin_while(l, inside(l, m, 3));
    read_coordinates(l, m, 3, O_MAX);
    meet(l, m, 3);
    merge_cases(l, m, 3);
    Val *same = val_op(p, O_EQ, m->crd[0], m->crd[1]);
    Val *beyond = lower_let(l, "beyond", val_op(p, O_ADD, m->coord, val_cast(p, I64, same)));
    for (int i = 0; i < 2; i++)
        lower_set(l, m->next[i], val_search(p, m->f[i].crd, val_local(p, m->next[i]), m->f[i].hi, beyond));
    l->tail = outer;
}

/* What the other tensor has is looked for in the row that is noted. */
static void look_up_noted(Low *l, Merge *m, const Noted *x)
{
    Prog *p = l->p;
    const Fibre *row = &m->f[x->row], *f = &m->f[1 - x->row];
    Stmt **outer;
    lower_remark(l, "many entries that stay: the other's are looked up");
    noted_fill(l, x, row);
    Val *at = val_local(p, lower_for(l, named(l, "p%s", f), f->lo, f->hi, 1, &outer)->local);
    m->coord = lower_let(l, lower_index_name(l, m->nest->ix), lower_load_index(l, f->crd, at));
    Val *place = lower_let(l, named(l, "%s_at", row), lower_load_index(l, x->places, m->coord));
    Stmt *inside = lower_put(l, S_IF);
    inside->a = val_op(p, O_AND, val_op(p, O_GE, place, row->lo), val_op(p, O_LT, place, row->hi));
    l->tail = &inside->body;
    Stmt *same = lower_put(l, S_IF);
    same->a = val_op(p, O_EQ, lower_load_index(l, row->crd, place), m->coord);
    l->tail = &same->body;
    m->pos[x->row] = place, m->pos[1 - x->row] = at;
    m->end[0] = m->end[1] = NULL;
    merge_case(l, m, 3);
    l->tail = outer;
}

/* Both jump where one is much longer, and are gone through together elsewhere. */
static void gallop_or_step(Low *l, Merge *m, Val *const size[2])
{
    Prog *p = l->p;
    Spread s;
    Val *ratio = val_int(p, meets(l, m, &s) ? GALLOP_MEET : GALLOP);
    Stmt *far = lower_put(l, S_IF), **outer = l->tail;
    far->a = val_op(p, O_OR, val_op(p, O_GT, size[0], val_op(p, O_MUL, size[1], ratio)),
                    val_op(p, O_GT, size[1], val_op(p, O_MUL, size[0], ratio)));
    l->tail = &far->body;
    gallop(l, m);
    l->tail = &far->other;
    merge_loops(l, m);
    l->tail = outer;
}

static void intersect(Low *l, Merge *m)
{
    Val *size[2];
    for (int i = 0; i < 2; i++)
        size[i] = lower_let(l, named(l, "%s_size", &m->f[i]), val_op(l->p, O_SUB, m->f[i].hi, m->f[i].lo));
    const Noted *noted = noted_of(l, m->nest);
    if (!noted) {
        gallop_or_step(l, m, size);
        return;
    }
    Val *pays = noted_pays(l, noted, &m->f[noted->row], size[noted->row], size[1 - noted->row]);
    Stmt *longer = lower_put(l, S_IF), **outer = l->tail;
    longer->a = pays;
    l->tail = &longer->body;
    look_up_noted(l, m, noted);
    l->tail = &longer->other;
    gallop_or_step(l, m, size);
    l->tail = outer;
}

/* ---- merges ---- */
/* The case does what the rest does at coordinates that are not visited, and is left to it. */
static bool is_rest(Low *l, const Merge *m, unsigned set_)
{
    const Nest *n = m->nest;
    const uint64_t absent = absent_in(l, m, set_);
    return n->rest && nest_repeats(l->p, n->body, n->ix.var, absent) &&
           nest_alike(l->p, n->body, absent, absent_in(l, m, 0));
}

static void judge(Low *l, Merge *m)
{
    for (unsigned s = 0; s <= all_of(m); s++) {
        m->alive[s] =
            (s || m->lookup) && nest_alive(l->p, m->nest->body, absent_in(l, m, s)) && !is_rest(l, m, s);
        m->useful[s] = m->alive[s];
        for (int i = 0; i < m->n; i++) m->useful[s] |= has(s, i) && m->useful[s & ~(1u << i)];
    }
}

static void look_up_all(Low *l, Merge *m)
{
    Val *coord = lower_index(l, m->nest->ix);
    for (int i = 0; i < m->n; i++) {
        m->f[i] = level_fibre(l, m->f[i].t);
        Found at = level_look_up(l, &m->f[i], coord);
        m->pos[i] = at.pos;
        m->end[i] = at.end;
        m->here[i] = lower_let(l, named(l, "in_%s", &m->f[i]), at.here);
    }
    merge_cases(l, m, all_of(m));
}

/* The part of a fibre in the range of units, which are coordinates. */
static void cut(Low *l, Fibre *f)
{
    Prog *p = l->p;
    Val *begin = val_param(p, module_param(p, P_BEGIN, 0, 0, "begin"));
    Val *end = val_param(p, module_param(p, P_END, 0, 0, "end"));
    f->lo = lower_let(l, named(l, "%s_lo", f), val_search(p, f->crd, f->lo, f->hi, begin));
    f->hi = lower_let(l, named(l, "%s_hi", f), val_search(p, f->crd, f->lo, f->hi, end));
}

static void iterate_all(Low *l, Merge *m)
{
    for (int i = 0; i < m->n; i++) {
        m->f[i] = level_fibre(l, m->f[i].t);
        if (m->nest->kind == L_PAR) cut(l, &m->f[i]);
        if (m->n > 1) m->next[i] = lower_mut(l, named(l, "p%s", &m->f[i]), m->f[i].lo);
    }
    if (m->nest->rest) m->seen = lower_mut(l, "seen", num(l, 0));
    if (m->n == 1)
        merge_rest(l, m, 0);
    else if (intersects(m))
        intersect(l, m);
    else if (count_cases(m) > MAXCASE)
        merge_all(l, m);
    else
        merge_loops(l, m);
}

void lower_merge(Low *l, const Nest *n)
{
    Merge *m = NEW(l->p, Merge);
    const bool known = lower_index(l, n->ix) || l->e.rests >> n->ix.var & 1;
    *m = (Merge){.nest = n, .lookup = known};
    for (int i = 0; i < n->nmerge; i++)
        if (!(tensor_bit(l->p, n->merge[i]) & l->e.absent)) m->f[m->n++].t = n->merge[i];
    if (!m->n && n->rest && !lower_index(l, n->ix)) { /* blocks inside of those that no operand has */
        rest_of(l, n, num(l, 0));
        return;
    }
    judge(l, m);
    if (m->lookup) {
        look_up_all(l, m);
        return;
    }
    const Env *save = lower_keep(l);
    if (m->useful[all_of(m)]) iterate_all(l, m);
    lower_back(l, save);
    rest_of(l, n, m->seen ? val_local(l->p, m->seen) : num(l, 0));
}
