/* nests.c: .sc texts with a nest. What is printed of it parses and prints the same; a nest that the verifier takes may
 * compute anything, but reads and writes only what is there. */
#include <stdlib.h>
#include <string.h>

#include "compiler/nest/nest.h"
#include "compiler/settle.h"
#include "fuzz.h"

typedef struct {
    Prog p;
    sc_err err;
    jmp_buf escape;
} Front;

static void out_of_memory(void *ctx) { fail(ctx, SC_ENOMEM, -1, "out of memory"); }

static Front *open_front(void)
{
    Front *f = calloc(1, sizeof *f);
    if (!f) exit(2);
    f->p.err = &f->err;
    f->p.escape = &f->escape;
    f->p.arena.nomem = out_of_memory;
    f->p.arena.ctx = &f->p;
    return f;
}

static void close_front(Front *f)
{
    sc_arena_free(&f->p.arena);
    free(f);
}

static int load(Front *f, const char *text)
{
    if (setjmp(f->escape)) return f->err.code;
    file_parse(&f->p, text);
    return SC_OK;
}

static int load_again(Front *to, const Front *from, const char *program, const char *nest)
{
    if (setjmp(to->escape)) return to->err.code;
    for (int k = 0; k < from->p.nin; k++) {
        const Tensor *t = from->p.tensor[k];
        sc_spec s = {.format = t->format, .dtype = t->dtype, .itype = t->itype, .unit = t->unit};
        memcpy(s.name, t->name, sizeof s.name);
        prog_declare(&to->p, &s, t->extent);
    }
    parse_program(&to->p, program);
    to->p.draft.nest = nest_parse(&to->p, nest, 0, NULL);
    return SC_OK;
}

static void print_again(const Front *f)
{
    Front *g = open_front();
    sc_text program = {0}, nest = {0}, again = {0};
    prog_print(&f->p, &program);
    nest_print(&f->p, f->p.draft.nest, &nest);
    if (load_again(g, f, program.s, nest.s ? nest.s : ""))
        fuzz_die("%s\n%s%s", g->err.msg, program.s, nest.s);
    nest_print(&g->p, g->p.draft.nest, &again);
    if (nest.s && strcmp(nest.s, again.s) != 0) fuzz_die("%s\nis printed as\n%s", nest.s, again.s);
    sc_text_free(&program), sc_text_free(&nest), sc_text_free(&again);
    close_front(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes b = {data, size};
    const int width = 16 << fuzz_below(&b, 3);
    fuzz_lanes(1 + fuzz_below(&b, 4));
    const uint64_t seed = fuzz_byte(&b);
    char *text = fuzz_text(&b);
    Front *f = open_front();
    const int rc = load(f, text);
    if (rc) fuzz_refusal(rc, &f->err, text);
    const bool nest = !rc && f->p.draft.nest;
    if (nest) print_again(f);
    close_front(f);
    if (nest) fuzz_run(text, width, seed);
    free(text);
    return 0;
}
