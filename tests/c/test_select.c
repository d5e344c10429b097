/* test_select.c: rows, few columns, triangles, and matrices side by side, by one thread and by several, each as a loop over
 * all rows and columns finds it; nothing is written behind the arrays, which are as long as they must be. */
#include "../../csrc/select.h"
#include "kernels_harness.h"

typedef struct {
    int64_t rows, columns;
    int32_t *pos, *crd;
    float *val;
} matrix;

static matrix random_matrix(int64_t rows, int64_t columns, int64_t mean)
{
    matrix m = {.rows = rows, .columns = columns};
    m.pos = calloc((size_t)rows + 1, sizeof *m.pos);
    for (int64_t turn = 0, seed = below(1000000); turn < 2; turn++) { /* counted, then filled */
        int32_t n = 0;
        uint64_t state = (uint64_t)seed;
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t c = 0; c < columns; c++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                if ((int64_t)(state >> 33) % columns >= mean) continue;
                if (turn) m.crd[n] = (int32_t)c, m.val[n] = (float)(i * columns + c);
                n++;
            }
            m.pos[i + 1] = n;
        }
        if (turn) break;
        m.crd = malloc(sizeof *m.crd * (size_t)n), m.val = malloc(sizeof *m.val * (size_t)n);
    }
    return m;
}

static void free_matrix(matrix *m) { free(m->pos), free(m->crd), free(m->val); }

static bool kept(const sc_selection *s, int64_t row, int64_t column)
{
    if (s->every_column) return true;
    if (!s->triangle) return column >= s->column.first && column < s->column.first + s->column.n;
    return s->triangle < 0 ? column <= row + s->diagonal : column >= row + s->diagonal;
}

/* Entries of a row of the matrix that the selection wants, in order of the result's columns, each checked. */
static int64_t wrong_row(const matrix *m, const sc_selection *s, int64_t row, int64_t k, int64_t end)
{
    const int32_t *crd = s->out_crd;
    const float *val = s->out_val;
    const int64_t first = s->every_column || s->triangle ? 0 : s->column.first;
    int64_t wrong = 0;
    if (s->column.list && !s->every_column && !s->triangle) {
        for (int64_t j = 0; j < s->column.n; j++)
            for (int64_t p = m->pos[row]; p < m->pos[row + 1]; p++)
                if (m->crd[p] == s->column.list[j]) {
                    wrong += k >= end || crd[k] != j || val[k] != m->val[p];
                    k++;
                }
    } else
        for (int64_t p = m->pos[row]; p < m->pos[row + 1]; p++)
            if (kept(s, row, m->crd[p])) {
                wrong += k >= end || crd[k] != m->crd[p] - first || val[k] != m->val[p];
                k++;
            }
    return wrong + (k != end);
}

static void check(const matrix *m, sc_selection s, const char *what)
{
    sc_err e = {0};
    int64_t n = 0, wrong = 0;
    s.itype = SC_I32, s.pos = m->pos, s.crd = m->crd, s.val = m->val, s.size = 4;
    s.rows = m->rows, s.columns = m->columns;
    s.out_pos = malloc((size_t)(s.row.n + 1) * sizeof(int32_t));
    CHECK(!sc_select_count(&s, &n, &e), "%s: %s", what, e.msg);
    s.out_crd = malloc((size_t)n * sizeof(int32_t));
    s.out_val = malloc((size_t)n * sizeof(float));
    CHECK(!sc_select_fill(&s, &e), "%s: %s", what, e.msg);
    const int32_t *pos = s.out_pos;
    for (int64_t i = 0; i < s.row.n; i++)
        wrong +=
            wrong_row(m, &s, s.row.list ? s.row.list[i] : s.row.first + i * s.row.step, pos[i], pos[i + 1]);
    CHECK(!wrong, "%s of %lld x %lld: %lld wrong", what, (long long)m->rows, (long long)m->columns,
          (long long)wrong);
    sc_select_close(&s);
    free(s.out_pos), free(s.out_crd), free(s.out_val);
}

static void check_forms(const matrix *m)
{
    const sc_taken all = {.n = m->rows, .step = 1};
    const sc_taken back = {.n = m->rows, .first = m->rows - 1, .step = -1};
    const sc_taken third = {.n = (m->rows + 2) / 3, .step = 3};
    const int64_t few = sc_max(m->columns / 20, 1), diagonal = below(2 * m->rows) - m->rows;
    int64_t *rising = malloc(sizeof *rising * (size_t)few), *falling = malloc(sizeof *falling * (size_t)few);
    for (int64_t k = 0; k < few; k++) rising[k] = falling[few - 1 - k] = k * m->columns / few;
    check(m, (sc_selection){.row = all, .every_column = true}, "all");
    check(m, (sc_selection){.row = back, .every_column = true}, "backwards");
    check(m, (sc_selection){.row = third, .every_column = true}, "each third row");
    check(m, (sc_selection){.row = all, .triangle = -1, .diagonal = diagonal}, "lower triangle");
    check(m, (sc_selection){.row = back, .triangle = 1, .diagonal = diagonal}, "upper triangle");
    const int64_t half = m->columns / 2;
    check(m, (sc_selection){.row = all, .column = {.n = half, .first = half / 2, .step = 1}}, "a range");
    check(m, (sc_selection){.row = all, .column = {.n = few, .list = rising, .step = 1}}, "few columns");
    check(m, (sc_selection){.row = all, .column = {.n = few, .list = falling, .step = 1}}, "few from behind");
    free(rising), free(falling);
}

