/* settle.h: the passes of this folder. */
#ifndef SC_SETTLE_H
#define SC_SETTLE_H

#include "compile.h"

/* ---- settle.c ---- */
void schedule(Prog *);        /* expression -> nest -> statements */
void lower_nest(Prog *);      /* p->draft.nest -> p->draft.module, p->draft.plan, all of it verified */
double schedule_cost(Prog *); /* of the best nests, not lowered; negative where there are none */
void orders_print(Prog *, sc_text *); /* every candidate, the chosen one first */

/* ---- file.c: .sc files, the test format ---- */
void file_parse(Prog *, const char *text);
#endif
