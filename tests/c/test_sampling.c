/* test_sampling.c: samples and rows and columns of random matrices, by one thread and by several: what is drawn are
 * entries of the rows, the same whoever draws, and what is selected is there, in order. */
#include "../../csrc/sampling.h"
#include "../../csrc/select.h"
#include "kernels_harness.h"

#define HOPS 4

typedef struct {
    int64_t rows, columns;
    int32_t *pos, *crd;
    double *val;
} graph;

static graph random_graph(int64_t rows, int64_t columns, int64_t longest, int64_t step)
{
    graph g = {.rows = rows, .columns = columns};
    g.pos = calloc((size_t)rows + 1, sizeof *g.pos);
    g.crd = malloc((size_t)(rows * longest + 1) * sizeof *g.crd);
    g.val = malloc((size_t)(rows * longest + 1) * sizeof *g.val);
    int32_t n = 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t c = below(step);
        for (int64_t k = below(below(3) ? 10 : longest); k > 0 && c < columns; k--, c += 1 + below(step)) {
            g.crd[n] = (int32_t)c;
            g.val[n++] = (double)below(4);
        }
        g.pos[i + 1] = n;
    }
    return g;
}

static void free_graph(graph *g) { free(g->pos), free(g->crd), free(g->val); }

/* ---- samples ---- */
typedef struct {
    int64_t n;
    int64_t *at; /* all that was drawn, one hop behind the other: rows, nodes, entries, columns */
} record;

static void note(record *r, int64_t x)
{
    if (!(r->n & (r->n - 1))) r->at = realloc(r->at, (size_t)(r->n ? 2 * r->n : 1) * sizeof *r->at);
    r->at[r->n++] = x;
}

static void take(sc_sampling *s, const graph *g, const sc_hop *hop, record *r)
{
    int32_t *pos = malloc((size_t)(hop->rows + 1) * sizeof *pos);
    int32_t *crd = malloc((size_t)(hop->entries + 1) * sizeof *crd);
    int64_t *entry = malloc((size_t)(hop->entries + 1) * sizeof *entry);
    int64_t *node = malloc((size_t)(hop->nodes + 1) * sizeof *node), wrong = 0;
    sc_sampling_fill(s, pos, crd, entry, NULL);
    sc_sampling_nodes(s, node);
    for (int64_t i = 0; i < hop->rows; i++)
        for (int64_t k = pos[i]; k < pos[i + 1]; k++) {
            const int64_t row = node[hop->begin + i];
            wrong += entry[k] < g->pos[row] || entry[k] >= g->pos[row + 1];
            wrong += node[crd[k]] != g->crd[entry[k]] || (k > pos[i] && crd[k] < crd[k - 1]);
            note(r, entry[k]), note(r, crd[k]);
        }
    note(r, hop->rows), note(r, hop->nodes);
    CHECK(!wrong && pos[hop->rows] == hop->entries, "%lld of %lld entries are wrong", (long long)wrong,
          (long long)hop->entries);
    free(pos), free(crd), free(entry), free(node);
}

static record sample(const graph *g, int mode, const int64_t *fanout)
{
    const sc_sampled from = {.itype = SC_I32,
                             .pos = g->pos,
                             .crd = g->crd,
                             .rows = g->rows,
                             .weight = mode & 1 ? g->val : NULL,
                             .wtype = SC_F64,
                             .replace = mode & 2,
                             .fresh = mode & 4,
                             .random = 7};
    record r = {0};
    sc_sampling *s;
    sc_err e = {0};
    int64_t seed[] = {0, g->rows / 2, g->rows - 1};
    CHECK(!sc_sampling_open(&s, &from, seed, 3, &e), "%s", e.msg);
    for (int h = 0; h < HOPS; h++) {
        sc_hop hop;
        CHECK(!sc_sampling_hop(s, fanout[h], &hop, &e), "%s", e.msg);
        take(s, g, &hop, &r);
    }
    sc_sampling_close(s);
    return r;
}

static void check_samples(const graph *g)
{
    const int64_t fanout[HOPS] = {1 + below(8), -1, below(40), 0};
    for (int mode = 0; mode < 8; mode++) {
        record one, many;
        team_size = 1, one = sample(g, mode, fanout);
        team_size = 4, many = sample(g, mode, fanout);
        CHECK(one.n == many.n && !memcmp(one.at, many.at, (size_t)one.n * sizeof *one.at),
              "mode %d: threads draw something else", mode);
        free(one.at), free(many.at);
    }
}

/* ---- rows and columns ---- */
static int64_t *random_list(const graph *g, int64_t n, int64_t extent, bool columns)
{
    int64_t *list = malloc((size_t)(n + 1) * sizeof *list);
    const int64_t stored = g->pos[g->rows];
    for (int64_t i = 0; i < n; i++)
        list[i] = columns && stored && below(2) ? g->crd[below(stored)] : below(extent);
    return list;
}

