/* file.c: .sc files, the form in which tests and tools hand us a whole problem.
 *
 *   file := { line }
 *   line := "in" NAME ":" dtype format [itype] "(" [N { "," N }] ")" ["unit" N | "apart"] ["perm"] [counts]
 *         | "out" NAME ":" ( "like" NAME | dtype format [itype] )
 *         | "fold" NAME | "nofold" | "skip" | "width" N | "dots"
 *         | "nest" "{" nest "}"                        may span lines
 *         | "schedule" text                            schedule/text.c has the grammar
 *         | a line of the program
 *   counts := "positions" "(" N { "," N } ")" ["even"] ["skew" N]      those of sc_spec
 *   format := NAME ["(" .. ")"] | '"' levels '"'
 *
 * A result "like" an operand is computed at the entries of that alone.
 *
 * A `#` at the start of a line, or with a space after it, starts a comment.
 * Lines come in any order. `fold k` makes the extent of k a constant and stops
 * the automatic choice, as nofold does. The program is parsed out of a copy in
 * which everything else is blank, so that every message points into the file. */
#include <string.h>

#include "schedule/schedule.h"
#include "settle.h"

typedef struct {
    Prog *p;
    char *text;    /* the file without comments */
    char *program; /* of the same length: lines of the program, the rest blank */
    int out[MAXFILELINE], nout;
    int fold[MAXFILELINE], nfold;
    int nest; /* offset behind the brace, or -1 */
} File;

static void line_end(Lexer *lx, int start)
{
    if (lx->kind == K_END || memchr(lx->text + start, '\n', (size_t)(lx->pos - start))) return;
    lex_fail(lx, "the end of the line");
}

static sc_dtype parse_dtype(Lexer *lx)
{
    for (int t = 0; t < SC_NDTYPE; t++)
        if (lex_accept(lx, sc_dtype_name((sc_dtype)t))) return (sc_dtype)t;
    lex_fail(lx, "a type: bool i16 i32 i64 f32 f64");
}

static void parse_format(Prog *p, sc_format *f, const char *text, int ndim, int pos)
{
    sc_err err = {0};
    if (sc_format_parse(f, text, ndim, &err)) fail(p, err.code, pos, "%s", err.msg);
}

static int parse_dims(Lexer *lx, int64_t *dim)
{
    int n = 0;
    lex_expect(lx, "(", "before the extents");
    if (lex_accept(lx, ")")) return 0;
    do {
        if (n == SC_MAXDIM) fail(lx->prog, SC_ENOTIMPL, lx->pos, "expected at most %d dimensions", SC_MAXDIM);
        dim[n++] = lex_int(lx, "the extent of a dimension");
    } while (lex_accept(lx, ","));
    lex_expect(lx, ")", "or ',' after an extent");
    return n;
}

/* The operand in front that the one being declared has the structure of, counted from 1. */
static int8_t parse_twin(File *f, Lexer *lx, const sc_spec *spec, const int64_t *dim)
{
    const int pos = lx->pos;
    const char *name = lex_name(lx, "an operand in front");
    const Tensor *t = prog_tensor(f->p, name);
    bool same = t && !t->perm && t->itype == spec->itype && sc_format_equal(&t->format, &spec->format) &&
                sc_format_has_twins(&spec->format);
    for (int d = 0; same && d < t->ndim; d++) same = t->extent[d] == dim[d];
    if (!same)
        fail(f->p, SC_EVALUE, pos,
             "expected an operand in front of this shape, format and index type, whose coordinates do not "
             "repeat");
    return (int8_t)(1 + (t->twin ? t->twin - 1 : t->arg));
}

/* "positions" "(" N { "," N } ")" ["even"] ["skew" N]: what is counted of an operand's levels and rows. */
static void parse_counts(Lexer *lx, sc_spec *spec)
{
    int64_t n[SC_MAXDIM];
    const int pos = lx->pos;
    if (!lex_accept(lx, "positions")) return;
    if (parse_dims(lx, n) != spec->format.nlevel)
        fail(lx->prog, SC_EVALUE, pos, "expected a number for each of the %d levels", spec->format.nlevel);
    for (int k = 0; k < spec->format.nlevel; k++) spec->positions[k] = (uint8_t)sc_log2_up(n[k]);
    spec->even = lex_accept(lx, "even");
    if (lex_accept(lx, "skew")) spec->skew = (uint8_t)sc_min(lex_int(lx, "the skew of the rows"), 64);
}

