/* format.c: formats as text and back.
 *
 * A format is a list of levels, each over a dimension or over one half of a
 * blocked dimension (i/b, i%b). Names such as csr are only short for such a
 * list: `alias` builds the list of a name, and printing asks which name builds
 * the list at hand. So a name means one thing, in both directions.
 *
 *     format = name | name "(" number {"," number} ")" | level {"," level}
 *     level  = kind "(" dim [("/" | "%") block] {"," (width | window | "nonunique" | "unique")} ")"
 *     kind   = "dense" | "compressed" | "singleton" | "ell" | "diagonals" | "bitmask" | "planar" | "sell"
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base.h"

const sc_kind sc_kinds[SC_NKIND] = {
    [SC_DENSE] = {.name = "dense"},
    [SC_COMPRESSED] = {.name = "compressed", .crd = true, .pos = true, .repeats = true},
    [SC_SINGLETON] = {.name = "singleton", .crd = true, .one = true, .repeats = true},
    [SC_ELL] = {.name = "ell", .crd = true, .padded = true},
    [SC_DIAGONALS] = {.name = "diagonals", .crd = true, .padded = true, .sliced = true},
    [SC_BITMASK] = {.name = "bitmask", .crd = true, .words = true},
    [SC_PLANAR] = {.name = "planar", .planar = true},
    [SC_SELL] = {.name = "sell", .crd = true, .padded = true, .sliced = true, .sorted = true},
};

/* ---- names ---- */
static void put(sc_format *f, sc_level_kind kind, int dim, bool unique)
{ f->level[f->nlevel++] = (sc_levelspec){.kind = (uint8_t)kind, .unique = unique, .dim = (uint8_t)dim}; }

static void put_part(sc_format *f, sc_level_kind kind, int dim, sc_part part, int block)
{
    put(f, kind, dim, true);
    f->level[f->nlevel - 1].part = (uint8_t)part;
    f->level[f->nlevel - 1].block = block;
}

/* bsr and bsc differ in the order of blocks; inside, a block is row-major. */
static void put_blocks(sc_format *f, int outer, int inner, const int *block)
{
    put_part(f, SC_DENSE, outer, SC_DIV, block[outer]);
    put_part(f, SC_COMPRESSED, inner, SC_DIV, block[inner]);
    put_part(f, SC_DENSE, 0, SC_MOD, block[0]);
    put_part(f, SC_DENSE, 1, SC_MOD, block[1]);
}

static const struct {
    const char *name;
    int narg, least, most; /* numbers in parentheses; dimensions that the name exists for */
} names[] = {{"dense", 0, 0, SC_MAXDIM}, {"coo", 0, 1, SC_MAXDIM}, {"csr", 0, 2, SC_MAXDIM},
             {"csc", 0, 2, SC_MAXDIM},   {"dcsr", 0, 2, 2},        {"dcsc", 0, 2, 2},
             {"csf", 0, 1, SC_MAXDIM},   {"bsr", 2, 2, 2},         {"bsc", 2, 2, 2},
             {"ell", 1, 2, SC_MAXDIM},   {"dia", 1, 2, SC_MAXDIM}, {"bitmask", 0, 2, SC_MAXDIM},
             {"sell", 2, 2, SC_MAXDIM}};
enum { N_DENSE, N_COO, N_CSR, N_CSC, N_DCSR, N_DCSC, N_CSF, N_BSR, N_BSC, N_ELL, N_DIA, N_BITMASK, N_SELL };

static void put_padded(sc_format *f, sc_level_kind kind, int width)
{
    put(f, kind, f->ndim - 1, true);
    f->level[f->nlevel - 1].width = width;
}

