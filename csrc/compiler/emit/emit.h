/* emit.h: statements as C text. */
#ifndef SC_EMIT_H
#define SC_EMIT_H

#include "../stmt/stmt.h"

void emit_module(const Prog *, const Module *, sc_text *);
#endif
