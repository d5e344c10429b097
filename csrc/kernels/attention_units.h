/* attention_units.h: units of work of attention_body.h, forward and backward. Here a unit is one tall block of one head;
 * those of blocks of one row are in attention_row_units.h. */

/* The part of the strips that belongs to a block, CHUNK columns at a time. */
#define EACH_CHUNK(s, m, block)                                                                              \
    for (int64_t c_ = (s)->pos[(m) * ((s)->blocks + 1) + (block)],                                           \
                 end_ = (s)->pos[(m) * ((s)->blocks + 1) + (block) + 1], rows;                               \
         (rows = sc_min(CHUNK, end_ - c_)) > 0; c_ += rows)
#define CRD(s) ((s)->crd + c_)
#define BITS(s) ((s)->bits + c_)
#define VAL(s) ((s)->val ? (const REAL *)(s)->val + c_ * (s)->height : NULL)

SC_INLINE bool NAME(is_empty)(const sc_strips *s, int64_t m, int64_t block)
{
    const int64_t *pos = s->pos + m * (s->blocks + 1) + block;
    return pos[0] == pos[1];
}

static void NAME(forward)(const sc_attention *a, char *memory, const sc_attention_unit *u)
{
    const sc_strips *s = u->strips;
    if (s->height == 1) {
        NAME(row_forward)(a, memory, u);
        return;
    }
    const int64_t m = sc_strips_matrix(s, u->batch, u->head), other = u->head / (a->heads / a->shared);
    if (u->more && NAME(is_empty)(s, m, u->first)) return;
    const int64_t matrix = u->batch * a->heads + u->head;
    NAME(work) *w = NAME(begin)(a, s, u, memory);
    NAME(select)(w, u->first, a->rows);
    for (int64_t l = 0; l < w->h; l++) w->top[l] = (REAL)-__builtin_inf(), w->total[l] = 0;
    NAME(pack)(w, 0, &a->q, u->batch, u->head, (REAL)(a->scale * SC_LOG2E));
    EACH_CHUNK(s, m, u->first)
    {
        NAME(fetch)(w, 0, &a->k, u->batch, other, CRD(s), rows, false);
        NAME(fetch)(w, 1, &a->v, u->batch, other, CRD(s), rows, true);
        NAME(dots)(w->row[0], rows, a->width, w->packed[0], w->h, w->scores[0]);
        NAME(weigh)(w, BITS(s), VAL(s), NAME(drop)(w, matrix, true, CRD(s), rows), rows);
        NAME(add)(w, w->scores[0], 1, 1, BITS(s), rows, w->lane);
    }
    for (int64_t l = 0; l < w->rows; l++)
        NAME(finish)(w, w->sum[1] + l * w->pad[1], w->top[l], w->total[l],
                     matrix * a->rows + NAME(row_of)(w, l), u->more);
}

/* delta[row] = grad . out, lse in powers of two and 0 for rows that see nothing. */
static void NAME(prepare)(const sc_attention *a, char *memory, const sc_attention_unit *u)
{
    NAME(work) *w = NAME(begin)(a, u->strips, u, memory);
    const sc_heads out = {a->out, {a->heads * a->rows * a->depth, a->rows * a->depth, a->depth, 1}};
    const int64_t first = u->first * w->h, end = sc_min(first + u->blocks * w->h, a->rows);
    for (int64_t r = first; r < end; r++) {
        const int64_t row = (u->batch * a->heads + u->head) * a->rows + r;
        REAL *x = w->fetched[1], *y = x + w->pad[1], sum = 0;
        NAME(read_row)(NAME(at)(&a->grad, a->dtype, u->batch, u->head, r), a->dtype, a->grad.stride[3],
                       a->depth, x);
        NAME(read_row)(NAME(at)(&out, a->dtype, u->batch, u->head, r), a->dtype, 1, a->depth, y);
        for (int64_t k = 0; k < a->depth; k++) sum += x[k] * y[k];
        const REAL lse = ((const REAL *)a->lse)[row];
        ((REAL *)(uintptr_t)a->delta)[row] = sum;
        ((REAL *)(uintptr_t)a->base)[row] =
            lse == (REAL)-__builtin_inf() ? 0 : (REAL)((double)lse * SC_LOG2E);
    }
}

