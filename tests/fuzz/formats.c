/* formats.c: the text of a format. What parses prints as a text that parses to the same format, under its name and as
 * a list of levels; printing into a short buffer writes no more than it holds. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

typedef void printer(const sc_format *, char *, size_t);

static void round_trip(const sc_format *f, printer *print)
{
    char text[1024];
    sc_format again = {0};
    sc_err err = {0};
    print(f, text, sizeof text);
    if (strlen(text) + 1 == sizeof text)
        fuzz_die("a format of more than %zu characters: %s", sizeof text, text);
    if (sc_format_parse(&again, text, f->ndim, &err)) fuzz_die("%s does not parse: %s", text, err.msg);
    if (!sc_format_equal(f, &again)) fuzz_die("%s is another format", text);
}

static void print_short(const sc_format *f, size_t size)
{
    char *room = malloc(size ? size : 1);
    if (!room) exit(2);
    sc_format_print(f, room, size);
    if (size && strlen(room) >= size) fuzz_die("%zu bytes were not enough", size);
    sc_format_print_levels(f, room, size);
    free(room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Bytes b = {data, size};
    const int ndim = fuzz_below(&b, SC_MAXDIM + 2);
    const size_t room = fuzz_byte(&b) % 64;
    char *text = fuzz_text(&b);
    sc_format f = {0};
    sc_err err = {0};
    const int rc = sc_format_parse(&f, text, ndim, &err);
    if (rc) {
        fuzz_refusal(rc, &err, text);
    } else {
        if (f.ndim != ndim || f.nlevel > SC_MAXLEVEL) fuzz_die("%d dimensions, %d levels", f.ndim, f.nlevel);
        round_trip(&f, sc_format_print);
        if (f.nlevel) round_trip(&f, sc_format_print_levels);
        print_short(&f, room);
    }
    free(text);
    return 0;
}
