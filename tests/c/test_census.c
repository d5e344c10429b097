/* test_census.c: what is counted of the rows, blocks and distances of a structure is what a walk over them counts. */
#include <math.h>

#include "kernels_harness.h"

/* A csr structure of n rows with up to `spread` entries more than `base` each, and no fewer than 0; csf-like ones have a dense level above. */
static void check_rows(int64_t n, int64_t base, int64_t spread, sc_dtype itype, int above)
{
    const int64_t rows = n * above;
    int32_t *narrow = malloc(sizeof *narrow * (size_t)(rows + 1));
    int64_t *wide = malloc(sizeof *wide * (size_t)(rows + 1)), least = INT64_MAX, most = 0, same = 0,
            before = -1;
    double squares = 0;
    sc_err e = {0};
    sc_tensor t = {.itype = itype};
    const char *text = above > 1 ? "dense(0), dense(1), compressed(2)" : "csr";
    CHECK(!sc_format_parse(&t.format, text, above > 1 ? 3 : 2, &e), "%s", e.msg);
    wide[0] = narrow[0] = 0;
    for (int64_t k = 0; k < rows; k++) {
        const int64_t entries = sc_max(0, base + (spread ? below(spread) : 0));
        squares += (double)(entries * entries);
        least = sc_min(least, entries), most = sc_max(most, entries);
        same += entries == before, before = entries;
        wide[k + 1] = wide[k] + entries;
        narrow[k + 1] = (int32_t)wide[k + 1];
    }
    const int last = t.format.nlevel - 1;
    t.view.level[last - 1].npos = rows;
    t.view.level[last].pos = itype == SC_I32 ? (void *)narrow : (void *)wide;
    t.view.level[last].npos = t.view.nval = wide[rows];
    sc_census_rows(&t);
    if (!most) least = 0;
    CHECK(t.rows.least == least && t.rows.most == most, "%lld rows: %lld to %lld, counted %lld to %lld",
          (long long)rows, (long long)least, (long long)most, (long long)t.rows.least,
          (long long)t.rows.most);
    CHECK(t.rows.even == (most && 4 * same >= 3 * rows), "%lld of %lld rows are like the one in front: %d",
          (long long)same, (long long)rows, t.rows.even);
    const double longer = most ? squares * (double)rows / (double)wide[rows] / (double)wide[rows] : 1;
    CHECK(fabs(log2(longer) - t.rows.skew) < .51, "2^%d for %g", t.rows.skew, longer);
    free(narrow);
    free(wide);
}

enum { MOST = 100, LONG = 1 << 20 };

/* What `there` says, counted place by place. */
static sc_blocks counted(bool there[MOST][MOST], int rows, int columns, int side, double share)
{
    sc_blocks found = {0};
    for (int i = 0; i < rows; i += side)
        for (int j = 0; j < columns; j += side) {
            int n = 0;
            for (int r = i; r < rows && r < i + side; r++)
                for (int c = j; c < columns && c < j + side; c++) n += there[r][c];
            found.seen += n, found.blocks += n > 0;
            if (n >= share * side * side) found.within += n;
        }
    return found;
}

/* A matrix of some full blocks, perhaps full rows, and some entries besides, as csr in these arrays. */
static void draw(bool there[MOST][MOST], int rows, int columns, int64_t *pos, int64_t *crd)
{
    const int size = 1 << below(5), full = (int)below(2);
    int64_t n = pos[0] = 0;
    for (int i = 0; i < rows; pos[++i] = n)
        for (int j = 0; j < columns; j++) {
            there[i][j] = !below(8) || (i / size + j / size) % 5 == 0 || (full && i % 7 == 3);
            if (there[i][j]) crd[n++] = j;
        }
}

static void check_long_rows(const sc_tensor *t, const int64_t *pos)
{
    for (int64_t most = 0; most < t->view.level[1].size; most += 10) {
        int64_t wanted = 0;
        for (int64_t i = 0; i < t->view.level[0].size; i++)
            if (pos[i + 1] - pos[i] > most) wanted += pos[i + 1] - pos[i];
        CHECK(sc_census_long_rows(t, most) == wanted, "rows of more than %lld", (long long)most);
    }
}

/* A structure in csr of LONG entries at most, of the arrays that were made last. */
static sc_tensor csr_of(int rows, int64_t columns, const int64_t *pos, const int64_t *crd, sc_dtype itype)
{
    static int32_t narrow_pos[LONG + 1], narrow_crd[LONG];
    const int64_t n = pos[rows];
    for (int i = 0; i <= rows; i++) narrow_pos[i] = (int32_t)pos[i];
    for (int64_t i = 0; i < n; i++) narrow_crd[i] = (int32_t)crd[i];
    sc_err e = {0};
    sc_tensor t = {.itype = itype};
    CHECK(!sc_format_parse(&t.format, "csr", 2, &e), "%s", e.msg);
    t.view.level[0].size = t.view.level[0].npos = rows, t.view.level[1].size = columns;
    t.view.level[1].pos = itype == SC_I64 ? (const void *)pos : (const void *)narrow_pos;
    t.view.level[1].crd = itype == SC_I64 ? (const void *)crd : (const void *)narrow_crd;
    t.view.level[1].npos = t.view.nval = n;
    return t;
}