static int64_t distinct(int64_t *list, int64_t n)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        bool seen = false;
        for (int64_t k = 0; k < kept; k++) seen |= list[k] == list[i];
        if (!seen) list[kept++] = list[i];
    }
    return kept;
}

/* How many entries a row of the result should have. */
static int64_t wanted(const graph *g, int64_t row, const int64_t *columns, int64_t n)
{
    int64_t found = 0;
    for (int64_t p = g->pos[row]; p < g->pos[row + 1]; p++)
        for (int64_t k = 0; k < n; k++) found += columns[k] == g->crd[p];
    return found;
}

static int64_t wrong_entries(const graph *g, const sc_selection *s, int64_t i)
{
    const int32_t *pos = s->out_pos, *crd = s->out_crd;
    const double *val = s->out_val;
    const int64_t row = s->row.list[i];
    int64_t wrong = pos[i + 1] - pos[i] != wanted(g, row, s->column.list, s->column.n);
    for (int64_t k = pos[i]; k < pos[i + 1]; k++) {
        bool there = false;
        for (int64_t p = g->pos[row]; p < g->pos[row + 1]; p++)
            there |= g->crd[p] == s->column.list[crd[k]] && g->val[p] == val[k];
        wrong += !there || (k > pos[i] && crd[k] <= crd[k - 1]);
    }
    return wrong;
}

static void check_selection(const graph *g, bool repeats)
{
    const int64_t rows = 1 + below(30), listed = below(40);
    sc_selection s = {.itype = SC_I32, .pos = g->pos, .crd = g->crd, .val = g->val, .size = 8};
    s.rows = g->rows, s.columns = g->columns;
    int64_t *row = random_list(g, rows, g->rows, false), *column = random_list(g, listed, g->columns, true);
    s.row = (sc_taken){.n = rows, .list = row, .step = 1};
    s.column = (sc_taken){.n = repeats ? listed : distinct(column, listed), .list = column, .step = 1};
    s.out_pos = malloc((size_t)(rows + 1) * sizeof(int32_t));
    sc_err e = {0};
    int64_t n = 0, wrong = 0;
    CHECK(!sc_select_count(&s, &n, &e), "%s", e.msg);
    s.out_crd = malloc((size_t)(n + 1) * sizeof(int32_t));
    s.out_val = malloc((size_t)(n + 1) * sizeof(double));
    CHECK(!sc_select_fill(&s, &e), "%s", e.msg);
    for (int64_t i = 0; i < rows; i++) wrong += wrong_entries(g, &s, i);
    CHECK(!wrong, "%lld wrong of %lld columns", (long long)wrong, (long long)g->columns);
    sc_select_close(&s);
    free(s.out_pos), free(s.out_crd), free(s.out_val), free(row), free(column);
}

static void check_entries(const graph *g)
{
    enum { N = 300 };
    int64_t row[N], column[N], place[N], wrong = 0;
    const sc_sought s = {.itype = SC_I32,
                         .pos = g->pos,
                         .crd = g->crd,
                         .rows = g->rows,
                         .n = N,
                         .row = row,
                         .column = column,
                         .place = place};
    sc_err e = {0};
    for (int i = 0; i < N; i++) row[i] = below(g->rows), column[i] = below(g->columns);
    for (int i = 0; i < N; i += 2) /* that are stored, where the row has any */
        if (g->pos[row[i]] < g->pos[row[i] + 1]) column[i] = g->crd[g->pos[row[i] + 1] - 1];
    CHECK(!sc_select_find(&s, &e), "%s", e.msg);
    for (int i = 0; i < N; i++) {
        int64_t at = -1;
        for (int64_t p = g->pos[row[i]]; p < g->pos[row[i] + 1]; p++)
            if (g->crd[p] == column[i]) at = p;
        wrong += place[i] != at;
    }
    CHECK(!wrong, "%lld wrong places", (long long)wrong);
    row[N - 1] = g->rows;
    CHECK(sc_select_find(&s, &e) == SC_EVALUE, "a row that there is not");
}

int main(void)
{
    sc_team_install(&toy_team);
    for (int turn = 0; turn < 40; turn++) {
        const int64_t n = 1 + below(200);
        graph square = random_graph(n + 2, n + 2, 150, 3), wide = random_graph(n, 2000000, 150, 10000);
        check_samples(&square);
        check_entries(&square), check_entries(&wide);
        for (int how = 0; how < 8; how++) {
            team_size = how & 1 ? 4 : 1;
            check_selection(how & 2 ? &square : &wide, how & 4);
        }
        free_graph(&square), free_graph(&wide);
    }
    graph large = random_graph(4000, 4000, 150, 60); /* work for several lanes */
    check_samples(&large);
    free_graph(&large);
    if (!failures) puts("ok");
    return failures != 0;
}
