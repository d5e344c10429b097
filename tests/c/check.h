/* check.h: checks that count what fails and go on. */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <stdio.h>

static int failures;
#define CHECK(c)                                                                                             \
    do {                                                                                                     \
        if (!(c)) {                                                                                          \
            printf("line %d: %s\n", __LINE__, #c);                                                           \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)
#endif