/* Leading dimensions of csr, csc, ell, dia and sell beyond the last two are a dense batch. */
static void alias(sc_format *f, int name, int n, const int *arg)
{
    memset(f, 0, sizeof *f);
    f->ndim = n;
    const bool rows = name == N_CSR || name == N_ELL || name == N_DIA || name == N_BITMASK || name == N_SELL;
    int batch = rows ? n - 1 : name == N_CSC ? n - 2 : name == N_DENSE ? n : 0;
    for (int d = 0; d < batch; d++) put(f, SC_DENSE, d, true);
    switch (name) {
    case N_COO:
        for (int d = 0; d < n; d++) put(f, d ? SC_SINGLETON : SC_COMPRESSED, d, d == n - 1);
        break;
    case N_CSR: put(f, SC_COMPRESSED, n - 1, true); break;
    case N_CSC: put(f, SC_DENSE, n - 1, true), put(f, SC_COMPRESSED, n - 2, true); break;
    case N_DCSC: put(f, SC_COMPRESSED, 1, true), put(f, SC_COMPRESSED, 0, true); break;
    case N_DCSR:
    case N_CSF:
        for (int d = 0; d < n; d++) put(f, SC_COMPRESSED, d, true);
        break;
    case N_BSR: put_blocks(f, 0, 1, arg); break;
    case N_BSC: put_blocks(f, 1, 0, arg); break;
    case N_ELL: put_padded(f, SC_ELL, arg[0]); break;
    case N_DIA: put_padded(f, SC_DIAGONALS, arg[0]); break;
    case N_BITMASK: put(f, SC_BITMASK, n - 1, true); break;
    case N_SELL: put_padded(f, SC_SELL, arg[0]), f->level[f->nlevel - 1].block = arg[1]; break;
    default: break;
    }
}

/* ---- reading ---- */
static int check(const sc_format *f, const char *text, sc_err *e);

typedef struct {
    const char *text, *p;
    sc_format *f;
    sc_err *e;
} reader;

static int fail(reader *r, const char *at, const char *expected)
{
    if (r->e && r->e->code == SC_OK) {
        sc_error(r->e, SC_EVALUE, "format \"%s\": expected %s at \"%s\"", r->text, expected, at);
        r->e->pos = (int)(at - r->text);
    }
    return SC_EVALUE;
}

static void space(reader *r)
{
    while (isspace((unsigned char)*r->p)) r->p++;
}

static bool accept(reader *r, char c)
{
    space(r);
    if (*r->p != c) return false;
    r->p++;
    return true;
}

static bool word(reader *r, const char *w)
{
    space(r);
    size_t n = strlen(w);
    if (strncmp(r->p, w, n) != 0 || isalnum((unsigned char)r->p[n]) || r->p[n] == '_') return false;
    r->p += n;
    return true;
}

/* A number from least to 2^31 - 1. */
static bool number(reader *r, int least, int *out)
{
    space(r);
    const char *p = r->p;
    int64_t v = 0;
    while (isdigit((unsigned char)*p) && v <= INT32_MAX) v = 10 * v + (*p++ - '0');
    if (p == r->p || v < least || v > INT32_MAX) return false;
    r->p = p;
    *out = (int)v;
    return true;
}

/* name | name "(" number {"," number} ")", the whole text. Says by *found whether it was one. */
static int read_name(reader *r, int ndim, bool *found)
{
    *found = false;
    for (int i = 0; i < SC_LEN(names); i++) {
        int arg[2] = {0, 0}, n = 0;
        r->p = r->text;
        if (!word(r, names[i].name)) continue;
        if (accept(r, '(')) do {
                if (n == 2 || !number(r, i == N_ELL ? 0 : 1, &arg[n])) return SC_OK;
                n++;
            } while (accept(r, ','));
        if (n && !accept(r, ')')) return SC_OK;
        space(r);
        bool level =
            i == N_DENSE || i == N_ELL || i == N_BITMASK || i == N_SELL; /* also the names of level kinds */
        if (*r->p && level) return SC_OK;
        if (*r->p) return fail(r, r->p, "the end");
        if (n != names[i].narg && level && n) return SC_OK;
        if (n != names[i].narg)
            return sc_error(r->e, SC_EVALUE, "format \"%s\": expected %s%s, got %d numbers", r->text,
                            names[i].name,
                            i == N_SELL          ? "(rows,window), of a slice and sorted together"
                            : names[i].narg == 2 ? "(rows,columns) of a block"
                            : i == N_DIA         ? "(rows) of a slice"
                            : names[i].narg      ? "(width)"
                                                 : " alone",
                            n);
        if (ndim < names[i].least || ndim > names[i].most)
            return sc_error(r->e, SC_EVALUE, "format \"%s\" is for tensors of %d%s dimensions, got one of %d",
                            r->text, names[i].least, names[i].most > names[i].least ? " or more" : "", ndim);
        alias(r->f, i, ndim, arg);
        *found = true;
        return check(r->f, r->text, r->e);
    }
    return SC_OK;
}

