/* statements.c: the text of a module. Constructors and verifier call what they refuse an internal error, since only the
 * compiler writes statements. What they take prints, parses and prints the same, stays
 * valid when it is simplified, and comes out as C. */
#include <stdlib.h>
#include <string.h>

#include "../c/front.h"
#include "compiler/emit/emit.h"
#include "fuzz.h"

static int read_module(Front *f, const char *text)
{
    f->p.vector_bytes = 32;
    if (setjmp(f->escape)) return f->err.code;
    f->p.draft.module = stmt_parse(&f->p, text);
    stmt_verify(&f->p, f->p.draft.module);
    return SC_OK;
}

static int finish(Front *f, sc_text *c)
{
    Module *m = f->p.draft.module;
    if (setjmp(f->escape)) return f->err.code;
    stmt_simplify(&f->p, m);
    stmt_verify(&f->p, m);
    emit_module(&f->p, m, c);
    return SC_OK;
}

static void print_again(const Front *f)
{
    Front *g = open_front();
    sc_text first = {0}, second = {0};
    sc_text_addn(&first, "", 0);
    stmt_print(&f->p, f->p.draft.module, &first);
    if (read_module(g, first.s)) fuzz_die("%s\n%s", g->err.msg, first.s);
    stmt_print(&g->p, g->p.draft.module, &second);
    if (first.n && strcmp(first.s, second.s) != 0) fuzz_die("%s\nis printed as\n%s", first.s, second.s);
    sc_text_free(&first), sc_text_free(&second);
    close_front(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes b = {data, size};
    char *text = fuzz_text(&b);
    Front *f = open_front();
    sc_text c = {0};
    const int rc = read_module(f, text);
    if (rc && rc != SC_EINTERNAL) fuzz_refusal(rc, &f->err, text);
    if (!rc) {
        print_again(f);
        if (finish(f, &c)) fuzz_die("after simplification: %s\n%s", f->err.msg, text);
    }
    sc_text_free(&c);
    close_front(f);
    free(text);
    return 0;
}