/* Whether all of a block is there, or nothing. */
static bool whole(bool there[MOST][MOST], int rows, int columns, int high, int wide)
{
    bool all = rows % high == 0 && columns % wide == 0;
    for (int i = 0; i < rows && all; i++)
        for (int j = 0; j < columns; j++) all &= there[i][j] == there[i / high * high][j / wide * wide];
    return all;
}

/* Of blocks that are there as a whole, but for the last ones perhaps. */
static void check_sides(int high, int wide, sc_dtype itype)
{
    static bool there[MOST][MOST];
    static int64_t pos[MOST + 1], crd[MOST * MOST];
    const int rows = (int)sc_min(high * (1 + below(9)) + (below(6) == 0), MOST),
              columns = (int)sc_min(wide * (1 + below(9)) + (below(6) == 0), MOST);
    int64_t n = pos[0] = 0;
    const int64_t of = 1 + below(4), seed = below(1000);
    for (int i = 0; i < rows; pos[++i] = n)
        for (int j = 0; j < columns; j++) {
            there[i][j] = (i / high * 31 + j / wide * 17 + seed) % (of + 1) == 0;
            if (there[i][j]) crd[n++] = j;
        }
    if (!n) return;
    const sc_tensor t = csr_of(rows, columns, pos, crd, itype);
    int found[2], wanted[2] = {1, 1};
    sc_census_sides(&t, &found[0], &found[1]);
    for (int side = 2; side <= SC_SIDE; side++)
        if (whole(there, rows, columns, side, 1)) wanted[0] = side;
    for (int side = 2; side <= SC_SIDE && wanted[0] > 1; side++)
        if (whole(there, rows, columns, 1, side)) wanted[1] = side;
    CHECK(found[0] == wanted[0] && found[1] == wanted[1],
          "%d x %d of %d x %d: sides %d and %d, found %d and %d", rows, columns, high, wide, wanted[0],
          wanted[1], found[0], found[1]);
}

static void check_blocks(int rows, int columns, sc_dtype itype)
{
    static bool there[MOST][MOST];
    static int64_t pos[MOST + 1], crd[MOST * MOST];
    draw(there, rows, columns, pos, crd);
    sc_tensor t = csr_of(rows, columns, pos, crd, itype);
    for (int side = 1; side <= 32; side *= 2) {
        const double share = (double)(1 + below(4)) / 4;
        const sc_blocks wanted = counted(there, rows, columns, side, share);
        sc_blocks found;
        CHECK(sc_census_blocks(&t, side, share, &found), "no memory");
        CHECK(found.seen == wanted.seen && found.blocks == wanted.blocks && found.within == wanted.within,
              "%d x %d, side %d, %g: %lld entries in %lld blocks, %lld in full ones", rows, columns, side,
              share, (long long)found.seen, (long long)found.blocks, (long long)found.within);
    }
    check_long_rows(&t, pos);
}

/* Each entry, or every other one, has the column of the one so many before it; of the others each is the only one. */
static void check_reach(int64_t apart, bool all, sc_dtype itype)
{
    enum { ROW = 64 };
    static int64_t pos[LONG / ROW + 1], crd[LONG];
    for (int i = 0; i <= LONG / ROW; i++) pos[i] = i * ROW;
    for (int64_t k = 0; k < LONG; k++) crd[k] = all || k % 4 ? k % apart : apart + k;
    const sc_tensor t = csr_of(LONG / ROW, apart + LONG, pos, crd, itype);
    int wanted = 0;
    while (wanted < 17 && apart >> (wanted + 1)) wanted++;
    CHECK(sc_census_reach(&t) == wanted, "%lld apart: found 2^%d, not 2^%d", (long long)apart,
          sc_census_reach(&t), wanted);
}

int main(void)
{
    for (int64_t apart = 8; apart < 1 << 19; apart += apart / 8 * 4)
        check_reach(apart, apart % 3 == 0, apart & 64 ? SC_I32 : SC_I64);
    for (int k = 0; k < 60; k++)
        check_blocks(1 + (int)below(MOST), 1 + (int)below(MOST), k % 2 ? SC_I32 : SC_I64);
    for (int k = 0; k < 3000; k++)
        check_sides(1 + (int)below(20), 1 + (int)below(20), k % 2 ? SC_I32 : SC_I64);
    for (int64_t n = 1; n < 100; n++)
        for (int base = 0; base < 3; base++) {
            check_rows(n, base, 7, n % 2 ? SC_I32 : SC_I64, 1);
            check_rows(n, base, 2, n % 2 ? SC_I64 : SC_I32, 3);
            check_rows(n, base, 0, SC_I32, 1);
            check_rows(n, 11 + base, n % 5 ? 0 : 2, n % 2 ? SC_I32 : SC_I64, 1);
        }
    for (int k = 0; k < 60; k++) check_rows(1 + below(300), -(k / 2), 1 + k, k % 2 ? SC_I32 : SC_I64, 1);
    for (int k = 0; k < 200; k++) check_rows(1 + below(3000), 1, 1 + below(40), k % 2 ? SC_I32 : SC_I64, 1);
    sc_tensor sliced = {.itype = SC_I32};
    sc_err e = {0};
    CHECK(!sc_format_parse(&sliced.format, "dcsr", 2, &e), "%s", e.msg);
    sc_census_rows(&sliced);
    CHECK(!sliced.rows.most, "rows that are not there were counted");
    sc_blocks none;
    CHECK(sc_census_blocks(&sliced, 4, .5, &none) && !none.seen && !sc_census_long_rows(&sliced, 0),
          "blocks of no csr");
    return failures != 0;
}
