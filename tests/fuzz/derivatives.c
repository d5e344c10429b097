/* derivatives.c: the gradients of an .sc text are an .sc text, which is accepted, and runs as its own expression says;
 * so are the gradients of these. */
#include <stdlib.h>
#include <string.h>

#include "compiler/compile.h"
#include "compiler/expr/expr.h"
#include "fuzz.h"
#include "run/tool.h"

static void accepted(const char *gradient, const char *text)
{
    sc_err err = {0};
    Prog *p = calloc(1, sizeof *p);
    if (!p) exit(2);
    const int rc = sc_compile_gradient(p, NULL, gradient, 0, 0, NULL, &err);
    if (rc && rc != SC_ENOTIMPL) fuzz_die("%s\nof\n%s\nis refused: %s", gradient, text, err.msg);
    sc_compile_free(p);
    free(p);
}

/* The gradients of a text, checked; false where there are none: nothing is differentiable in a comparison. */
static bool derive_text(const char *text, sc_text *out)
{
    sc_err err = {0};
    const int rc = sc_tool_gradient(text, out, &err);
    if (rc) fuzz_refusal(rc, &err, text);
    if (rc || !out->s || !strchr(out->s, '=')) return false;
    accepted(out->s, text);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes b = {data, size};
    const int width = 16 << fuzz_below(&b, 3);
    fuzz_lanes(1 + fuzz_below(&b, 4));
    char *text = fuzz_text(&b);
    sc_text first = {0}, second = {0};
    bool nest;
    if (fuzz_accepts(text, &nest) && derive_text(text, &first)) {
        fuzz_run(first.s, width, 1);
        if (fuzz_accepts(first.s, &nest)) derive_text(first.s, &second);
    }
    sc_text_free(&first);
    sc_text_free(&second);
    free(text);
    return 0;
}
