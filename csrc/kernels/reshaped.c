/* reshaped.c: the entries of a csr matrix in as many places of another shape.
 *
 * They stay in order, so values are not looked at. Where a new row begins is sought in the row that it begins in; a
 * coordinate is moved on by what the row begins at, less the new rows that lie ahead of it. Nothing is divided but where an
 * entry is in another new row than the one ahead of it. */
#include "../select.h"

#include "kernels.h"

SC_INLINE void begin_rows(const sc_reshaped *r, int64_t begin, int64_t end, sc_dtype itype)
{
    const int64_t rows = r->new_columns / r->columns, columns = r->new_columns % r->columns;
    const int64_t first = begin * r->new_columns;
    int64_t row = first / r->columns, column = first % r->columns;
    for (int64_t i = begin; i < end; i++) {
        const int64_t lo = sc_index(r->pos, itype, row), hi = sc_index(r->pos, itype, row + 1);
        sc_index_put(r->out_pos, itype, i, column ? sc_seek(r->crd, itype, lo, hi, column) : lo);
        row += rows, column += columns;
        if (column >= r->columns) row++, column -= r->columns;
    }
}

SC_INLINE void move_rows(const sc_reshaped *r, int64_t begin, int64_t end, sc_dtype itype)
{
    const int64_t width = r->new_columns, step = r->columns % width;
    int64_t ahead = (begin * r->columns) % width; /* of the row, in the new row that it begins in */
    for (int64_t i = begin; i < end; i++) {
        const int64_t last = sc_index(r->pos, itype, i + 1);
        int64_t from = -ahead; /* where the new row begins that the entry lies in */
        for (int64_t p = sc_index(r->pos, itype, i); p < last; p++) {
            const int64_t x = sc_index(r->crd, itype, p);
            if (x - from >= width) from = (x + ahead) / width * width - ahead;
            sc_index_put(r->out_crd, itype, p, x - from);
        }
        ahead += step;
        if (ahead >= width) ahead -= width;
    }
}

static void begin_range(void *arg, int lane, int64_t begin, int64_t end)
{
    const sc_reshaped *r = arg;
    (void)lane;
#define BEGIN(TYPE) begin_rows(r, begin, end, TYPE)
    SC_BY_INDEX(r->itype, BEGIN);
#undef BEGIN
}

/* Rows are cut by their entries. */
static void move_lane(void *arg, int lane, int64_t begin, int64_t end)
{
    const sc_reshaped *r = arg;
    (void)lane;
    const int64_t stored = sc_index(r->pos, r->itype, r->rows);
    begin = begin ? sc_split_fibre(r->pos, r->itype, r->rows, begin) + 1 : 0;
    end = end < stored ? sc_split_fibre(r->pos, r->itype, r->rows, end) + 1 : r->rows;
#define MOVE(TYPE) move_rows(r, begin, end, TYPE)
    SC_BY_INDEX(r->itype, MOVE);
#undef MOVE
}

void sc_reshape(const sc_reshaped *r)
{
    const int64_t stored = sc_index(r->pos, r->itype, r->rows);
    sc_parallel_ranges(sc_team_lanes(8 * (double)r->new_rows), r->new_rows, begin_range, (void *)r);
    sc_index_put(r->out_pos, r->itype, r->new_rows, stored);
    if (stored) sc_parallel_ranges(sc_team_lanes(2 * (double)stored), stored, move_lane, (void *)r);
}
