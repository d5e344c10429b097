/* print.c: expressions as text that parses back to the same tree.
 *
 * Parentheses are written exactly where the grammar of parse.c needs them: an
 * operator has a level, its left side may be of that level, its right side must
 * bind tighter. In a program reductions made explicit by check.c are not printed,
 * and aliases have the name of their operand: parsing and checking the text again
 * finds the same ones. In a nest aliases have their own names. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"

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

typedef struct {
    const Prog *p;
    sc_text *out;
    bool operands; /* aliases by the name of their operand */
    bool sums;     /* reductions are written */
} Printer;

static void print_access(const Printer *to, const Expr *e)
{
    const bool operand = to->operands || (e->tensor->role == T_IN && e->tensor->like);
    const Tensor *t = operand && e->tensor->alias ? e->tensor->alias : e->tensor;
    sc_text_add(to->out, "%s", t->name);
    for (int d = 0; d < t->ndim; d++) {
        const Index *ix = &e->ix[d];
        sc_text_add(to->out, "%s%s%s", d ? "," : "[", ix->slot ? "#" : "", to->p->var[ix->var].name);
        if (ix->part != SC_WHOLE) sc_text_add(to->out, "%c%d", ix->part == SC_DIV ? '/' : '%', ix->block);
    }
    if (t->ndim) sc_text_add(to->out, "]");
}

static void print_at(const Printer *, const Expr *, int level);

/* "sum j,k (..)", "max j (..)" */
static void print_reduce(const Printer *to, const Expr *e)
{
    const char *comma = "";
    sc_text_add(to->out, "%s ", e->reduce == O_ADD ? "sum" : op_info(e->reduce)->text);
    for (int v = 0; v < to->p->nvar; v++)
        if (e->vars >> v & 1) sc_text_add(to->out, "%s%s", comma, to->p->var[v].name), comma = ",";
    sc_text_add(to->out, " (");
    print_at(to, e->kid[0], COMPARE);
    sc_text_add(to->out, ")");
}

static void print_operator(const Printer *to, const Expr *e, int own)
{
    const OpInfo *o = op_info(e->op);
    if (o->form == F_INFIX) {
        print_at(to, e->kid[0], own);
        sc_text_add(to->out, " %s ", o->text);
        print_at(to, e->kid[1], own + 1);
    } else if (o->form == F_PREFIX) {
        sc_text_add(to->out, "%s", o->text);
        print_at(to, e->kid[0], own);
    } else {
        sc_text_add(to->out, "%s(", o->text);
        for (int k = 0; k < o->arity; k++) {
            if (k) sc_text_add(to->out, ", ");
            print_at(to, e->kid[k], COMPARE);
        }
        sc_text_add(to->out, ")");
    }
}

/* Prints e where the grammar asks for a side of at least this level. */
static void print_at(const Printer *to, const Expr *e, int level)
{
    while (e->op == O_REDUCE && !to->sums) e = e->kid[0];
    const int own = level_of(e);
    if (own < level) sc_text_add(to->out, "(");
    if (e->op == O_CONST)
        print_number(e->c, to->out);
    else if (e->op == O_ACCESS)
        print_access(to, e);
    else if (e->op == O_REDUCE)
        print_reduce(to, e);
    else
        print_operator(to, e, own);
    if (own < level) sc_text_add(to->out, ")");
}

void expr_print(const Prog *p, const Expr *e, sc_text *out)
{ print_at(&(Printer){.p = p, .out = out}, e, COMPARE); }

static void print_program(const Printer *to)
{
    for (int a = 0; a < to->p->nassign; a++) {
        const Assign *s = &to->p->assign[a];
        sc_text_add(to->out, s->lhs->tensor->hidden ? "tmp " : "");
        print_at(to, s->lhs, COMPARE);
        sc_text_add(to->out, " %s= ", s->reduce == O_CONST || to->sums ? "" : op_info(s->reduce)->text);
        print_at(to, s->rhs, COMPARE);
        sc_text_add(to->out, "\n");
    }
}

void prog_print(const Prog *p, sc_text *out)
{ print_program(&(Printer){.p = p, .out = out, .operands = true}); }

void sums_print(const Prog *p, sc_text *out) { print_program(&(Printer){.p = p, .out = out, .sums = true}); }
