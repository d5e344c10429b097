/* test_kernels.c: conversions between all kinds of formats, and validation. */
#include "kernels_harness.h"

static bool pool_once(const pool *m)
{
    for (int w = 0; w < 4; w++)
        for (int l = 0; l < 16; l++)
            if (m->seen[w][l] > 1) return false;
    return true;
}

/* ---- formats as text ---- */
/* text in, canonical spelling out; or a part of the message where none is expected. */
static void test_formats(void)
{
    static const struct {
        int ndim;
        const char *text, *alias, *levels, *error;
    } table[] = {{2, " csr ", "csr", "dense(0), compressed(1)", NULL},
                 {2, "dense(0),compressed(1)", "csr", "dense(0), compressed(1)", NULL},
                 {3, "csr", "csr", "dense(0), dense(1), compressed(2)", NULL},
                 {3, "csc", "csc", "dense(0), dense(2), compressed(1)", NULL},
                 {2, "csf", "dcsr", "compressed(0), compressed(1)", NULL},
                 {2, "dcsc", "dcsc", "compressed(1), compressed(0)", NULL},
                 {3, "coo", "coo", "compressed(0, nonunique), singleton(1, nonunique), singleton(2)", NULL},
                 {1, "csf", "coo", "compressed(0)", NULL},
                 {0, "dense", "dense", "", NULL},
                 {2, "bsr( 2, 3 )", "bsr(2,3)", "dense(0/2), compressed(1/3), dense(0%2), dense(1%3)", NULL},
                 {2, "bsc(2,3)", "bsc(2,3)", "dense(1/3), compressed(0/2), dense(0%2), dense(1%3)", NULL},
                 {2, "ell(4)", "ell(4)", "dense(0), ell(1, 4)", NULL},
                 {2, "ell(0, 4), dense(1)", "ell(0, 4), dense(1)", "ell(0, 4), dense(1)", NULL},
                 {2, "dense(1), dense(0)", "dense(1), dense(0)", "dense(1), dense(0)", NULL},
                 {2, "bsr", NULL, NULL, "expected bsr(rows,columns) of a block, got 0 numbers"},
                 {2, "ell", NULL, NULL, "expected ell(width)"},
                 {2, "csr(2)", NULL, NULL, "expected csr alone, got 1 numbers"},
                 {1, "csr", NULL, NULL, "2 or more dimensions, got one of 1"},
                 {2, "compressed(0)", NULL, NULL, "expected dimension 1 once"},
                 {2, "dense(0/2), compressed(1), dense(0%3)", NULL, NULL, "unlike blocks"},
                 {2, "singleton(0), dense(1)", NULL, NULL, "cannot come first"},
                 {2, "dense(0), compresed(1)", NULL, NULL, "expected a format name"},
                 {2, "dense(0) compressed(1)", NULL, NULL, "expected a comma or the end"},
                 {2, "dense(9), dense(1)", NULL, NULL, "expected a dimension below"},
                 {2, "dense(99999999999999999999), dense(1)", NULL, NULL, "expected a dimension below"},
                 {9, "dense", NULL, NULL, "0 to 8 dimensions"}};
    for (int i = 0; i < SC_LEN(table); i++) {
        sc_format f, g;
        sc_err e = {0};
        char alias[200], levels[200], small[5];
        int rc = sc_format_parse(&f, table[i].text, table[i].ndim, &e);
        if (table[i].error) {
            expect(rc, SC_EVALUE, &e, table[i].error);
            continue;
        }
        CHECK(!rc, "%s", e.msg);
        sc_format_print(&f, alias, sizeof alias);
        sc_format_print_levels(&f, levels, sizeof levels);
        sc_format_print(&f, small, sizeof small);
        CHECK(!strcmp(alias, table[i].alias) && !strcmp(levels, table[i].levels), "%s: %s, %s", table[i].text,
              alias, levels);
        CHECK(strlen(small) < sizeof small, "print wrote past its room");
        if (table[i].ndim)
            CHECK(!sc_format_parse(&g, levels, f.ndim, &e) && sc_format_equal(&f, &g), "%s", e.msg);
    }
}

