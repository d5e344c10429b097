/* test_fingerprint.c: the number of an array is the same whichever instructions find it, and differs where a byte does. */
#define sc_fingerprint tried_fingerprint /* a copy of the file, whose choice can be turned off */
#include "../../csrc/kernels/fingerprint.c"
#include "kernels_harness.h"

static void check_length(size_t n)
{
    char *p = malloc(n + 1);
    for (size_t i = 0; i < n; i++) p[i] = (char)below(256);
    const bool has = four;
    const sc_digest first = sc_fingerprint(p, n);
    four = false;
    const sc_digest second = sc_fingerprint(p, n);
    CHECK(sc_digest_equal(first, second), "%lld bytes: another number with other instructions", (long long)n);
    four = has;
    if (n) {
        p[below((int64_t)n)]++;
        CHECK(!sc_digest_equal(first, sc_fingerprint(p, n)), "%lld bytes: a change is not seen",
              (long long)n);
    }
    free(p);
}

int main(void)
{
    sc_fingerprint("", 0); /* asks the processor */
    for (size_t n = 0; n < 700; n++) check_length(n);
    for (int k = 0; k < 60; k++) check_length((size_t)below(3 * PIECE));
    return failures != 0;
}