/* The gradient of q for one head; those of the mask's values are added to what is there. */
static void NAME(to_head)(const sc_attention *a, char *memory, const sc_attention_unit *u)
{
    const sc_strips *s = u->strips;
    const int64_t m = sc_strips_matrix(s, u->batch, u->head), other = u->head / (a->heads / a->shared);
    if (u->more && NAME(is_empty)(s, m, u->first)) return;
    const int64_t matrix = u->batch * a->heads + u->head, first = matrix * a->rows;
    NAME(work) *w = NAME(begin)(a, s, u, memory);
    NAME(select)(w, u->first, a->rows);
    for (int64_t l = 0; l < w->h; l++) {
        const int64_t row = first + (l < w->rows ? NAME(row_of)(w, l) : 0);
        w->top[l] = l < w->rows ? ((const REAL *)a->base)[row] : 0;
        w->total[l] = l < w->rows ? ((const REAL *)a->delta)[row] : 0;
    }
    NAME(pack)(w, 0, &a->q, u->batch, u->head, (REAL)(a->scale * SC_LOG2E));
    NAME(pack)(w, 1, &a->grad, u->batch, u->head, 1);
    EACH_CHUNK(s, m, u->first)
    {
        const NAME(given) g = {w->top, w->total, VAL(s), NAME(drop)(w, matrix, true, CRD(s), rows),
                               a->dval ? (REAL *)a->dval + c_ * w->h : NULL};
        NAME(fetch)(w, 0, &a->k, u->batch, other, CRD(s), rows, true);
        NAME(fetch)(w, 1, &a->v, u->batch, other, CRD(s), rows, false);
        NAME(dots)(w->row[0], rows, a->width, w->packed[0], w->h, w->scores[0]);
        NAME(dots)(w->row[1], rows, a->depth, w->packed[1], w->h, w->scores[1]);
        NAME(slopes)(w, true, &g, CRD(s), BITS(s), rows);
        NAME(add)(w, w->scores[1], 0, 0, BITS(s), rows, NULL);
    }
    for (int64_t l = 0; l < w->rows; l++)
        NAME(write_row)(w->sum[0] + l * w->pad[0], (REAL)a->scale, u->more, a->dtype, a->width, a->dq,
                        first + NAME(row_of)(w, l));
}

/* The same; where gradients of the mask's values are wanted, a unit is of one of its matrices, and takes all heads
 * that share it in order. */
static void NAME(to_rows)(const sc_attention *a, char *memory, const sc_attention_unit *u)
{
    const int64_t batches = a->dval && u->strips->batch == 1 ? a->batch : 1,
                  heads = a->dval && u->strips->heads == 1 ? a->heads : 1;
    for (int64_t i = 0; i < batches * heads; i++) {
        sc_attention_unit one = *u;
        one.batch += i / heads, one.head += i % heads;
        if (u->strips->height == 1)
            NAME(row_to_head)(a, memory, &one);
        else
            NAME(to_head)(a, memory, &one);
    }
}

/* The head is one of k and v; those of q that share it are summed in order. */
static void NAME(to_columns)(const sc_attention *a, char *memory, const sc_attention_unit *u)
{
    const sc_strips *s = u->strips;
    const int64_t each = a->heads / a->shared;
    if (s->height == 1) {
        NAME(row_to_columns)(a, memory, u);
        return;
    }
    if (u->more && NAME(is_empty)(s, 0, u->first)) return;
    NAME(work) *w = NAME(begin)(a, s, u, memory);
    NAME(select)(w, u->first, a->columns);
    NAME(pack)(w, 0, &a->k, u->batch, u->head, (REAL)(a->scale * SC_LOG2E));
    NAME(pack)(w, 1, &a->v, u->batch, u->head, 1);
    for (int64_t o = u->head * each; o < (u->head + 1) * each; o++) {
        const int64_t m = sc_strips_matrix(s, u->batch, o), matrix = u->batch * a->heads + o;
        EACH_CHUNK(s, m, u->first)
        {
            const NAME(given)
                g = {(const REAL *)a->base + matrix * a->rows, (const REAL *)a->delta + matrix * a->rows,
                     VAL(s), NAME(drop)(w, matrix, false, CRD(s), rows), NULL};
            NAME(fetch)(w, 0, &a->q, u->batch, o, CRD(s), rows, true);
            NAME(fetch)(w, 1, &a->grad, u->batch, o, CRD(s), rows, true);
            NAME(dots)(w->row[0], rows, a->width, w->packed[0], w->h, w->scores[0]);
            NAME(dots)(w->row[1], rows, a->depth, w->packed[1], w->h, w->scores[1]);
            NAME(slopes)(w, false, &g, CRD(s), BITS(s), rows);
            NAME(add)(w, w->scores[0], 1, 1, BITS(s), rows, NULL);
            NAME(add)(w, w->scores[1], 0, 0, BITS(s), rows, NULL);
        }
    }
    for (int64_t l = 0; l < w->rows; l++)
        NAME(write_columns)(w, w->sum[0] + l * w->pad[0], w->sum[1] + l * w->pad[1], u, NAME(row_of)(w, l));
}

const sc_attention_blocks NAME(sc_attention_blocks) = {NAME(size), NAME(forward), NAME(prepare),
                                                       NAME(to_rows), NAME(to_columns)};

#undef EACH_CHUNK
#undef CRD
#undef BITS
#undef VAL