/* ---- conversion ---- */
/* Does every stored place of the format belong to an entry of the source? */
static bool exact(const sc_format *f)
{
    bool inner = false;
    for (int l = 0; l < f->nlevel; l++) {
        if (f->level[l].kind != SC_DENSE)
            inner = true;
        else if (inner)
            return false;
    }
    return inner;
}

static bool all_dense(const sc_format *f)
{
    for (int l = 0; l < f->nlevel; l++)
        if (f->level[l].kind != SC_DENSE) return false;
    return true;
}

static void check_perm(const sc_tensor *from, const sc_tensor *to, const int64_t *perm)
{
    if (!perm) return;
    void *out = malloc((size_t)(to->view.nval + 1) * 8);
    sc_gather_values(out, from->view.val, perm, SC_I64, to->view.nval, to->dtype);
    size_t size = (size_t)to->view.nval * sc_dtype_size(to->dtype);
    CHECK(!size || !memcmp(out, to->view.val, size), "perm does not reproduce the values");
    free(out);
}

static void convert_one(const sc_tensor *from, sc_tensor *to, const char *text, sc_dtype itype, pool *m)
{
    sc_err e = {0};
    char name[200];
    int64_t *perm = NULL;
    sc_format_print(&from->format, name, sizeof name);
    CHECK(!sc_format_parse(&to->format, text, from->format.ndim, &e), "%s", e.msg);
    to->itype = itype;
    int rc = sc_convert(from, to, pool_alloc, m, below(2) ? &perm : NULL, &e);
    CHECK(!rc, "%s -> %s: %s", name, text, e.msg);
    if (rc) return;
    CHECK(pool_once(m), "%s -> %s: an array was asked for twice", name, text);
    CHECK(!sc_validate(to, &e), "%s -> %s: %s", name, text, e.msg);
    bool whole = exact(&to->format) && exact(&from->format);
    if (!e.code) {
        dict a = unpack(from, !whole), b = unpack(to, !whole);
        CHECK(same(&a, &b), "%s -> %s differ: %lld and %lld entries", name, text, (long long)a.n,
              (long long)b.n);
        free(a.e);
        free(b.e);
    }
    check_perm(from, to, perm);
}

static const char *const formats2[] = {"coo",
                                       "csr",
                                       "csc",
                                       "dense",
                                       "dense(1), dense(0)",
                                       "bsr(2,3)",
                                       "bsc(2,3)",
                                       "dcsr",
                                       "dcsc",
                                       "ell(300)",
                                       "compressed(1, nonunique), singleton(0)",
                                       "compressed(0, nonunique), singleton(1, nonunique)",
                                       "dense(0/2), dense(1/3), dense(0%2), dense(1%3)",
                                       "compressed(0), dense(1)",
                                       "dense(1), compressed(0, nonunique)",
                                       "compressed(0/2), compressed(1), dense(0%2)",
                                       "ell(0, 300), dense(1)",
                                       "compressed(1/6), compressed(0), compressed(1%6)",
                                       "bsr(3,2)",
                                       "dense(0/2), compressed(1/3), planar(0%2), dense(1%3)",
                                       "compressed(1/3), compressed(0/2), planar(1%3), dense(0%2)",
                                       "ell(1, 300), compressed(0)"};
static const char *const formats3[] = {"coo",
                                       "csf",
                                       "csr",
                                       "csc",
                                       "dense",
                                       "ell(300)",
                                       "dense(2), compressed(0), dense(1)",
                                       "dense(0), compressed(1, nonunique), singleton(2)",
                                       "compressed(2), compressed(1, nonunique), singleton(0)",
                                       "dense(0), compressed(1/2), dense(2/3), compressed(1%2), dense(2%3)"};

/* Sums of small integers are exact in all types but bf16. */
static sc_dtype any_dtype(void)
{
    sc_dtype t = (sc_dtype)below(SC_NDTYPE);
    return t == SC_BF16 ? SC_F16 : t;
}
static sc_dtype any_itype(void) { return below(2) ? SC_I32 : SC_I64; }

