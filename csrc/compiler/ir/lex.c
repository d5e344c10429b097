/* lex.c: one tokenizer for expressions, nests, statements and .sc files.
 *
 * The lexer stands on a current token; lex_next moves on. Tokens are names,
 * numbers and punctuation (the longest spelling wins), so keywords are just
 * names that a parser compares with lex_is. White space separates and is
 * otherwise nothing; a parser that cares about lines looks at the text between
 * two tokens. There are no comments: file.c blanks them, and in statements a
 * `#` is a token. Every failure shows the place. */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "ir.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void lex_open(Lexer *lx, Prog *p, const char *text, int at)
{
    *lx = (Lexer){.prog = p, .text = text, .at = at};
    lex_next(lx);
}

int lex_name_length(const char *s)
{
    int n = 0;
    while (is_letter(s[n]) || (n && is_digit(s[n]))) n++;
    return n;
}

/* digits ["." digits] ["e" ["+" | "-"] digits], or "." digits */
int lex_number_length(const char *s, bool *integer)
{
    int n = 0;
    if (!is_digit(*s) && !(*s == '.' && is_digit(s[1]))) return 0;
    while (is_digit(s[n])) n++;
    *integer = s[n] != '.';
    if (!*integer) n++;
    while (!*integer && is_digit(s[n])) n++;
    if (s[n] != 'e' && s[n] != 'E') return n;
    int k = n + 1 + (s[n + 1] == '+' || s[n + 1] == '-');
    if (!is_digit(s[k])) return n;
    *integer = false;
    while (is_digit(s[k])) k++;
    return k;
}

/* strtod reads the decimal point of the locale; our texts always have '.'. */
static double number_value(Lexer *lx, const char *s, int n)
{
    char buf[64];
    if (n >= SC_LEN(buf)) fail(lx->prog, SC_EVALUE, lx->pos, "a number of %d characters is too long", n);
    for (int i = 0; i < n; i++) buf[i] = s[i] == '.' ? localeconv()->decimal_point[0] : s[i];
    buf[n] = 0;
    double v = strtod(buf, NULL);
    if (v > 1.7976931348623157e308)
        fail(lx->prog, SC_EVALUE, lx->pos, "the number %.*s is too large for float64", n, s);
    if (lx->integer && v >= 0x1p53 && v <= 0x1p63 && strtoull(buf, NULL, 10) != (unsigned long long)v)
        fail(lx->prog, SC_EVALUE, lx->pos,
             "the number %.*s is rounded in float64, as constants are; give it as an operand, a scalar, or "
             "write %.*s.0",
             n, s, n, s);
    return v;
}

static int punct_length(const char *s)
{
    static const char *const two[] = {"<=", ">=", "==", "!=", "+=", "<<", ">>", "->"};
    for (int i = 0; i < SC_LEN(two); i++)
        if (strncmp(s, two[i], 2) == 0) return 2;
    return strchr("+-*/%<>=()[]{},;:#&|\"", s[0]) ? 1 : 0;
}

void lex_next(Lexer *lx)
{
    const char *s = lx->text;
    while (is_space(s[lx->at])) lx->at++;
    s += lx->pos = lx->at;
    lx->integer = false;
    if (!*s) {
        lx->kind = K_END;
        lx->len = 0;
    } else if ((lx->len = lex_name_length(s))) {
        lx->kind = K_NAME;
    } else if ((lx->len = lex_number_length(s, &lx->integer))) {
        lx->kind = K_NUMBER;
        lx->number = number_value(lx, s, lx->len);
    } else {
        lx->kind = K_PUNCT;
        lx->len = punct_length(s);
        if (!lx->len && *s == '.')
            fail(lx->prog, SC_EVALUE, lx->pos, "unexpected '.'; a number needs a digit after it");
        if (!lx->len)
            fail(lx->prog, SC_EVALUE, lx->pos,
                 "unexpected character; expected letters, digits, _ or one of + - * / < > = ! ( ) [ ] { } , "
                 "; : #");
    }
    lx->at += lx->len;
}

bool lex_is(const Lexer *lx, const char *spelling)
{ return (size_t)lx->len == strlen(spelling) && strncmp(lx->text + lx->pos, spelling, (size_t)lx->len) == 0; }

bool lex_accept(Lexer *lx, const char *spelling)
{
    if (lx->kind == K_END || !lex_is(lx, spelling)) return false;
    lex_next(lx);
    return true;
}

void lex_fail(Lexer *lx, const char *expected)
{
    if (lx->kind == K_END)
        fail(lx->prog, SC_EVALUE, lx->pos, "expected %s, got the end of the text", expected);
    int n = lx->len < 40 ? lx->len : 40;
    fail(lx->prog, SC_EVALUE, lx->pos, "expected %s, got '%.*s'", expected, n, lx->text + lx->pos);
}

void lex_expect(Lexer *lx, const char *spelling, const char *where)
{
    if (lex_accept(lx, spelling)) return;
    lex_fail(lx, sc_arena_printf(&lx->prog->arena, "'%s' %s", spelling, where));
}

char *lex_name(Lexer *lx, const char *what)
{
    if (lx->kind != K_NAME) lex_fail(lx, what);
    char *s = prog_bytes(lx->prog, (size_t)lx->len + 1);
    memcpy(s, lx->text + lx->pos, (size_t)lx->len);
    lex_next(lx);
    return s;
}

int64_t lex_int(Lexer *lx, const char *what)
{
    if (lx->kind != K_NUMBER || !lx->integer) lex_fail(lx, what);
    errno = 0;
    int64_t v = strtoll(lx->text + lx->pos, NULL, 10);
    if (errno)
        fail(lx->prog, SC_EVALUE, lx->pos, "the number %.*s is too large", lx->len, lx->text + lx->pos);
    lex_next(lx);
    return v;
}

const char *lex_format(Lexer *lx)
{
    const char *s = lx->text + lx->pos, *end;
    sc_arena *arena = &lx->prog->arena;
    if (lex_is(lx, "\"")) {
        end = strpbrk(++s, "\"\n");
        if (!end || *end != '"') lex_fail(lx, "a format in quotes that end on this line");
        lx->at = (int)(end + 1 - lx->text);
    } else {
        if (lx->kind != K_NAME) lex_fail(lx, "a format, such as csr or \"dense(0), compressed(1)\"");
        end = lx->text + lx->at;
        if (*end == '(') end += strcspn(end, ")\n") + 1;
        if (end[-1] == '\n' || !end[-1]) lex_fail(lx, "a format with ')' at its end");
        lx->at = (int)(end - lx->text);
    }
    lex_next(lx);
    return sc_arena_printf(arena, "%.*s", (int)(end - s), s);
}
