/* lower.h: a nest as statements and a plan. */
#ifndef SC_LOWER_H
#define SC_LOWER_H

#include "../ir/ir.h"

void lower(Prog *);                       /* lower.c */
void plan_print(const Prog *, sc_text *); /* plan_text.c */
#endif