static void test_pairs(const char *const *formats, int nformat, const int64_t *dim, int ndim, int64_t n)
{
    for (int a = 0; a < nformat; a++) {
        pool source = {0}, first = {0};
        sc_tensor coo, from = {0};
        random_coo(&coo, dim, ndim, n, any_dtype(), any_itype(), &source);
        convert_one(&coo, &from, formats[a], any_itype(), &first);
        for (int b = 0; b < nformat && from.view.nval + 1 && failures < 20; b++) {
            pool second = {0};
            sc_tensor to = {0};
            convert_one(&from, &to, formats[b], any_itype(), &second);
            pool_free(&second);
        }
        pool_free(&source);
        pool_free(&first);
    }
}

static void test_conversions(void)
{
    static const int64_t shapes2[][2] = {{6, 6}, {12, 18}, {0, 6}, {6, 0}, {0, 0}, {6, 24}, {18, 6}};
    static const int64_t shapes3[][3] = {{4, 6, 9}, {1, 2, 3}, {0, 2, 3}, {3, 0, 3}, {5, 4, 0}};
    for (int k = 0; k < SC_LEN(shapes2); k++)
        for (int64_t n = 0; n <= 90; n += 30)
            if (n == 0 || (shapes2[k][0] && shapes2[k][1]))
                test_pairs(formats2, SC_LEN(formats2), shapes2[k], 2, n ? n + 1 : n);
    for (int k = 0; k < SC_LEN(shapes3); k++)
        for (int64_t n = 0; n <= 60; n += 60)
            if (n == 0 || (shapes3[k][0] && shapes3[k][1] && shapes3[k][2]))
                test_pairs(formats3, SC_LEN(formats3), shapes3[k], 3, n ? n + 1 : n);
    static const int64_t one[2] = {1, 1};
    static const char *const plain[] = {"coo", "csr", "csc", "dense", "dcsr", "ell(1)", "bsr(1,1)"};
    test_pairs(plain, SC_LEN(plain), one, 2, 1);
    static const int64_t big[2] = {240, 300};
    test_pairs(formats2, 10, big, 2, 40000);
    static const int64_t broad[2] = {12, 48000};
    static const char *const blocked[] = {"csr", "bsr(2,3)", "csc", "bsc(2,3)", "bsr(3,1)"};
    test_pairs(blocked, SC_LEN(blocked), broad, 2, 3000);
}

/* Keys of several words, and extents that only a 64-bit index reaches. */
static void test_wide(void)
{
    static const int64_t dim[4] = {(int64_t)1 << 40, (int64_t)1 << 41, 7, ((int64_t)1 << 62) - 1};
    static const char *const formats[] = {"coo", "csf",
                                          "compressed(3), compressed(1), compressed(0), dense(2)"};
    pool source = {0};
    sc_tensor coo;
    random_coo(&coo, dim, 4, 500, SC_F64, SC_I64, &source);
    for (int a = 0; a < SC_LEN(formats); a++) {
        pool first = {0}, second = {0};
        sc_tensor from = {0}, to = {0};
        convert_one(&coo, &from, formats[a], SC_I64, &first);
        convert_one(&from, &to, formats[(a + 1) % 3], SC_I64, &second);
        pool_free(&first);
        pool_free(&second);
    }
    pool_free(&source);
}

static void refuse(const sc_tensor *from, const char *text, sc_dtype itype, const char *part)
{
    pool m = {0};
    sc_err e = {0};
    sc_tensor to = {.itype = itype};
    CHECK(!sc_format_parse(&to.format, text, from->format.ndim, &e), "%s", e.msg);
    expect(sc_convert(from, &to, pool_alloc, &m, NULL, &e), SC_EVALUE, &e, part);
    pool_free(&m);
}

