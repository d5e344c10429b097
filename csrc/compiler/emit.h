/* emit.h: shared by emit.c and emit_val.c. */
#ifndef SC_EMIT_H
#define SC_EMIT_H

#include "stmt.h"

typedef struct {
    const Prog *p;
    const Module *m;
    sc_text *out;
    Needs needs;
    bool param[96], buf[128]; /* used by the entry */
} Emit;

void emit_add(Emit *, const char *);
void emit_type(Emit *, Type);
void emit_helper(Emit *, Helper, Type); /* "sc_load_f32x8(" */
void emit_value(Emit *, const Val *);
void emit_mask(Emit *, const Val *, int width); /* truth values as integers of so many bytes */
int emit_width(const Emit *, int lanes);        /* of truth values in a local */
void emit_pointer(Emit *, const Buf *, const Val *index);
#endif
