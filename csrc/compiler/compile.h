/* compile.h: what run/ sees of the compiler. */
#ifndef SC_COMPILE_H
#define SC_COMPILE_H

#include "ir/ir.h"
#include "path/path.h"

/* Compiles a request, or (file not null) the text of an .sc file, for vectors of so many bytes. On
 * success p->draft.module, p->draft.plan and the printed stages are ready, unless p->draft.converts: then operands should
 * be converted to p->draft.convert[] first and nothing was lowered. *p must be zeroed; free it in any case. */
int sc_compile(Prog *p, const sc_request *, const char *file, int vector_bytes, sc_err *);
/* The program of the gradients of a request, or of an .sc text (sc_gradient_make in scorch.h); out may be null: then
 * *p is checked and inferred, for the oracle. */
int sc_compile_gradient(Prog *p, const sc_request *, const char *file, uint32_t wanted, uint32_t given,
                        sc_gradient *out, sc_err *);
/* A request over composed operands as one over their parts (sc_compose in scorch.h). */
int sc_compile_composed(Prog *p, const sc_request *, const uint8_t *parts, sc_composed *out, sc_err *);
/* The steps of a request or of an .sc text (path/), in the memory of *p, which is checked and inferred then; *out is null
 * where it is best taken as it is. p: zeroed but for what is known of the machine. */
int sc_compile_path(Prog *p, const sc_request *, const char *file, int vector_bytes, const Path **out,
                    sc_err *);
/* What result r of a checked and inferred program is. */
void sc_compile_outcome(Prog *, int r, sc_outcome *);
int sc_compile_text(Prog *, const char *stage, sc_text *out, sc_err *);
const char *sc_stage_name(int k); /* of those that it prints; null behind the last */
void sc_compile_free(Prog *);
#endif