static int read_level(reader *r)
{
    sc_format *f = r->f;
    sc_levelspec s = {.unique = 1};
    int kind = -1, v = 0;
    space(r);
    const char *start = r->p;
    for (int k = 0; k < SC_NKIND && kind < 0; k++)
        if (word(r, sc_kinds[k].name)) kind = k;
    if (kind < 0)
        return fail(r, start,
                    "a format name, or a level dense(d), compressed(d), singleton(d), ell(d, width), "
                    "diagonals(d, rows), bitmask(d), planar(d%b) or sell(d, rows, window)");
    if (f->nlevel == SC_MAXLEVEL)
        return sc_error(r->e, SC_EVALUE, "format \"%s\": expected at most %d levels", r->text, SC_MAXLEVEL);
    const sc_kind *is = &sc_kinds[s.kind = (uint8_t)kind];
    if (!accept(r, '(')) return fail(r, r->p, "(");
    space(r);
    start = r->p;
    if (!number(r, 0, &v) || v >= f->ndim)
        return fail(r, start, "a dimension below the tensor's number of dimensions");
    s.dim = (uint8_t)v;
    s.part = accept(r, '/') ? SC_DIV : accept(r, '%') ? SC_MOD : SC_WHOLE;
    if (s.part != SC_WHOLE && !number(r, 1, &s.block)) return fail(r, r->p, "a block size of at least 1");
    bool width = false, window = !is->sorted;
    while (accept(r, ',')) {
        if (is->padded && !width && number(r, 0, &s.width))
            width = true;
        else if (width && !window && number(r, 1, &s.block))
            window = true;
        else if (is->repeats && word(r, "nonunique"))
            s.unique = 0;
        else if (!word(r, "unique"))
            return fail(r, r->p,
                        width && !window ? "the rows that are sorted together"
                        : is->sliced     ? "the rows of a slice"
                        : is->padded     ? "the width"
                                         : "unique or nonunique");
    }
    if ((is->padded && !width) || !window)
        return fail(r, r->p,
                    is->sorted
                        ? "a comma, the rows of a slice and those sorted together, sell(d, rows, window)"
                    : is->sliced ? "a comma and the rows of a slice, diagonals(d, rows)"
                                 : "a comma and the number of slots, ell(d, width)");
    if (!accept(r, ')')) return fail(r, r->p, ")");
    f->level[f->nlevel++] = s;
    return SC_OK;
}

/* ---- what makes a list of levels a format ---- */
static int check_dim(const sc_format *f, const char *text, int d, sc_err *e)
{
    int whole = 0, div = -1, mod = -1, n = 0;
    for (int l = 0; l < f->nlevel; l++) {
        const sc_levelspec *s = &f->level[l];
        if (s->dim != d) continue;
        n++;
        if (s->part == SC_WHOLE)
            whole++;
        else if (s->part == SC_DIV)
            div = l;
        else
            mod = l;
    }
    if (n == 1 && whole == 1) return SC_OK;
    if (n == 2 && div >= 0 && mod > div && f->level[div].block == f->level[mod].block) return SC_OK;
    return sc_error(e, SC_EVALUE,
                    "format \"%s\": expected dimension %d once, or as %d/b and later %d%%b with one b, got "
                    "it in %d levels%s",
                    text, d, d, d, n, n == 2 && div >= 0 && mod >= 0 ? " of unlike blocks or order" : "");
}

