/* attention_row_units.h: units of work where blocks have one row: many rows of one head.
 *
 * What decides is where rows of K and V come from. So the scores of many rows are made first, with K alone, then V is
 * added up; each finds the whole of K, or V, in the cache of the core. A pass takes as many rows as the memory for scores
 * holds, longer rows in pieces of that size; where a row is cut depends on itself alone. */

typedef struct {
    int64_t row, at, end; /* entries of the strips */
    int64_t place;        /* of its first score, whole vectors apart */
} NAME(piece);

#define WHOLE(n) (((n) + LANES - 1) / LANES * LANES)

/* The piece that begins at p.at, cut; false where the pass or the unit (rows below `end`) ends. */
static bool NAME(cut)(const NAME(work) * w, int64_t m, int64_t end, NAME(piece) * p)
{
    if (p->row >= end) return false;
    const int64_t to = w->s->pos[m * (w->s->blocks + 1) + p->row + 1], left = WHOLE(to - p->at);
    if (p->place && (p->place > SEGMENTS - left)) return false;
    p->end = sc_min(to, p->at + SEGMENTS);
    return true;
}

/* To the next piece. */
SC_INLINE void NAME(next)(const NAME(work) * w, int64_t m, NAME(piece) * p)
{
    p->place += WHOLE(p->end - p->at);
    p->at = p->end;
    p->row += p->at == w->s->pos[m * (w->s->blocks + 1) + p->row + 1];
}

/* The pieces of one pass, from a copy of `from` on. */
#define EACH_PIECE(w, m, end, from)                                                                          \
    for (NAME(piece) p = (from); NAME(cut)(w, m, end, &p); NAME(next)(w, m, &p))
/* CHUNK entries of a piece at a time, rows of x fetched to row[i]. */
#define EACH_PART(w, p, i, x, batch, head)                                                                   \
    for (int64_t c_ = (p).at, rows; (rows = sc_min(CHUNK, (p).end - c_)) > 0 &&                              \
                                    NAME(fetch)(w, i, x, batch, head, (w)->s->crd + c_, rows, true);         \
         c_ += rows)
#define SCORES(w, i, p) ((w)->scores[i] + (p).place)

SC_INLINE bool NAME(starts)(const NAME(work) * w, int64_t m, const NAME(piece) * p)
{ return p->at == w->s->pos[m * (w->s->blocks + 1) + p->row]; }
SC_INLINE bool NAME(ends)(const NAME(work) * w, int64_t m, const NAME(piece) * p)
{ return p->end == w->s->pos[m * (w->s->blocks + 1) + p->row + 1]; }

/* scores[i] = x[columns] . packed, where packed is the row of y of each piece of a pass. */
static void NAME(row_scores)(NAME(work) * w, int i, int64_t m, int64_t end, const NAME(piece) * from,
                             const sc_heads *y, int64_t of_y, const sc_heads *x, int64_t of_x, int64_t batch,
                             REAL factor)
{
    EACH_PIECE(w, m, end, *from)
    {
        NAME(select)(w, p.row, p.row + 1);
        NAME(pack)(w, i, y, batch, of_y, factor);
        EACH_PART(w, p, i, x, batch, of_x)
        NAME(dot_rows)(w->row[i], rows, w->extent[i], w->packed[i], SCORES(w, i, p) + (c_ - p.at));
    }
}

/* drop times the scores of a piece. */
static void NAME(row_drop)(NAME(work) * w, int64_t matrix, const NAME(piece) * p)
{
    NAME(select)(w, p->row, p->row + 1);
    for (int64_t c = p->at, n; (n = sc_min(CHUNK, p->end - c)) > 0; c += n) {
        const REAL *drop = NAME(drop)(w, matrix, true, w->s->crd + c, n);
        for (int64_t r = 0; drop && r < n; r++) SCORES(w, 0, *p)[c - p->at + r] *= drop[r];
    }
}

static void NAME(row_forward)(const sc_attention *a, char *memory, const sc_attention_unit *u)
{
    const sc_strips *s = u->strips;
    const int64_t m = sc_strips_matrix(s, u->batch, u->head), other = u->head / (a->heads / a->shared);
    const int64_t matrix = u->batch * a->heads + u->head, end = u->first + u->blocks;
    NAME(work) *w = NAME(begin)(a, s, u, memory);
    NAME(piece) at = {.row = u->first, .at = s->pos[m * (s->blocks + 1) + u->first]};
    while (at.row < end) {
        NAME(row_scores)(w, 0, m, end, &at, &a->q, u->head, &a->k, other, u->batch,
                         (REAL)(a->scale * SC_LOG2E));
        NAME(piece) after = at;
        EACH_PIECE(w, m, end, at)
        {
            if (NAME(starts)(w, m, &p)) {
                w->top[0] = (REAL)-__builtin_inf(), w->total[0] = 0;
                memset(w->sum[1], 0, sizeof(REAL) * (size_t)w->pad[1]);
            }
            NAME(weigh_row)(SCORES(w, 0, p), s->val ? (const REAL *)s->val + p.at : NULL, a->added,
                            p.end - p.at, w->top, w->total, w->lane);
            if (a->dropout > 0) NAME(row_drop)(w, matrix, &p);
            REAL keep = w->lane[0];
            EACH_PART(w, p, 1, &a->v, u->batch, other)
            {
                NAME(add_rows)(SCORES(w, 0, p) + (c_ - p.at), w->row[1], rows, keep, w->sum[1], w->pad[1]);
                keep = 1;
            }
            if (NAME(ends)(w, m, &p))
                NAME(finish)(w, w->sum[1], w->top[0], w->total[0], matrix * a->rows + p.row, u->more);
            after = p;
        }
        NAME(next)(w, m, &after);
        at = after, at.place = 0;
    }
}

