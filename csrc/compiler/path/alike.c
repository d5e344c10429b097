/* alike.c: requests that say the same in other names, as the steps of a chain do: they are costed once and share a
 * program and its kernels. Operands become A, B, .., indices i, j, .., results out, out_1, .., in the order in which they
 * are met. */
#include <stdio.h>
#include <string.h>

#include "path.h"

typedef struct {
    const char *s;
    int n;
} Token;
typedef struct {
    const sc_request *request;
    Token index[SC_MAXVAR], result[SC_MAXOP];
    int nindex, nresult;
} Renamed;

static bool is_word(const Token *w, const char *name)
{ return !strncmp(w->s, name, (size_t)w->n) && !name[w->n]; }

/* Its place among words, where it is added if it may be; or -1. */
static int place_of(Token *of, int *n, int most, Token w, bool add)
{
    for (int k = 0; k < *n; k++)
        if (of[k].n == w.n && !memcmp(of[k].s, w.s, (size_t)w.n)) return k;
    if (!add || *n == most) return -1;
    of[*n] = w;
    return (*n)++;
}

/* Of the 32 that a request has at most. */
static void print_operand(char *name, size_t size, int k)
{
    if (k < 26)
        snprintf(name, size, "%c", 'A' + k);
    else
        snprintf(name, size, "A%d", k);
}

/* An index inside of brackets; outside an operand, a result, or what has the same name everywhere. */
static void print_word(Renamed *x, Token w, bool inside, bool begins, sc_text *out)
{
    const bool function = w.s[w.n] == '(';
    if (inside) return sc_text_add(out, "%c", 'i' + place_of(x->index, &x->nindex, SC_MAXVAR, w, true));
    for (int k = 0; k < x->request->nin && !function; k++) {
        char name[sizeof x->request->in[k].name];
        if (!is_word(&w, x->request->in[k].name)) continue;
        print_operand(name, sizeof name, k);
        return sc_text_add(out, "%s", name);
    }
    const int result = function ? -1 : place_of(x->result, &x->nresult, SC_MAXOP, w, begins);
    if (result > 0)
        sc_text_add(out, "out_%d", result);
    else
        sc_text_addn(out, result ? w.s : "out", result ? (size_t)w.n : 3);
}

void path_common(sc_request *rq, sc_text *out)
{
    Renamed x = {.request = rq};
    bool inside = false, begins = true, integer;
    for (const char *s = rq->text; *s;) {
        int n = lex_name_length(s);
        if (n) {
            print_word(&x, (Token){s, n}, inside, begins, out);
            begins = false;
        } else {
            n = lex_number_length(s, &integer); /* its exponent is no name */
            n += !n;
            inside = *s == '[' || (inside && *s != ']');
            begins |= *s == ';';
            sc_text_addn(out, s, (size_t)n);
        }
        s += n;
    }
    for (int k = 0; k < rq->nin; k++) {
        memset(rq->in[k].name, 0, sizeof rq->in[k].name); /* requests are compared as bytes */
        print_operand(rq->in[k].name, sizeof rq->in[k].name, k);
    }
    rq->text = out->s;
}
