/* statements.c: the text of a module. Constructors and verifier call what they refuse an internal error, since only the
 * compiler writes statements. What they take prints, parses and prints the same, stays
 * valid when it is simplified, and comes out as C. */
#include <stdlib.h>
#include <string.h>

#include "compiler/compile.h"
#include "compiler/emit/emit.h"
#include "fuzz.h"

typedef struct {
    Prog p;
    sc_err err;
    jmp_buf escape;
    Module *m;
} Reading;

static void out_of_memory(void *ctx) { fail(ctx, SC_ENOMEM, -1, "out of memory"); }

static int read_module(Reading *r, const char *text)
{
    r->p.err = &r->err;
    r->p.escape = &r->escape;
    r->p.arena.nomem = out_of_memory;
    r->p.arena.ctx = &r->p;
    r->p.vector_bytes = 32;
    if (setjmp(r->escape)) return r->err.code;
    r->m = stmt_parse(&r->p, text);
    stmt_verify(&r->p, r->m);
    return SC_OK;
}

static int finish(Reading *r, sc_text *c)
{
    if (setjmp(r->escape)) return r->err.code;
    stmt_simplify(&r->p, r->m);
    stmt_verify(&r->p, r->m);
    emit_module(&r->p, r->m, c);
    return SC_OK;
}

static Reading *open_reading(void)
{
    Reading *r = calloc(1, sizeof *r);
    if (!r) exit(2);
    return r;
}

static void close_reading(Reading *r)
{
    sc_compile_free(&r->p);
    free(r);
}

static void print_again(const Reading *r)
{
    Reading *again = open_reading();
    sc_text first = {0}, second = {0};
    sc_text_addn(&first, "", 0);
    stmt_print(&r->p, r->m, &first);
    if (read_module(again, first.s)) fuzz_die("%s\n%s", again->err.msg, first.s);
    stmt_print(&again->p, again->m, &second);
    if (first.n && strcmp(first.s, second.s) != 0) fuzz_die("%s\nis printed as\n%s", first.s, second.s);
    sc_text_free(&first), sc_text_free(&second);
    close_reading(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes b = {data, size};
    char *text = fuzz_text(&b);
    Reading *r = open_reading();
    sc_text c = {0};
    const int rc = read_module(r, text);
    if (rc && rc != SC_EINTERNAL) fuzz_refusal(rc, &r->err, text);
    if (!rc) {
        print_again(r);
        if (finish(r, &c)) fuzz_die("after simplification: %s\n%s", r->err.msg, text);
    }
    sc_text_free(&c);
    close_reading(r);
    free(text);
    return 0;
}
