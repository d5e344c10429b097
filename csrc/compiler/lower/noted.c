/* noted.c: rows that are met again and again.
 *
 * Where a loop stands between the row of one tensor and the merge that it takes part in, the same row is merged with
 * another one in each turn: at the entries of a sampled product of two sparse matrices, or of the triangles of a graph.
 * Such a row can be noted in an array of the lane that has the position of each coordinate; then the others look theirs up,
 * and what it has besides is not gone through again. What the array says of a coordinate is believed where that
 * position lies in the row and has the coordinate, so it is neither cleared before nor after (Briggs and Torczon, "An
 * Efficient Representation for Sparse Sets", 1993). */
#include "private.h"

/* Entries of a row that are noted while one is searched for: no more time than that is risked. */
#define SEARCH 16

static void place(Low *l, const Nest *n, int around)
{
    const int row = n->op == N_LOOP ? nest_row_stays(l->p, n, around) : -1;
    if (row >= 0 && l->nnoted < MAXNOTED && l->step->nscratch < SC_MAXWORK) {
        const Tensor *t = n->merge[row];
        sc_size size = {.bytes = (int64_t)sc_dtype_size(t->itype)};
        lower_size_times(&size, n->ix);
        Noted *x = &l->noted[l->nnoted++];
        *x = (Noted){.merge = n, .row = row, .places = lane_array(l, t, "places", t->itype, size, false)};
        x->held = lower_mut(l, sc_arena_printf(&l->p->arena, "%s_noted", t->name), num(l, -1));
        x->row_met = lower_mut(l, sc_arena_printf(&l->p->arena, "%s_row", t->name), num(l, -1));
        x->met = lower_mut(l, sc_arena_printf(&l->p->arena, "%s_met", t->name), num(l, 0));
    }
    const int loop = n->op == N_LOOP ? n->ix.var : around;
    if (n->body) place(l, n->body, loop);
    if (n->then) place(l, n->then, around);
    for (int k = 0; k < n->n; k++) place(l, n->kid[k], around);
}

void noted_place(Low *l)
{
    if (!counting(l)) place(l, l->kernel, -1);
}

const Noted *noted_of(const Low *l, const Nest *merge)
{
    for (int k = 0; k < l->nnoted && !counting(l); k++)
        if (l->noted[k].merge == merge) return &l->noted[k];
    return NULL;
}

Val *noted_pays(Low *l, const Noted *x, const Fibre *row, Val *size, Val *other)
{
    Prog *p = l->p;
    Val *longer = val_op(p, O_GT, size, times(l, other, num(l, ROW_LONGER))); /* so it is not empty */
    Stmt *count = lower_put(l, S_IF), **after = l->tail;
    count->a = longer;
    l->tail = &count->body;
    Val *same = val_op(p, O_EQ, row->lo, val_local(p, x->row_met));
    lower_set(l, x->met, plus(l, val_select(p, same, val_local(p, x->met), num(l, 0)), other));
    lower_set(l, x->row_met, row->lo);
    l->tail = after;
    return val_op(p, O_AND, longer, val_op(p, O_GE, times(l, val_local(p, x->met), num(l, SEARCH)), size));
}

/* Notes the row, unless it was the last one that was. */
void noted_fill(Low *l, const Noted *x, const Fibre *f)
{
    Prog *p = l->p;
    Stmt *other = lower_put(l, S_IF), **after = l->tail, **outer;
    other->a = val_op(p, O_NE, f->lo, val_local(p, x->held));
    l->tail = &other->body;
    lower_set(l, x->held, f->lo);
    Val *at = val_local(p, lower_for(l, "p", f->lo, f->hi, 1, &outer)->local);
    Stmt *s = lower_put(l, S_STORE);
    s->buf = x->places;
    s->a = lower_load_index(l, f->crd, at);
    s->b = val_cast(p, (Type){(uint8_t)x->places->dtype, 1}, at);
    l->tail = after;
}
