/* fuzz.h: what the fuzz targets share.
 *
 * A target is one file with LLVMFuzzerTestOneInput, linked with the core, fuzz.c and either libFuzzer or driver.c. An
 * input is a few bytes of choices followed by text, or choices alone; bytes that are missing count as zeros, so every
 * input means something. A target ends by fuzz_die where the library breaks a promise; sanitizers see the rest.
 *
 * The core is built so that a few multiply-adds pay for a lane, and lanes take turns on the calling thread: how many
 * there are is one of the choices, and the same input does the same again. */
#ifndef SC_FUZZ_H
#define SC_FUZZ_H

#include "base.h"

struct Prog; /* of the compiler */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- choices ---- */
typedef struct {
    const uint8_t *at;
    size_t left;
} Bytes;
uint32_t fuzz_byte(Bytes *);
int fuzz_below(Bytes *, int n);   /* 0 to n - 1; n <= 256 */
bool fuzz_one_in(Bytes *, int n); /* seldom chosen by bytes that are missing */
char *fuzz_text(Bytes *); /* all that is left, terminated, in memory of its own; zeros become spaces */
void fuzz_lanes(int n);   /* lanes from now on */

/* ---- promises ---- */
_Noreturn void fuzz_die(const char *fmt, ...) SC_PRINTF(1, 2);
/* A refusal has a message, a position inside of the text, and is no bug of the library. */
void fuzz_refusal(int rc, const sc_err *, const char *text);

/* ---- programs ---- */
/* Whether a program that was parsed and checked is so small that it compiles and runs in milliseconds. */
bool fuzz_is_small(const struct Prog *);
/* Parses, checks and infers an .sc text; false where it is refused or not small. */
bool fuzz_accepts(const char *text, bool *nest);
/* The same, then compiles it for vectors of `width` bytes, prints every stage, and runs it through the executor. Where
 * sums are exact and no nest was given the results are those of the oracle. */
void fuzz_run(const char *text, int width, uint64_t seed);
/* Every stage of a compiled program as text. */
void fuzz_print(struct Prog *, const char *text);
#endif