/* Slices are of the positions above; as these share diagonals, those of one row do not lie side by side. */
static int check_slices(const sc_format *f, const char *text, int l, sc_err *e)
{
    const sc_levelspec *s = &f->level[l];
    if (!sc_slices_fit(s))
        return sc_error(e, SC_EVALUE,
                        "format \"%s\": expected slices of 1, 2, 4, 8 or 16 rows, got %d; 16 is fastest",
                        text, s->width);
    if (l == 0 || l + 1 < f->nlevel || s->part != SC_WHOLE)
        return sc_error(e, SC_EVALUE,
                        "format \"%s\": expected %s(%d, ..) as the last level, of a whole dimension and "
                        "with a level of rows above; for example dense(0), %s",
                        text, sc_kind_of(s)->name, s->dim,
                        sc_kind_of(s)->sorted ? "sell(1, 16, 1024)" : "diagonals(1, 16)");
    if (!sc_window_fits(s))
        return sc_error(
            e, SC_EVALUE,
            "format \"%s\": expected a multiple of the %d rows of a slice up to %d as the rows that are "
            "sorted together, got %d",
            text, s->width, SC_WINDOW, s->block);
    return SC_OK;
}

static int check_words(const sc_format *f, const char *text, int l, sc_err *e)
{
    const sc_levelspec *s = &f->level[l];
    if (l && l + 1 == f->nlevel && s->part == SC_WHOLE) return SC_OK;
    return sc_error(
        e, SC_EVALUE,
        "format \"%s\": expected bitmask(%d) as the last level, of a whole dimension and with a level "
        "above; for example dense(0), bitmask(1)",
        text, s->dim);
}

static int check_planar(const sc_format *f, const char *text, int l, sc_err *e)
{
    const sc_levelspec *s = &f->level[l];
    bool fits = s->part == SC_MOD && l && sc_kind_of(s - 1)->pos && s[-1].unique && l + 1 < f->nlevel;
    for (int k = l + 1; k < f->nlevel; k++) fits &= f->level[k].kind == SC_DENSE;
    if (fits) return SC_OK;
    return sc_error(e, SC_EVALUE,
                    "format \"%s\": expected planar(%d%%b) right below a compressed level, and dense levels "
                    "below it; for example dense(0/4), compressed(1/4), planar(0%%4), dense(1%%4)",
                    text, s->dim);
}

static int check(const sc_format *f, const char *text, sc_err *e)
{
    for (int d = 0; d < f->ndim; d++) {
        int rc = check_dim(f, text, d, e);
        if (rc) return rc;
    }
    if (f->nlevel && sc_kind_of(&f->level[0])->one)
        return sc_error(
            e, SC_EVALUE,
            "format \"%s\": a singleton level has one coordinate for each position above it and cannot come "
            "first; use compressed(%d)",
            text, f->level[0].dim);
    for (int l = 0; l < f->nlevel; l++) {
        const sc_kind *is = sc_kind_of(&f->level[l]);
        const int rc = is->sliced   ? check_slices(f, text, l, e)
                       : is->words  ? check_words(f, text, l, e)
                       : is->planar ? check_planar(f, text, l, e)
                                    : SC_OK;
        if (rc) return rc;
    }
    return SC_OK;
}

int sc_format_parse(sc_format *f, const char *text, int ndim, sc_err *e)
{
    reader r = {.text = text, .p = text, .f = f, .e = e};
    bool found;
    if (ndim < 0 || ndim > SC_MAXDIM)
        return sc_error(e, SC_EVALUE, "expected a tensor of 0 to %d dimensions, got %d", SC_MAXDIM, ndim);
    int rc = read_name(&r, ndim, &found);
    if (rc || found) return rc;
    memset(f, 0, sizeof *f);
    f->ndim = ndim;
    r.p = text;
    do {
        if ((rc = read_level(&r))) return rc;
    } while (accept(&r, ','));
    space(&r);
    if (*r.p) return fail(&r, r.p, "a comma or the end");
    return check(f, text, e);
}

/* ---- printing ---- */
static void add(char *out, size_t size, size_t *n, const char *fmt, ...) SC_PRINTF(4, 5);
static void add(char *out, size_t size, size_t *n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int k = vsnprintf(*n < size ? out + *n : NULL, *n < size ? size - *n : 0, fmt, ap);
    va_end(ap);
    if (k > 0) *n += (size_t)k;
}

