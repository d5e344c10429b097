/* scorchc: the compiler as a filter. Reads an .sc file (operands, an expression,
 * optionally a nest; csrc/compiler/file.c has the grammar) and prints a stage,
 * or runs it on generated data and compares with the oracle.
 *
 *   scorchc --emit=index|sums|path|nest|stmt|c|plan|orders|why|gradient [--width 16|32|64] FILE
 *   scorchc --run [--width W] [--jit] [--lanes N] FILE...    executor (or compiled code) against the oracle,
 *                                                            in the chunks of N lanes, one after another
 *   scorchc --bundle LIST -o DIR WIDTH...            C texts for the bundle, see csrc/bundle.list
 *
 * The width is 64 where none is given, and that of this CPU with --jit. SCORCH_CC, SCORCH_CFLAGS and SCORCH_CACHE_DIR are
 * as in the package. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/tool.h"
#include "scorch.h"

/* ---- a team of lanes that take turns, the last first ---- */
static int lanes = 1;

static int team_width(void) { return lanes; }

static void take_turns(sc_body *body, void *arg, int n)
{
    for (int id = n; id-- > 0;) body(arg, id, n);
}

static char *read_all(const char *path)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    sc_text t = {0};
    char chunk[4096];
    size_t n;
    if (!f) {
        fprintf(stderr, "scorchc: cannot open %s\n", path);
        return NULL;
    }
    sc_text_addn(&t, "", 0);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) sc_text_addn(&t, chunk, n);
    if (f != stdin) fclose(f);
    return t.s;
}

static int report(const char *path, const sc_err *err)
{
    fprintf(stderr, "%s: %s\n", path, err->msg);
    return 1;
}

static int emit_stage(const char *path, const char *stage, int width)
{
    sc_err err = {0};
    sc_text out = {0};
    char *text = read_all(path);
    if (!text) return 1;
    int rc = sc_tool_emit(text, stage, width, &out, &err);
    if (rc)
        rc = report(path, &err);
    else
        fwrite(out.s, 1, out.n, stdout);
    sc_text_free(&out);
    free(text);
    return rc;
}

/* Data differs from file to file and is the same in every run. */
static uint64_t seed_of(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    while (*text) h = (h ^ (uint8_t)*text++) * 0x100000001b3u;
    return h;
}

static int run_file(const char *path, int width, bool jit)
{
    sc_err err = {0};
    char *text = read_all(path);
    if (!text) return 1;
    int rc = sc_tool_run(text, width, jit, seed_of(text), &err);
    if (rc)
        rc = report(path, &err);
    else
        printf("%s: ok\n", path);
    free(text);
    return rc;
}

static int usage(void)
{
    fputs(
        "usage: scorchc --emit=index|sums|path|nest|stmt|c|plan|orders|why|gradient [--width 16|32|64] FILE\n"
        "       scorchc --run [--jit] [--width W] [--lanes N] FILE...\n"
        "       scorchc --bundle LIST -o DIR WIDTH...\n",
        stderr);
    return 2;
}

typedef struct {
    const char *stage, *bundle, *dir;
    int width;
    bool run, jit;
    char **file;
    int nfile;
} Options;

static bool parse_options(int argc, char **argv, Options *o)
{
    *o = (Options){.file = argv};
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "--emit=", 7))
            o->stage = argv[i] + 7;
        else if (!strcmp(argv[i], "--run"))
            o->run = true;
        else if (!strcmp(argv[i], "--jit"))
            o->jit = true;
        else if (!strcmp(argv[i], "--width") && i + 1 < argc)
            o->width = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--lanes") && i + 1 < argc)
            lanes = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--bundle") && i + 1 < argc)
            o->bundle = argv[++i];
        else if (!strcmp(argv[i], "-o") && i + 1 < argc)
            o->dir = argv[++i];
        else if (argv[i][0] == '-' && argv[i][1])
            return false;
        else
            o->file[o->nfile++] = argv[i];
    }
    if (!o->width) o->width = o->jit ? sc_tool_width() : 64;
    bool width = o->width == 16 || o->width == 32 || o->width == 64;
    return width && o->nfile > 0 && (o->bundle ? o->dir != NULL : o->stage || o->run);
}

static int bundle(const Options *o)
{
    sc_err err = {0};
    int width[3], n = o->nfile < 3 ? o->nfile : 3;
    for (int i = 0; i < n; i++) width[i] = atoi(o->file[i]);
    char *list = read_all(o->bundle);
    if (!list) return 1;
    int rc = sc_tool_bundle(list, width, n, o->dir, &err) ? report(o->bundle, &err) : 0;
    free(list);
    return rc;
}

/* The environment is read as by the package. */
static int configure(void)
{
    sc_err err = {0};
    const sc_config c = {.jit = SC_JIT_ON,
                         .cc = getenv("SCORCH_CC"),
                         .cflags = getenv("SCORCH_CFLAGS"),
                         .cache_dir = getenv("SCORCH_CACHE_DIR")};
    return sc_configure(&c, &err) ? report("scorchc", &err) : 0;
}

int main(int argc, char **argv)
{
    Options o;
    int rc = 0;
    if (!parse_options(argc, argv, &o)) return usage();
    if (o.jit && configure()) return 1;
    if (lanes > 1) sc_team_install(&(sc_team){take_turns, team_width});
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was said stands if a later file kills us */
    if (o.bundle) return bundle(&o);
    for (int i = 0; i < o.nfile; i++)
        rc |= o.stage ? emit_stage(o.file[i], o.stage, o.width) : run_file(o.file[i], o.width, o.jit);
    return rc;
}