static void test_refusals(void)
{
    pool m = {0};
    sc_tensor t;
    static const int64_t odd[2] = {7, 6}, tall[2] = {(int64_t)1 << 33, 3};
    random_coo(&t, odd, 2, 60, SC_F32, SC_I32, &m);
    refuse(&t, "bsr(2,3)", SC_I32, "dimension 0 of extent 7 is not a multiple of its block 2");
    refuse(&t, "ell(1)", SC_I32, "use ell(");
    refuse(&t, "dense(0), singleton(1)", SC_I32, "singleton");
    ((int32_t *)(uintptr_t)t.view.level[1].crd)[5] = 6;
    refuse(&t, "csr", SC_I32, "out of range");
    refuse(&t, "csf", SC_I32, "out of range");
    pool_free(&m);
    random_coo(&t, tall, 2, 5, SC_F32, SC_I64, &m);
    refuse(&t, "coo", SC_I32, "use i64");
    pool_free(&m);
}

/* Values that a perm leads to: here the reverse of a copy. */
static void test_through(void)
{
    static const int64_t dim[2] = {12, 18};
    for (int a = 0; a < SC_LEN(formats2); a++) {
        pool source = {0}, first = {0}, second = {0};
        sc_tensor coo, from = {0}, to = {0};
        sc_err e = {0};
        random_coo(&coo, dim, 2, 50, SC_F32, SC_I64, &source);
        convert_one(&coo, &from, "csr", SC_I64, &first);
        int64_t n = from.view.nval, place[50], *perm;
        float val[50];
        for (int64_t i = 0; i < n; i++) val[place[i] = n - 1 - i] = ((float *)from.view.val)[i];
        sc_tensor through = from;
        through.view.val = val;
        through.view.perm = place;
        to.itype = SC_I32;
        sc_format_parse(&to.format, formats2[a], 2, &e);
        CHECK(!sc_convert(&through, &to, pool_alloc, &second, &perm, &e), "%s", e.msg);
        dict x = unpack(&from, true), y = unpack(&to, true);
        CHECK(same(&x, &y), "csr -> %s through a perm", formats2[a]);
        check_perm(&through, &to, perm);
        free(x.e);
        free(y.e);
        pool_free(&source);
        pool_free(&first);
        pool_free(&second);
    }
}

/* A stride of the whole square: every entry once, in no order; with 7 columns more than 8 a row. */
static void shuffled(sc_tensor *t, const int64_t *dim, const char *text, pool *m)
{
    int64_t n = dim[0] * dim[1];
    sc_err e = {0};
    random_coo(t, dim, 2, n, SC_F32, SC_I64, m);
    CHECK(!sc_format_parse(&t->format, text, 2, &e), "%s", e.msg);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i * 11 % n;
        value_set((void *)(uintptr_t)t->view.level[0].crd, SC_I64, i, (double)(k / dim[1]));
        value_set((void *)(uintptr_t)t->view.level[1].crd, SC_I64, i, (double)(k % dim[1]));
    }
}

/* All entries distinct: perm is asked for and given, also where "coo" promises an order that is not there. */
static void test_shuffled(void)
{
    static const int64_t dim[][2] = {{13, 7}, {7, 13}, {40, 3}, {12, 18}};
    static const char *const names[] = {"compressed(0, nonunique), singleton(1, nonunique)", "coo"};
    for (int k = 0; k < SC_LEN(dim); k++)
        for (int from = 0; from < 2; from++)
            for (int side = 0; side < 2; side++) {
                pool source = {0}, m = {0};
                sc_tensor coo, to = {.itype = any_itype()};
                sc_err e = {0};
                int64_t *perm;
                shuffled(&coo, dim[k], names[from], &source);
                sc_format_parse(&to.format, side ? "csc" : "csr", 2, &e);
                CHECK(!sc_convert(&coo, &to, pool_alloc, &m, &perm, &e) && perm, "%s", e.msg);
                CHECK(!sc_validate(&to, &e), "%s", e.msg);
                check_perm(&coo, &to, perm);
                pool_free(&source);
                pool_free(&m);
            }
}

