/* select_columns.c: a list of columns, turned around.
 *
 * Most entries of a row are not in a short list, so a bit is asked first. Where there is a bit for each column, their
 * numbers lie in an array that nobody clears: it is read where a bit is set. Of many more columns than the list has, a
 * table has those that are there, behind so many bits that columns share by their low digits. */
#include "select_columns.h"

#include <string.h>

#define MANY ((int64_t)64)       /* columns for one of the list, beyond which there is no bit for each */
#define SMALL ((int64_t)1 << 19) /* columns whose bits stay in the cache */
#define SPARE 16                 /* bits for one of the list */

static int no_memory(sc_err *e, int64_t n)
{ return sc_error(e, SC_ENOMEM, "out of memory for a list of %lld columns", (long long)n); }

static int make_bits(sc_columns *t, int64_t columns, int64_t n, sc_err *e)
{
    const bool each = n < INT32_MAX && columns <= sc_max(SMALL, MANY * n);
    uint64_t bits = 64;
    while (bits < (uint64_t)(each ? columns : SPARE * n)) bits *= 2;
    t->mask = bits - 1;
    t->bit = sc_work_take((size_t)(bits / 8));
    if (!t->bit) return no_memory(e, n);
    memset(t->bit, 0, (size_t)(bits / 8));
    if (!each) return sc_numbering_reserve(&t->number, n, e);
    t->where = sc_work_take(sizeof *t->where * (size_t)sc_max(columns, 1));
    return t->where ? 0 : no_memory(e, n);
}

static void number_columns(sc_columns *t, const sc_taken *list)
{
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t c = sc_taken_at(list, i);
        const uint64_t b = (uint64_t)c & t->mask;
        if (!t->where)
            sc_numbering_add(&t->number, c);
        else if (!sc_columns_bit(t, c))
            t->where[c] = (int32_t)t->n++;
        t->bit[b >> 6] |= UINT64_C(1) << (b & 63);
    }
    if (!t->where) t->n = t->number.n;
}

static int list_places(sc_columns *t, const sc_taken *list, sc_err *e)
{
    const size_t size = sizeof(int64_t) * (size_t)(t->n + 1);
    t->offset = sc_work_take(size + sizeof(int64_t) * (size_t)list->n);
    if (!t->offset) return no_memory(e, list->n);
    t->place = t->offset + t->n + 1;
    memset(t->offset, 0, size);
    for (int64_t i = 0; i < list->n; i++) t->offset[sc_columns_number(t, sc_taken_at(list, i))]++;
    int64_t end = 0; /* of the places of a column; each is filled from its end */
    for (int64_t c = 0; c < t->n; c++) t->offset[c] = end += t->offset[c];
    t->offset[t->n] = end;
    for (int64_t i = list->n; i-- > 0;) t->place[--t->offset[sc_columns_number(t, sc_taken_at(list, i))]] = i;
    return 0;
}

int sc_columns_open(sc_selection *s, sc_err *e)
{
    sc_columns *t = s->list = sc_work_take(sizeof *t);
    if (!t) return no_memory(e, s->column.n);
    *t = (sc_columns){0};
    if (make_bits(t, s->columns, s->column.n, e)) return e->code;
    number_columns(t, &s->column);
    return t->n < s->column.n ? list_places(t, &s->column, e) : 0;
}

void sc_columns_close(sc_selection *s)
{
    sc_columns *t = s->list;
    s->list = NULL;
    if (!t) return;
    sc_work_give(t->bit), sc_work_give(t->where), sc_work_give(t->offset), sc_work_give(t->found);
    sc_numbering_close(&t->number);
    sc_work_give(t);
}
