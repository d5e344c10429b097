/* print.c: expressions as text that parses back to the same tree.
 *
 * Parentheses are written exactly where the grammar of parse.c needs them: an
 * operator has a level, its left side may be of that level, its right side must
 * bind tighter. Summation made explicit by check.c is not printed: parsing and
 * checking the text again finds the same sums. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir.h"

enum { COMPARE, SUM, TERM, UNARY, PRIMARY };

static int level_of(const Expr *e)
{
    switch (e->op) {
    case O_LT:
    case O_LE:
    case O_GT:
    case O_GE:
    case O_EQ:
    case O_NE: return COMPARE;
    case O_ADD:
    case O_SUB: return SUM;
    case O_MUL:
    case O_DIV: return TERM;
    case O_NEG: return UNARY;
    case O_CONST: return e->c < 0 ? UNARY : PRIMARY;
    default: return PRIMARY;
    }
}

/* The shortest of 15 to 17 digits that reads back, with '.' in every locale. */
static void print_number(double c, sc_text *out)
{
    char buf[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, c);
        if (strtod(buf, NULL) == c) break;
    }
    char *point = strchr(buf, localeconv()->decimal_point[0]);
    if (point) *point = '.';
    sc_text_add(out, "%s", buf);
}

static void print_access(const Prog *p, const Expr *e, sc_text *out)
{
    const int n = e->tensor->ndim;
    sc_text_add(out, "%s", e->tensor->name);
    for (int d = 0; d < n; d++) {
        const Index *ix = &e->ix[d];
        sc_text_add(out, "%s%s%s", d ? "," : "[", ix->slot ? "#" : "", p->var[ix->var].name);
        if (ix->part != SC_WHOLE) sc_text_add(out, "%c%d", ix->part == SC_DIV ? '/' : '%', ix->block);
    }
    if (n) sc_text_add(out, "]");
}

/* Prints e where the grammar asks for a side of at least this level. */
static void print_at(const Prog *p, const Expr *e, int level, sc_text *out)
{
    while (e->op == O_REDUCE) e = e->kid[0];
    const int own = level_of(e);
    if (own < level) sc_text_add(out, "(");
    if (e->op == O_CONST) {
        print_number(e->c, out);
    } else if (e->op == O_ACCESS) {
        print_access(p, e, out);
    } else if (op_info(e->op)->form == F_INFIX) {
        print_at(p, e->kid[0], own, out);
        sc_text_add(out, " %s ", op_info(e->op)->text);
        print_at(p, e->kid[1], own + 1, out);
    } else if (op_info(e->op)->form == F_PREFIX) {
        sc_text_add(out, "%s", op_info(e->op)->text);
        print_at(p, e->kid[0], PRIMARY, out);
    } else {
        sc_text_add(out, "%s(", op_info(e->op)->text);
        for (int k = 0; k < op_info(e->op)->arity; k++) {
            if (k) sc_text_add(out, ", ");
            print_at(p, e->kid[k], COMPARE, out);
        }
        sc_text_add(out, ")");
    }
    if (own < level) sc_text_add(out, ")");
}

void expr_print(const Prog *p, const Expr *e, sc_text *out) { print_at(p, e, COMPARE, out); }

void prog_print(const Prog *p, sc_text *out)
{
    for (int a = 0; a < p->nassign; a++) {
        const Assign *s = &p->assign[a];
        expr_print(p, s->lhs, out);
        sc_text_add(out, " %s= ", s->reduce == O_CONST ? "" : op_info(s->reduce)->text);
        expr_print(p, s->rhs, out);
        sc_text_add(out, "\n");
    }
}