/* "in" NAME ":" dtype format [itype] "(" dims ")" ["unit" N | "apart"] ["perm"] ["like" NAME] [counts] */
static void parse_in(File *f, int at)
{
    Lexer lx;
    sc_spec spec = {.itype = SC_I32};
    int64_t dim[SC_MAXDIM];
    lex_open(&lx, f->p, f->text, at);
    int start = lx.pos;
    const char *name = lex_name(&lx, "the name of the operand");
    if (strlen(name) >= sizeof spec.name) fail(f->p, SC_EVALUE, start, "the name %.40s is too long", name);
    memcpy(spec.name, name, strlen(name) + 1);
    lex_expect(&lx, ":", "after the name of the operand");
    spec.dtype = parse_dtype(&lx);
    const int pos = lx.pos;
    const char *format = lex_format(&lx);
    if (lx.kind == K_NAME) spec.itype = parse_dtype(&lx);
    const int ndim = parse_dims(&lx, dim);
    parse_format(f->p, &spec.format, format, ndim, pos);
    spec.unit = sc_format_is_dense(&spec.format) ? ndim - 1 : -1;
    const int perm = lx.pos;
    if (lex_accept(&lx, "perm")) spec.perm = true;
    if (spec.perm && sc_format_is_dense(&spec.format))
        fail(f->p, SC_EVALUE, perm, "%s is dense: perm goes with an operand that stores entries", name);
    if (lex_accept(&lx, "like")) spec.twin = parse_twin(f, &lx, &spec, dim);
    if (lex_accept(&lx, "unit")) spec.unit = (int)sc_min(lex_int(&lx, "the dimension of stride 1"), ndim - 1);
    if (lex_accept(&lx, "apart")) spec.unit = -1;
    parse_counts(&lx, &spec);
    line_end(&lx, start);
    prog_declare(f->p, &spec, dim);
}

/* "out" NAME ":" ( "like" NAME | dtype format [itype] ) */
static void parse_out(File *f, int at)
{
    Lexer lx;
    lex_open(&lx, f->p, f->text, at);
    int start = lx.pos;
    const char *name = lex_name(&lx, "the name of a result");
    Tensor *t = prog_tensor(f->p, name);
    if (!t || t->role != T_OUT) fail(f->p, SC_EVALUE, start, "%s is no result of the program", name);
    lex_expect(&lx, ":", "after the name of the result");
    const int r = t->arg - f->p->nin;
    if (lex_accept(&lx, "like")) {
        int pos = lx.pos;
        const Tensor *like = prog_tensor(f->p, lex_name(&lx, "an operand"));
        if (!like || like->role != T_IN) fail(f->p, SC_EVALUE, pos, "expected the name of an operand");
        f->p->ask_like[r] = (int8_t)(like->arg + 1);
    } else {
        t->dtype = parse_dtype(&lx);
        int pos = lx.pos;
        parse_format(f->p, &f->p->ask[r], lex_format(&lx), t->ndim, pos);
        if (lx.kind == K_NAME && !memchr(f->text + pos, '\n', (size_t)(lx.pos - pos)))
            t->itype = parse_dtype(&lx);
    }
    line_end(&lx, start);
}

static void parse_fold(File *f, int at)
{
    Lexer lx;
    lex_open(&lx, f->p, f->text, at);
    int start = lx.pos, v = prog_var(f->p, lex_name(&lx, "an index"), false);
    if (v < 0) fail(f->p, SC_EVALUE, start, "expected an index of the program after fold");
    f->p->var[v].fold = true;
    line_end(&lx, start);
}

static void parse_width(File *f, int at)
{
    Lexer lx;
    lex_open(&lx, f->p, f->text, at);
    int start = lx.pos;
    int64_t n = lex_int(&lx, "the bytes of a vector");
    if (n != 16 && n != 32 && n != 64) fail(f->p, SC_EVALUE, start, "vectors have 16, 32 or 64 bytes");
    f->p->vector_bytes = (int)n;
    line_end(&lx, start);
}