static int64_t wrong_side(const sc_joined *j, const matrix *m, int64_t row, int64_t first, int64_t *k)
{
    const int32_t *crd = j->out_crd;
    const float *val = j->out_val;
    int64_t wrong = 0;
    for (int64_t p = m->pos[row]; p < m->pos[row + 1]; p++, ++*k)
        wrong += crd[*k] != m->crd[p] + first || val[*k] != m->val[p];
    return wrong;
}

static void check_joined(const matrix *a, const matrix *b, bool below)
{
    const sc_side side[] = {{a->pos, a->crd, a->val, a->rows, 0},
                            {b->pos, b->crd, b->val, b->rows, a->columns}};
    sc_joined j = {.itype = SC_I32, .size = 4, .below = below, .valued = true, .side = side, .n = 2};
    sc_err e = {0};
    int64_t n = 0, wrong = 0, k = 0;
    j.rows = below ? a->rows + b->rows : a->rows;
    const int32_t *pos = j.out_pos = malloc((size_t)(j.rows + 1) * sizeof(int32_t));
    CHECK(!sc_joined_count(&j, &n, &e), "%s", e.msg);
    j.out_crd = malloc((size_t)n * sizeof(int32_t)), j.out_val = malloc((size_t)n * sizeof(float));
    sc_joined_fill(&j);
    for (int64_t i = 0; i < j.rows; i++) {
        wrong += pos[i] != k;
        if (i < a->rows) wrong += wrong_side(&j, a, i, 0, &k);
        if (!below || i >= a->rows) wrong += wrong_side(&j, b, below ? i - a->rows : i, a->columns, &k);
    }
    CHECK(!wrong && pos[j.rows] == k && n == k, "%lld wrong %s", (long long)wrong,
          below ? "below" : "beside");
    free(j.out_pos), free(j.out_crd), free(j.out_val);
}

/* Of all the ways to cut as many places into rows. */
static void check_reshaped(const matrix *m)
{
    const int64_t places = m->rows * m->columns, stored = m->pos[m->rows];
    for (int64_t wide = 1; wide <= places; wide = wide < 40 ? wide + 1 : wide * 7 / 5) {
        if (places % wide) continue;
        int32_t *pos = malloc((size_t)(places / wide + 1) * sizeof *pos);
        int32_t *crd = malloc((size_t)stored * sizeof *crd);
        const sc_reshaped r = {SC_I32, m->pos, m->crd, m->rows, m->columns, places / wide, wide, pos, crd};
        int64_t wrong = 0, k = 0;
        sc_reshape(&r);
        for (int64_t i = 0, row = 0; i < m->rows; i++)
            for (int64_t p = m->pos[i]; p < m->pos[i + 1]; p++, k++) {
                const int64_t at = i * m->columns + m->crd[p];
                for (; row <= at / wide; row++) wrong += pos[row] != k;
                wrong += crd[k] != at % wide;
            }
        CHECK(!wrong && pos[0] == 0 && pos[places / wide] == stored,
              "%lld x %lld in rows of %lld: %lld wrong", (long long)m->rows, (long long)m->columns,
              (long long)wide, (long long)wrong);
        free(pos), free(crd);
    }
}

static void check_marks(int64_t n, int64_t share)
{
    uint8_t *mask = malloc((size_t)n);
    for (int64_t i = 0; i < n; i++) mask[i] = below(share) ? 0 : (uint8_t)(1 + below(255));
    const int64_t count = sc_marked_count(mask, n);
    int64_t *list = malloc(sizeof *list * (size_t)count), k = 0, wrong = 0;
    sc_marked_list(mask, n, count, list);
    for (int64_t i = 0; i < n; i++)
        if (mask[i]) wrong += k >= count || list[k] != i, k++;
    CHECK(!wrong && k == count, "%lld of %lld marks", (long long)count, (long long)n);
    free(mask), free(list);
}

int main(void)
{
    sc_team_install(&toy_team);
    for (int turn = 0; turn < 40; turn++) {
        const int64_t rows = 1 + below(60), columns = 1 + below(100), mean = below(sc_min(columns, 24) + 1);
        matrix a = random_matrix(rows, columns, mean), b = random_matrix(rows, 1 + below(9), 1);
        check_forms(&a), check_reshaped(&a);
        for (int below = 0; below < 2; below++) check_joined(&a, &b, below), check_joined(&b, &a, below);
        check_marks(below(70), 1 + below(12));
        free_matrix(&a), free_matrix(&b);
    }
    for (team_size = 1; team_size <= 4; team_size++) { /* work for several lanes */
        matrix a = random_matrix(3000, 400, 1 + 12 * (team_size - 1)), b = random_matrix(3000, 50, 5);
        check_forms(&a), check_reshaped(&a);
        check_joined(&a, &b, false), check_joined(&a, &b, true);
        free_matrix(&a), free_matrix(&b);
    }
    if (!failures) puts("ok");
    return failures != 0;
}
