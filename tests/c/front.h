/* front.h: a program of the compiler that a test fills by hand, pass by pass.
 *
 * Passes that may fail stand in a function that begins with `if (setjmp(f->escape)) return f->err.code;`. */
#ifndef TEST_FRONT_H
#define TEST_FRONT_H

#include <stdlib.h>
#include <string.h>

#include "compiler/nest/nest.h"
#include "compiler/settle.h"

typedef struct {
    Prog p;
    sc_err err;
    jmp_buf escape;
} Front;

static void out_of_memory(void *ctx) { fail(ctx, SC_ENOMEM, -1, "out of memory"); }

static inline void start_front(Front *f)
{
    memset(f, 0, sizeof *f);
    f->p.err = &f->err;
    f->p.escape = &f->escape;
    f->p.arena.nomem = out_of_memory;
    f->p.arena.ctx = &f->p;
}

static inline Front *open_front(void)
{
    Front *f = malloc(sizeof *f);
    if (!f) exit(2);
    start_front(f);
    return f;
}

static inline void close_front(Front *f)
{
    sc_arena_free(&f->p.arena);
    free(f);
}

/* Reads what was printed of a program, for the same operands, and of its nest, which may be null. */
static inline int read_again(Front *to, const Front *from, const char *program, const char *nest)
{
    if (setjmp(to->escape)) return to->err.code;
    to->p.skip = from->p.skip;
    for (int k = 0; k < from->p.nin; k++) {
        const Tensor *t = from->p.tensor[k];
        sc_spec s = {0};
        tensor_spec(t, &s);
        prog_declare(&to->p, &s, t->extent);
    }
    parse_program(&to->p, program);
    if (nest) nest_twins(&to->p, to->p.draft.nest = nest_parse(&to->p, nest, 0, NULL));
    return SC_OK;
}
#endif