static void remember(File *f, int *list, int *n, int at)
{
    if (*n == MAXFILELINE) fail(f->p, SC_EVALUE, at, "expected at most %d such lines", MAXFILELINE);
    list[(*n)++] = at;
}

static bool name_byte(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/* The offset behind `word` when the line at offset `at` starts with it and what it needs follows: a letter
 * ('a'), a digit ('0'), the end of the line ('\n') or the very character; else -1. */
static int starts(const File *f, int at, const char *word, char next)
{
    const char *s = f->text + at;
    s += strspn(s, " \t");
    if (strncmp(s, word, strlen(word)) != 0) return -1;
    s += strlen(word);
    const char *after = s + strspn(s, " \t\r");
    const bool digit = *after >= '0' && *after <= '9';
    const bool fits = next == 'a'    ? name_byte(*after) && after > s
                      : next == '0'  ? digit && after > s
                      : next == '\n' ? *after == '\n' || !*after
                                     : *after == next;
    return fits ? (int)(after - f->text) : -1;
}

/* The offset behind the brace that closes the one at `at`. */
static int close_brace(const File *f, int at)
{
    int depth = 0;
    for (; f->text[at]; at++) {
        depth += f->text[at] == '{' ? 1 : f->text[at] == '}' ? -1 : 0;
        if (!depth) return at + 1;
    }
    return at;
}

/* Reads the line at `at`, or the nest that starts there; returns where the next starts. */
static int parse_line(File *f, int at)
{
    int end = at + (int)strcspn(f->text + at, "\n"), k;
    if ((k = starts(f, at, "in", 'a')) >= 0) {
        parse_in(f, k);
    } else if ((k = starts(f, at, "out", 'a')) >= 0) {
        remember(f, f->out, &f->nout, k);
    } else if ((k = starts(f, at, "fold", 'a')) >= 0) {
        remember(f, f->fold, &f->nfold, k);
        f->p->nofold = true;
    } else if (starts(f, at, "nofold", '\n') >= 0) {
        f->p->nofold = true;
    } else if (starts(f, at, "skip", '\n') >= 0) {
        f->p->skip = true;
    } else if ((k = starts(f, at, "width", '0')) >= 0) {
        parse_width(f, k);
    } else if (starts(f, at, "dots", '\n') >= 0) {
        f->p->dots = true;
    } else if ((k = starts(f, at, "schedule", 'a')) >= 0) {
        f->p->wishes = sc_arena_printf(&f->p->arena, "%.*s", end - k, f->text + k);
    } else if ((k = starts(f, at, "nest", '{')) >= 0) {
        if (f->nest >= 0) fail(f->p, SC_EVALUE, k, "a file has at most one nest");
        f->nest = k + 1;
        end = close_brace(f, k);
    } else {
        memcpy(f->program + at, f->text + at, (size_t)(end - at));
    }
    return end + (f->text[end] == '\n');
}

static void blank_comments(char *s)
{
    for (bool start = true; *s; s++) {
        if (*s == '#' && (start || s[1] == ' '))
            while (*s && *s != '\n') *s++ = ' ';
        if (!*s) return;
        start = *s == '\n' || (start && (*s == ' ' || *s == '\t'));
    }
}

void file_parse(Prog *p, const char *text)
{
    const size_t n = strlen(text);
    File f = {.p = p, .nest = -1};
    p->source = sc_arena_copy(&p->arena, text, n + 1);
    f.text = sc_arena_copy(&p->arena, text, n + 1);
    f.program = prog_bytes(p, n + 1);
    blank_comments(f.text);
    for (size_t i = 0; i < n; i++) f.program[i] = f.text[i] == '\n' ? '\n' : ' ';
    for (int at = 0; f.text[at];) at = parse_line(&f, at);
    parse_program(p, f.program);
    for (int k = 0; k < f.nout; k++) parse_out(&f, f.out[k]);
    for (int k = 0; k < f.nfold; k++) parse_fold(&f, f.fold[k]);
    if (f.nest < 0) return;
    int end;
    p->draft.nest = nest_parse(p, f.text, f.nest, &end);
    nest_twins(p, p->draft.nest);
    if (f.text[end] != '}') fail(p, SC_EVALUE, end, "expected '}' at the end of the nest");
}
