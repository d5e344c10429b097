/* module.h: modules that tests write by hand, in S text, one at a time. */
#ifndef TEST_MODULE_H
#define TEST_MODULE_H

#include <stdio.h>

#include "compiler/stmt/stmt.h"
#include "front.h"

static Front front;

static void open_module(void)
{
    start_front(&front);
    front.p.vector_bytes = 32;
}

static void close_module(void) { sc_arena_free(&front.p.arena); }

/* As the passes behind lowering leave it; the test ends where they refuse it. */
static Module *module_from(const char *text)
{
    if (setjmp(front.escape)) {
        printf("%s\n%s\n", front.err.msg, text);
        exit(1);
    }
    Module *m = stmt_parse(&front.p, text);
    stmt_verify(&front.p, m);
    stmt_simplify(&front.p, m);
    stmt_name(&front.p, m);
    stmt_verify(&front.p, m);
    return m;
}
#endif