static void NAME(row_to_head)(const sc_attention *a, char *memory, const sc_attention_unit *u)
{
    const sc_strips *s = u->strips;
    const int64_t m = sc_strips_matrix(s, u->batch, u->head), other = u->head / (a->heads / a->shared);
    const int64_t matrix = u->batch * a->heads + u->head, end = u->first + u->blocks;
    NAME(work) *w = NAME(begin)(a, s, u, memory);
    NAME(piece) at = {.row = u->first, .at = s->pos[m * (s->blocks + 1) + u->first]};
    while (at.row < end) {
        NAME(row_scores)(w, 0, m, end, &at, &a->q, u->head, &a->k, other, u->batch,
                         (REAL)(a->scale * SC_LOG2E));
        NAME(row_scores)(w, 1, m, end, &at, &a->grad, u->head, &a->v, other, u->batch, 1);
        NAME(piece) after = at;
        EACH_PIECE(w, m, end, at)
        {
            NAME(select)(w, p.row, a->rows);
            if (NAME(starts)(w, m, &p)) memset(w->sum[0], 0, sizeof(REAL) * (size_t)w->pad[0]);
            EACH_PART(w, p, 0, &a->k, u->batch, other)
            {
                const NAME(given) g = {(const REAL *)a->base + matrix * a->rows + p.row,
                                       (const REAL *)a->delta + matrix * a->rows + p.row,
                                       s->val ? (const REAL *)s->val + c_ : NULL,
                                       NAME(drop)(w, matrix, true, s->crd + c_, rows),
                                       a->dval ? (REAL *)a->dval + c_ : NULL};
                REAL *scores = SCORES(w, 0, p) + (c_ - p.at), *slopes = SCORES(w, 1, p) + (c_ - p.at);
                NAME(slopes_row)(scores, slopes, true, a->added, &g, s->crd + c_, rows);
                NAME(add_rows)(slopes, w->row[0], rows, 1, w->sum[0], w->pad[0]);
            }
            if (NAME(ends)(w, m, &p))
                NAME(write_row)(w->sum[0], (REAL)a->scale, u->more, a->dtype, a->width, a->dq,
                                matrix * a->rows + p.row);
            after = p;
        }
        NAME(next)(w, m, &after);
        at = after, at.place = 0;
    }
}

/* Adds what a head of q contributes to sums. */
static void NAME(row_add_head)(NAME(work) * w, const sc_attention_unit *u, int64_t head)
{
    const sc_attention *a = w->a;
    const sc_strips *s = w->s;
    const int64_t m = sc_strips_matrix(s, u->batch, head), matrix = u->batch * a->heads + head,
                  end = u->first + u->blocks;
    NAME(piece) at = {.row = u->first, .at = s->pos[m * (s->blocks + 1) + u->first]};
    while (at.row < end) {
        NAME(row_scores)(w, 0, m, end, &at, &a->k, u->head, &a->q, head, u->batch,
                         (REAL)(a->scale * SC_LOG2E));
        EACH_PIECE(w, m, end, at)
        {
            NAME(select)(w, p.row, a->columns);
            NAME(pack)(w, 1, &a->v, u->batch, u->head, 1);
            EACH_PART(w, p, 1, &a->grad, u->batch, head)
            {
                const NAME(given)
                    g = {(const REAL *)a->base + matrix * a->rows, (const REAL *)a->delta + matrix * a->rows,
                         s->val ? (const REAL *)s->val + c_ : NULL,
                         NAME(drop)(w, matrix, false, s->crd + c_, rows), NULL};
                REAL *scores = SCORES(w, 0, p) + (c_ - p.at), *slopes = SCORES(w, 1, p) + (c_ - p.at);
                NAME(dot_rows)(w->row[1], rows, a->depth, w->packed[1], slopes);
                NAME(slopes_row)(scores, slopes, false, a->added, &g, s->crd + c_, rows);
                NAME(add_rows)(scores, w->row[1], rows, 1, w->sums[1] + (p.row - u->first) * w->pad[1],
                               w->pad[1]);
            }
        }
        NAME(piece) after = at;
        EACH_PIECE(w, m, end, at)
        {
            EACH_PART(w, p, 0, &a->q, u->batch, head)
            NAME(add_rows)(SCORES(w, 1, p) + (c_ - p.at), w->row[0], rows, 1,
                           w->sums[0] + (p.row - u->first) * w->pad[0], w->pad[0]);
            after = p;
        }
        NAME(next)(w, m, &after);
        at = after, at.place = 0;
    }
}

static void NAME(row_to_columns)(const sc_attention *a, char *memory, const sc_attention_unit *u)
{
    const int64_t each = a->heads / a->shared;
    NAME(work) *w = NAME(begin)(a, u->strips, u, memory);
    for (int i = 0; i < 2; i++) memset(w->sums[i], 0, sizeof(REAL) * (size_t)(u->blocks * w->pad[i]));
    for (int64_t o = u->head * each; o < (u->head + 1) * each; o++) NAME(row_add_head)(w, u, o);
    for (int64_t c = 0; c < u->blocks; c++)
        NAME(write_columns)(w, w->sums[0] + c * w->pad[0], w->sums[1] + c * w->pad[1], u, u->first + c);
}

#undef WHOLE
#undef EACH_PIECE
#undef EACH_PART
#undef SCORES
