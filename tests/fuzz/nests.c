/* nests.c: .sc texts with a nest. What is printed of it parses and prints the same; a nest that the verifier takes may
 * compute anything, but reads and writes only what is there. */
#include <stdlib.h>
#include <string.h>

#include "../c/front.h"
#include "fuzz.h"

static int load(Front *f, const char *text)
{
    if (setjmp(f->escape)) return f->err.code;
    file_parse(&f->p, text);
    return SC_OK;
}

static void print_again(const Front *f)
{
    Front *g = open_front();
    sc_text program = {0}, nest = {0}, again = {0};
    prog_print(&f->p, &program);
    nest_print(&f->p, f->p.draft.nest, &nest);
    if (read_again(g, f, program.s, nest.s ? nest.s : ""))
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