void sc_format_print_levels(const sc_format *f, char *out, size_t size)
{
    size_t n = 0;
    if (size) out[0] = 0;
    for (int l = 0; l < f->nlevel; l++) {
        const sc_levelspec *s = &f->level[l];
        add(out, size, &n, "%s%s(%d", l ? ", " : "", sc_kind_of(s)->name, s->dim);
        if (s->part != SC_WHOLE) add(out, size, &n, "%c%d", s->part == SC_DIV ? '/' : '%', s->block);
        if (sc_kind_of(s)->padded) add(out, size, &n, ", %d", s->width);
        if (sc_kind_of(s)->sorted) add(out, size, &n, ", %d", s->block);
        if (!s->unique) add(out, size, &n, ", nonunique");
        add(out, size, &n, ")");
    }
}

/* The numbers a name would have to carry to build f. */
static void arguments(const sc_format *f, int name, int *arg)
{
    arg[0] = arg[1] = 0;
    const bool padded = name == N_ELL || name == N_DIA || name == N_SELL;
    if (padded && f->nlevel) arg[0] = f->level[f->nlevel - 1].width;
    if (name == N_SELL && f->nlevel) arg[1] = f->level[f->nlevel - 1].block;
    for (int l = 0; l < f->nlevel; l++)
        if ((name == N_BSR || name == N_BSC) && f->level[l].dim < 2) arg[f->level[l].dim] = f->level[l].block;
}

void sc_format_print(const sc_format *f, char *out, size_t size)
{
    for (int i = 0; i < SC_LEN(names); i++) {
        sc_format g;
        int arg[2];
        if (f->ndim < names[i].least || f->ndim > names[i].most) continue;
        arguments(f, i, arg);
        alias(&g, i, f->ndim, arg);
        if (!sc_format_equal(f, &g)) continue;
        size_t n = 0;
        add(out, size, &n, "%s", names[i].name);
        if (names[i].narg == 1) add(out, size, &n, "(%d)", arg[0]);
        if (names[i].narg == 2) add(out, size, &n, "(%d,%d)", arg[0], arg[1]);
        return;
    }
    sc_format_print_levels(f, out, size);
}

/* ---- questions ---- */
bool sc_slices_fit(const sc_levelspec *s)
{ return s->width > 0 && s->width <= 16 && (s->width & (s->width - 1)) == 0; }

bool sc_window_fits(const sc_levelspec *s)
{
    return !sc_kind_of(s)->sorted ||
           (s->block >= s->width && s->block <= SC_WINDOW && s->block % s->width == 0);
}

bool sc_format_equal(const sc_format *a, const sc_format *b)
{
    if (a->ndim != b->ndim || a->nlevel != b->nlevel) return false;
    for (int l = 0; l < a->nlevel; l++) {
        const sc_levelspec *s = &a->level[l], *t = &b->level[l];
        if (s->kind != t->kind || s->unique != t->unique || s->dim != t->dim || s->part != t->part)
            return false;
        if (s->part != SC_WHOLE && s->block != t->block) return false;
        if (sc_kind_of(s)->padded && s->width != t->width) return false;
        if (sc_kind_of(s)->sorted && s->block != t->block) return false;
    }
    return true;
}

int sc_format_dense_tail(const sc_format *f)
{
    int l = f->nlevel;
    while (l > 0 && !sc_kind_of(&f->level[l - 1])->crd && f->level[l - 1].part == SC_WHOLE) l--;
    return f->nlevel - l;
}

bool sc_format_is_dense(const sc_format *f) { return sc_format_dense_tail(f) == f->nlevel; }

/* Lists of coordinates are told apart by their last level. */
bool sc_format_is_unique(const sc_format *f)
{
    for (int l = 0; l < f->nlevel; l++) {
        const bool listed = l + 1 < f->nlevel && sc_kind_of(&f->level[l + 1])->one;
        if (sc_kind_of(&f->level[l])->crd && !f->level[l].unique && !listed) return false;
    }
    return true;
}

bool sc_format_has_twins(const sc_format *f)
{
    bool fits = !sc_format_is_dense(f) && sc_format_is_unique(f);
    for (int l = 0; l < f->nlevel; l++) fits &= !sc_kind_of(&f->level[l])->padded;
    return fits;
}