/* Columns and values that stay as they are belong to both; but not of another index type, and not borrowed ones. */
static void test_sharing(void)
{
    static const int64_t dim[2] = {12, 18};
    static const char *const names[] = {"csr", "coo"};
    for (int k = 0; k < 2; k++)
        for (int wide = 0; wide < 2; wide++) {
            pool source = {0}, first = {0}, second = {0}, third = {0};
            sc_tensor any, from = {0}, to = {0}, lent = {0};
            random_coo(&any, dim, 2, 50, SC_F32, SC_I32, &source);
            convert_one(&any, &from, names[k], SC_I32, &first);
            convert_one(&from, &to, names[!k], wide ? SC_I64 : SC_I32, &second);
            CHECK(to.view.val == from.view.val, "values copied");
            CHECK((to.view.level[1].crd == from.view.level[1].crd) == !wide, "columns, wide %d", wide);
            int32_t place[50];
            for (int i = 0; i < 50; i++) place[i] = i;
            from.view.perm = place;
            sc_err e = {0};
            lent.itype = SC_I32;
            sc_format_parse(&lent.format, names[!k], 2, &e);
            CHECK(!sc_convert(&from, &lent, pool_alloc, &third, NULL, &e), "%s", e.msg);
            CHECK(lent.view.val == third.p[third.n - 1], "values of a source that reads through a perm");
            pool_free(&source);
            pool_free(&first);
            pool_free(&second);
            pool_free(&third);
        }
}

/* Strided sources: transposed, padded rows, with not-a-number kept. */
static void test_strided(void)
{
    static const int64_t dim[2] = {130, 66};
    float *data = malloc(sizeof *data * 132 * 140);
    for (int i = 0; i < 132 * 140; i++) data[i] = (float)(below(5) ? 0 : below(9));
    static const int64_t strides[][2] = {{66, 1}, {1, 130}, {140, 2}, {1, 140}, {0, 1}, {7, 3}};
    static const char *const to_formats[] = {"csr", "csc", "coo", "bsr(2,3)", "dense", "dense(1), dense(0)",
                                             "dcsc"};
    for (int s = 0; s < SC_LEN(strides); s++)
        for (int f = 0; f < SC_LEN(to_formats); f++) {
            pool m = {0};
            sc_err e = {0};
            sc_tensor t = {.dtype = SC_F32, .view = {.val = data, .dim = {dim[0], dim[1]}}}, to = {0};
            sc_format_parse(&t.format, "dense", 2, &e);
            memcpy(t.view.stride, strides[s], sizeof strides[s]);
            convert_one(&t, &to, to_formats[f], any_itype(), &m);
            pool_free(&m);
        }
    free(data);
    float nan[4] = {0, __builtin_nanf(""), -0.0f, 2};
    sc_tensor t = {.dtype = SC_F32, .view = {.val = nan, .dim = {2, 2}, .stride = {2, 1}}},
              to = {.itype = SC_I32};
    sc_err e = {0};
    pool m = {0};
    sc_format_parse(&t.format, "dense", 2, &e);
    sc_format_parse(&to.format, "csr", 2, &e);
    CHECK(!sc_convert(&t, &to, pool_alloc, &m, NULL, &e) && to.view.nval == 2,
          "expected NaN and 2 to be kept: %s", e.msg);
    pool_free(&m);
}

/* Every allocation of the library, then every one of the caller, fails in turn. */
static void test_failures(void)
{
    static const int64_t dim[2] = {12, 18};
    for (int a = 0; a < SC_LEN(formats2); a++)
        for (int side = 0; side < 2; side++)
            for (int n = 1, rc = 1; rc && n < 100; n++) {
                pool source = {0}, m = {0};
                sc_err e = {0};
                sc_tensor coo, to = {.itype = SC_I64};
                random_coo(&coo, dim, 2, 50, SC_F32, SC_I32, &source);
                sc_format_parse(&to.format, formats2[a], 2, &e);
                sc_work_clear();
                if (side)
                    m.fail_at = n;
                else
                    sc_fail_alloc(n, 1);
                rc = sc_convert(&coo, &to, pool_alloc, &m, NULL, &e);
                sc_fail_alloc(0, 0);
                CHECK(!rc || rc == SC_ENOMEM, "%s, failure %d: code %d, %s", formats2[a], n, rc, e.msg);
                CHECK(n < 99, "%s never succeeded", formats2[a]);
                pool_free(&source);
                pool_free(&m);
            }
}

