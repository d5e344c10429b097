/* settle.h: the passes of this folder. */
#ifndef SC_SETTLE_H
#define SC_SETTLE_H

#include "compile.h"

/* ---- settle.c ---- */
void schedule(Prog *);                /* expression -> nest -> statements */
double schedule_cost(Prog *);         /* of the best nests, not lowered; negative where there are none */
void lower_nest(Prog *);              /* p->nest -> p->module, p->plan, all of it verified */
void orders_print(Prog *, sc_text *); /* every candidate, the chosen one first */

/* ---- file.c: .sc files, the test format ---- */
void file_parse(Prog *, const char *text);
#endif
