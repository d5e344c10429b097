/* tool.h: what the command line tool does with files; texts in, texts and files out. */
#ifndef SC_TOOL_H
#define SC_TOOL_H

#include "../base.h"

struct Prog; /* of the compiler */

/* A stage of an .sc text, compiled for vectors of `width` bytes. */
int sc_tool_emit(const char *text, const char *stage, int width, sc_text *out, sc_err *);
/* The .sc text of the gradients to all operands, given those of all results (gradient.c). */
int sc_tool_gradient(const char *text, sc_text *out, sc_err *);
/* The program of an .sc text, for operands in the formats that it wants; sc_tool_free frees it. */
int sc_tool_compile(const char *text, int width, struct Prog **, sc_err *);
void sc_tool_free(struct Prog *);
int sc_tool_width(void); /* bytes of the widest vectors of this CPU */
/* Runs an .sc text on generated integer-valued data (seed) and compares every result with the oracle:
 * through the executor, or through compiled code. */
int sc_tool_run(const char *text, int width, bool jit, uint64_t seed, sc_err *);
/* Writes the C texts of a bundle list (csrc/bundle.list) for these widths into folder dir, one file a
 * text, and bundle.c, which registers them. */
int sc_tool_bundle(const char *list, const int *width, int nwidth, const char *dir, sc_err *);
#endif
