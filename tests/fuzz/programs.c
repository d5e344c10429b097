/* programs.c: .sc texts, compiled as they stand and run through the executor: the results are those of the oracle. */
#include <stdlib.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes b = {data, size};
    const int width = 16 << fuzz_below(&b, 3);
    fuzz_lanes(1 + fuzz_below(&b, 4));
    const uint64_t seed = fuzz_byte(&b);
    char *text = fuzz_text(&b);
    fuzz_run(text, width, seed);
    free(text);
    return 0;
}