/* ---- memory that is kept: none in builds with sanitizers ---- */
static void test_kept_memory(void)
{
#if !defined(SC_PLAIN_MEMORY)
    const size_t page = (size_t)2 << 20;
    void *block[24];
    sc_work_clear();
    for (size_t size = 1000; size < 8 * page; size *= 3) {
        char *a = sc_work_take(size), *b = sc_work_take(size);
        CHECK(a && b && a != b && !((uintptr_t)a & 63), "blocks of %zu bytes", size);
        a[0] = b[size - 1] = 1;
        sc_work_give(a);
        CHECK(sc_work_take(size) == a, "%zu bytes: expected what was given back", size);
        sc_work_give(a);
        sc_work_give(b);
    }
    CHECK(sc_work_clear() > 0 && sc_work_clear() == 0, "expected nothing to be kept");
    sc_work_give(block[0] = sc_work_take(4 * page));
    CHECK(sc_work_take(4 * page - page / 2) == block[0], "expected a block of the same pages");
    sc_work_give(block[0]);
    CHECK((block[1] = sc_work_take(3 * page)) == block[0], "expected a block a quarter larger");
    sc_work_give(block[1]);
    block[1] = sc_work_take(3 * page - 1);
    sc_work_give(block[0] = sc_work_take(4 * page));
    CHECK((block[2] = sc_work_take(2 * page)) != block[0], "half of a block is no fit");
    sc_work_give(block[1]);
    sc_work_give(block[2]);
    for (int i = 0; i < SC_LEN(block); i++) block[i] = sc_work_take((size_t)(20 + i) * page);
    for (int i = 0; i < SC_LEN(block); i++) sc_work_give(block[i]);
    int64_t kept = sc_work_clear();
    CHECK(kept > 0 && kept <= (int64_t)256 << 20, "%lld bytes were kept", (long long)kept);
    sc_work_give(sc_work_take((size_t)300 << 20));
    CHECK(sc_work_clear() == 0, "expected a block beyond the bound to be freed");
#endif
    CHECK(!sc_work_take(SIZE_MAX - 100), "expected no memory");
}

/* ---- validation ---- */
static void invalid(sc_tensor *t, const char *part)
{
    sc_err e = {0};
    expect(sc_validate(t, &e), SC_EVALUE, &e, part);
}

static void test_validate_csr(void)
{
    int32_t pos[] = {0, 2, 2, 4}, crd[] = {0, 3, 1, 2};
    float val[4] = {1, 2, 3, 4};
    sc_err e = {0};
    sc_tensor t = {.dtype = SC_F32, .itype = SC_I32, .view = {.val = val, .dim = {3, 4}, .nval = 4}};
    sc_format_parse(&t.format, "csr", 2, &e);
    t.view.level[0] = (sc_level){.size = 3, .npos = 3};
    t.view.level[1] = (sc_level){.pos = pos, .crd = crd, .size = 4, .npos = 4};
    CHECK(!sc_validate(&t, &e), "%s", e.msg);
    pos[1] = 3;
    invalid(&t, "level 1 (compressed): pos[1] = 3 exceeds pos[2] = 2");
    pos[1] = 2, pos[0] = 1;
    invalid(&t, "pos[0] = 1, expected 0");
    pos[0] = 0, pos[3] = 5;
    invalid(&t, "pos[3] = 5, expected 4");
    pos[3] = 4, crd[1] = 4;
    invalid(&t, "crd[1] = 4 is out of range, expected 0 <= coordinate < 4");
    crd[1] = -1;
    invalid(&t, "crd[1] = -1 is out of range");
    crd[1] = 0;
    invalid(&t, "crd[1] = 0 follows 0");
    crd[1] = 3, t.view.nval = 3;
    invalid(&t, "3 values, expected 4");
    t.view.nval = 4, t.view.level[0].npos = 4;
    invalid(&t, "level 0 (dense): 4 positions stored, expected 3");
    t.view.level[0].npos = 3, t.view.level[1].crd = NULL;
    invalid(&t, "expected a crd array of 4 entries");
    t.view.level[1].crd = crd, t.view.level[1].pos = NULL;
    invalid(&t, "expected a pos array of 4 entries");
    t.view.level[1].pos = pos, t.view.dim[0] = -1;
    invalid(&t, "dimension 0");
}

