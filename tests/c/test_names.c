/* test_names.c: what locals are called, and what may be called the same.
 *
 * Modules are written by hand in S text, where every name is another; then locals get the names that lowering
 * gives them, which may all be one, and are named anew. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "module.h"

#define ARRAYS "par n: i64 = dim 0\nbuf l: i64 mut = val 0\n"

/* As lowering leaves them: without what stands behind the last '0'. */
static void forget_numbers(Stmt *s)
{
    for (; s; s = s->next) {
        const bool declares = s->op == S_LET || s->op == S_FOR;
        const char *zero = declares ? strrchr(s->local->name, '0') : NULL;
        if (zero)
            s->local->name =
                sc_arena_printf(&front.p.arena, "%.*s", (int)(zero - s->local->name), s->local->name);
        forget_numbers(s->body);
        forget_numbers(s->other);
    }
}

/* Blocks side by side begin anew; nothing is called as what is around it, nor as an array, a word of C, an offset. */
static void test_blocks(void)
{
    static const char text[] = "buf t: i64 mut = scratch n * 8\n\nentry body {\n"
                               "    let x01: i64 = l[0]\n"
                               "    for x02 = 0, x01 {\n"
                               "        let x03: i64 = x01 + x02\n"
                               "        l[x03] = x01\n"
                               "    }\n"
                               "    if x01 > 2 {\n"
                               "        let x04: i64 = l[x01]\n"
                               "        l[x04] = x01\n"
                               "    } else {\n"
                               "        let x05: i64 = l[1]\n"
                               "        l[x05] = x01\n"
                               "    }\n"
                               "    let x06: i64 = l[2]\n"
                               "    let l01: i64 = l[x06]\n"
                               "    let int01: i64 = l[l01]\n"
                               "    let t_at01: i64 = t[int01]\n"
                               "    l[0] = t_at01\n}\n";
    static const char want[] = "entry body {\n"
                               "    let x: i64 = l[0]\n"
                               "    for x_1 = 0, x {\n"
                               "        let x_2: i64 = x + x_1\n"
                               "        l[x_2] = x\n"
                               "    }\n"
                               "    if x > 2 {\n"
                               "        let x_1: i64 = l[x]\n"
                               "        l[x_1] = x\n"
                               "    } else {\n"
                               "        let x_1: i64 = l[1]\n"
                               "        l[x_1] = x\n"
                               "    }\n"
                               "    let x_1: i64 = l[2]\n"
                               "    let l_1: i64 = l[x_1]\n"
                               "    let int_1: i64 = l[l_1]\n"
                               "    let t_at_1: i64 = t[int_1]\n"
                               "    l[0] = t_at_1\n}\n";
    open_module();
    Module *m = module_from(sc_arena_printf(&front.p.arena, ARRAYS "%s", text));
    forget_numbers(m->entry[0].body);
    for (int again = 0; again < 2; again++) {
        stmt_name(&front.p, m);
        stmt_verify(&front.p, m);
        sc_text out = {0};
        stmt_print(&front.p, m, &out);
        const char *body = strstr(out.s, "entry body");
        if (strcmp(body, want) != 0) printf("%s\n", body);
        CHECK(!strcmp(body, want));
        sc_text_free(&out);
    }
    close_module();
}

static void refuses(Module *m, const char *want)
{
    if (setjmp(front.escape) == 0) stmt_verify(&front.p, m);
    if (!strstr(front.err.msg, want)) printf("  %s\n", front.err.msg);
    CHECK(strstr(front.err.msg, want));
    close_module();
}

static Module *two_sides(void)
{
    open_module();
    return module_from(ARRAYS
                       "entry body {\n let x: i64 = l[0]\n if x > 1 {\n  let y: i64 = l[2]\n  l[1] = y\n"
                       " } else {\n  l[1] = n\n }\n}\n");
}

/* What one side of a test declares is not there on the other, and no name hides one around it. */
static void test_refused(void)
{
    Module *m = two_sides();
    Stmt *test = m->entry[0].body->next;
    test->other->b = test->body->next->b;
    refuses(m, "y is used where it is not set");
    m = two_sides();
    m->entry[0].body->next->body->local->name = "x";
    refuses(m, "two names x are visible at once");
}

int main(void)
{
    test_blocks();
    test_refused();
    return failures != 0;
}