static void test_validate_others(void)
{
    int64_t pos[] = {0, 4}, row[] = {0, 0, 1, 1}, col[] = {0, 2, 1, 2};
    double val[6] = {0};
    sc_err e = {0};
    sc_tensor t = {.dtype = SC_F64, .itype = SC_I64, .view = {.val = val, .dim = {2, 3}, .nval = 4}};
    sc_format_parse(&t.format, "coo", 2, &e);
    t.view.level[0] = (sc_level){.pos = pos, .crd = row, .size = 2, .npos = 4};
    t.view.level[1] = (sc_level){.crd = col, .size = 3, .npos = 4};
    CHECK(!sc_validate(&t, &e), "%s", e.msg);
    col[3] = 1;
    invalid(&t, "level 1 (singleton): crd[3] = 1 follows 1");
    t.format.level[1].unique = 0;
    CHECK(!sc_validate(&t, &e), "%s", e.msg);
    col[3] = 0;
    invalid(&t, "non-decreasing");
    col[3] = 2, row[2] = 0, row[1] = 1;
    invalid(&t, "level 0 (compressed): crd[2] = 0 follows 1");
    t.view.level[1].npos = 3;
    row[1] = 0, row[2] = 1;
    invalid(&t, "level 1 (singleton): 3 positions stored, expected 4");

    int64_t slots[] = {0, 2, -1, 1, -1, -1};
    sc_format_parse(&t.format, "ell(3)", 2, &e);
    t.view.level[0] = (sc_level){.size = 2, .npos = 2};
    t.view.level[1] = (sc_level){.crd = slots, .size = 3, .npos = 6};
    t.view.nval = 6;
    CHECK(!sc_validate(&t, &e), "%s", e.msg);
    slots[1] = -1, slots[2] = 2;
    invalid(&t, "padding (-1) only at the end");
    slots[1] = 0;
    invalid(&t, "crd[1] = 0 follows 0");
    slots[1] = 1, slots[3] = -2;
    invalid(&t, "out of range");
    slots[3] = 1, t.view.level[1].size = 2;
    invalid(&t, "size 2, expected 3");
    sc_format_parse(&t.format, "bsr(2,2)", 2, &e);
    invalid(&t, "level 0 (dense): size 2, expected 1");
}

/* Random damage: never a crash, and what passes is unchanged or harmless. */
static void test_validate_damage(void)
{
    static const int64_t dim[2] = {12, 18};
    for (int round = 0; round < 600; round++) {
        pool source = {0}, m = {0};
        sc_tensor coo, t = {.itype = any_itype()};
        sc_err e = {0};
        random_coo(&coo, dim, 2, 60, SC_F32, SC_I32, &source);
        sc_format_parse(&t.format, formats2[below(SC_LEN(formats2))], 2, &e);
        CHECK(!sc_convert(&coo, &t, pool_alloc, &m, NULL, &e), "%s", e.msg);
        sc_level *v = &t.view.level[below(t.format.nlevel)];
        bool is_pos = v->pos && below(2);
        void *array = (void *)(uintptr_t)(is_pos ? v->pos : v->crd);
        if (array && v->npos)
            value_set(array, t.itype, is_pos ? below(2) : below(v->npos), (double)(below(40) - 8));
        else
            v->npos += below(3) - 1;
        if (!sc_validate(&t, &e) && !all_dense(&t.format)) {
            dict d = unpack(&t, false);
            free(d.e);
        }
        pool_free(&source);
        pool_free(&m);
    }
}

int main(void)
{
    test_formats();
    test_kept_memory();
    for (team_size = 1; team_size <= 4; team_size++) {
        if (team_size == 2) sc_team_install(&toy_team);
        test_conversions();
        test_wide();
        test_refusals();
        test_strided();
        test_through();
        test_shuffled();
        test_sharing();
        test_validate_csr();
        test_validate_others();
        test_validate_damage();
        if (team_size < 3) test_failures();
    }
    printf(failures ? "%d FAILED\n" : "ok\n", failures);
    return failures != 0;
}
