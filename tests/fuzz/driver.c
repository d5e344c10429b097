/* driver.c: runs a fuzz target where libFuzzer is not at hand.
 *
 *     TARGET [-max_total_time=S] [-runs=N] [-seed=N] [-max_len=N] [-timeout=S] [-dict=FILE]
 *            [-artifact_prefix=PATH] [FILE or FOLDER]...
 *
 * The options are spelled as libFuzzer's. With files, or -runs=0, every input runs once. Else an input is drawn from
 * those at hand and changed a few times: bytes and bits, blocks copied and dropped, numbers in the text, words of the
 * dictionary, pieces of other inputs. The core is compiled with -fsanitize-coverage=trace-pc, which calls
 * __sanitizer_cov_trace_pc at every branch: an input that takes a pair of branches that none took before stays at hand,
 * in memory, and in the first folder if there is one. An input that ends the program is written to
 * <artifact_prefix>crash first. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define MAXWORD 512
#define MAXINPUT 20000

typedef struct {
    uint8_t *at;
    size_t n;
} Input;

static struct {
    double seconds;
    long runs;
    size_t most; /* bytes of an input */
    unsigned timeout;
    const char *prefix, *folder;
} option = {.runs = -1, .most = 4096, .timeout = 20, .prefix = ""};
static Input at_hand[MAXINPUT], now;
static int ninput, nfile;
static char *word[MAXWORD];
static size_t word_size[MAXWORD];
static int nword;

/* ---- coverage ---- */
#define PLACES (1u << 18)
static uint8_t seen[PLACES], taken[PLACES];
static uint32_t touched[PLACES], ntouched;
static uintptr_t before;

__attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    const uintptr_t here = (uintptr_t)__builtin_return_address(0);
    const uint32_t place = (uint32_t)((here ^ before * 31) * 0x9e3779b97f4a7c15u >> 20) % PLACES;
    before = here;
    if (!taken[place]) {
        taken[place] = 1;
        touched[ntouched++] = place;
    }
}

/* Whether the last run took what none before it took. */
static bool is_new(void)
{
    bool fresh = false;
    for (uint32_t k = 0; k < ntouched; k++) {
        taken[touched[k]] = 0;
        fresh |= !seen[touched[k]];
        seen[touched[k]] = 1;
    }
    ntouched = 0;
    before = 0;
    return fresh;
}

/* ---- numbers ---- */
static uint64_t state = 1;

static uint64_t random_bits(void)
{
    uint64_t x = state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static size_t below(size_t n) { return n ? random_bits() % n : 0; }

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- files ---- */
static _Noreturn void stop(const char *what, const char *name)
{
    fprintf(stderr, "%s %s\n", what, name);
    exit(2);
}

static void *must(void *p)
{
    if (!p) stop("out of", "memory");
    return p;
}

static void write_file(const char *path, const Input *x)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(x->at, 1, x->n, f) != x->n) stop("cannot write", path);
    fclose(f);
}

static void keep(const uint8_t *at, size_t n)
{
    if (ninput == MAXINPUT) return;
    uint8_t *copy = must(malloc(n + 1));
    memcpy(copy, at, n);
    at_hand[ninput++] = (Input){copy, n};
}

static void read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) stop("cannot read", path);
    uint8_t *room = must(malloc(option.most));
    keep(room, fread(room, 1, option.most, f));
    free(room);
    fclose(f);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{ return strcmp((*a)->d_name, (*b)->d_name); }

static void read_folder(const char *path)
{
    struct dirent **entry;
    const int n = scandir(path, &entry, NULL, by_name);
    for (int k = 0; k < n; k++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entry[k]->d_name);
        if (entry[k]->d_name[0] != '.') read_file(name);
        free(entry[k]);
    }
    if (n >= 0) free(entry);
    if (!option.folder) option.folder = path;
}

/* A line is NAME="text" or "text"; \\, \" and \xAB are understood. */
static void read_word(const char *s)
{
    char out[128];
    size_t n = 0;
    if (*s == '#' || !(s = strchr(s, '"')) || nword == MAXWORD) return;
    for (s++; *s && *s != '"' && n < sizeof out; s++) {
        unsigned value = (unsigned char)*s;
        if (*s == '\\' && s[1] == 'x' && sscanf(s + 2, "%2x", &value) == 1)
            s += 3;
        else if (*s == '\\')
            value = (unsigned char)*++s;
        out[n++] = (char)value;
    }
    word[nword] = must(malloc(n + 1));
    memcpy(word[nword], out, n);
    word_size[nword++] = n;
}

static void read_words(const char *path)
{
    char line[256];
    FILE *f = fopen(path, "r");
    if (!f) stop("cannot read", path);
    while (fgets(line, sizeof line, f)) read_word(line);
    fclose(f);
}

/* ---- changes; now.at has room for option.most bytes ---- */
static void replace(size_t at, size_t old, const void *with, size_t n)
{
    if (at + old > now.n) old = now.n - at;
    if (now.n - old + n > option.most) return;
    memmove(now.at + at + n, now.at + at + old, now.n - at - old);
    if (n) memmove(now.at + at, with, n);
    now.n += n - old;
}

static void change_number(void)
{
    static const char *const numbers[] = {
        "0",  "1",   "2",    "3",   "4",     "7",          "8",          "16",
        "63", "64",  "65",   "256", "65536", "2147483647", "2147483648", "9223372036854775807",
        "-1", "0.5", "1e300"};
    size_t at = below(now.n), n = 0;
    for (size_t k = 0; k < now.n && !(now.at[at] >= '0' && now.at[at] <= '9'); k++) at = (at + 1) % now.n;
    while (at + n < now.n && now.at[at + n] >= '0' && now.at[at + n] <= '9') n++;
    const char *s = numbers[below(SC_LEN(numbers))];
    if (n) replace(at, n, s, strlen(s));
}

/* A piece of another input, put in or put over. */
static void splice(void)
{
    const Input *x = &at_hand[below((size_t)ninput)];
    const size_t from = below(x->n), n = x->n ? 1 + below(x->n - from) : 0;
    replace(below(now.n + 1), below(2) ? n : 0, x->at + from, n);
}

static void copy_block(void)
{
    uint8_t block[64];
    const size_t from = below(now.n);
    size_t n = 1 + below(sizeof block - 1);
    if (n > now.n - from) n = now.n - from;
    memcpy(block, now.at + from, n);
    replace(below(now.n + 1), below(2) ? n : 0, block, n);
}

static void change(void)
{
    const uint8_t byte = (uint8_t)random_bits(), small = (uint8_t)(byte % 8);
    const size_t at = below(now.n), w = below((size_t)nword);
    switch (now.n ? below(11) : 0) {
    case 0: replace(at, 0, &byte, 1); break;
    case 1: now.at[at] = byte; break;
    case 2: now.at[at] = small; break;
    case 3: now.at[at] ^= (uint8_t)(1u << byte % 8); break;
    case 4: now.at[at] = (uint8_t)(now.at[at] + (byte & 1 ? 1 : -1)); break;
    case 5: replace(at, 1 + below(below(4) ? 4 : 32), NULL, 0); break;
    case 6: copy_block(); break;
    case 7: change_number(); break;
    case 8:
    case 9:
        if (nword) replace(at, below(2) ? word_size[w] : 0, word[w], word_size[w]);
        break;
    default: splice(); break;
    }
}

/* ---- runs ---- */
static void save(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%scrash", option.prefix);
    write_file(path, &now);
    fprintf(stderr, "the input is in %s\n", path);
}

static void on_signal(int number)
{
    signal(number, SIG_DFL);
    if (number == SIGALRM) fprintf(stderr, "an input takes more than %u seconds\n", option.timeout);
    save();
    _exit(77);
}

__attribute__((weak)) void __sanitizer_set_death_callback(void (*)(void)); /* absent without sanitizers */

static void run_now(void)
{
    uint8_t *copy = must(malloc(now.n ? now.n : 1)); /* of its exact size, so that a sanitizer sees its end */
    memcpy(copy, now.at, now.n);
    alarm(option.timeout);
    before = 0;
    LLVMFuzzerTestOneInput(copy, now.n);
    alarm(0);
    free(copy);
}

static void take(const Input *x)
{
    now.n = x->n < option.most ? x->n : option.most;
    memcpy(now.at, x->at, now.n);
}

static void keep_new(void)
{
    char path[4096];
    uint64_t h = 0xcbf29ce484222325u;
    keep(now.at, now.n);
    if (!option.folder) return;
    for (size_t k = 0; k < now.n; k++) h = (h ^ now.at[k]) * 0x100000001b3u;
    snprintf(path, sizeof path, "%s/%016llx", option.folder, (unsigned long long)h);
    write_file(path, &now);
}

static long fuzz(double start)
{
    long n = 0;
    while ((option.runs < 0 || n < option.runs) &&
           (option.seconds <= 0 || seconds() - start < option.seconds)) {
        const size_t recent = (size_t)(ninput < 64 ? ninput : 64); /* half of the time one of these */
        take(&at_hand[below(2) ? below((size_t)ninput) : (size_t)ninput - 1 - below(recent)]);
        for (size_t k = 1 + below(4); k; k--) change();
        run_now();
        n++;
        if (is_new()) keep_new();
    }
    return n;
}

static void read_option(const char *s)
{
    const char *value = strchr(s, '=');
    if (!value++) return;
    if (!strncmp(s, "-max_total_time=", 16)) option.seconds = strtod(value, NULL);
    if (!strncmp(s, "-runs=", 6)) option.runs = strtol(value, NULL, 10);
    if (!strncmp(s, "-seed=", 6)) state = strtoull(value, NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    if (!strncmp(s, "-max_len=", 9)) option.most = strtoul(value, NULL, 10);
    if (!strncmp(s, "-timeout=", 9)) option.timeout = (unsigned)strtoul(value, NULL, 10);
    if (!strncmp(s, "-artifact_prefix=", 17)) option.prefix = value;
    if (!strncmp(s, "-dict=", 6)) read_words(value);
}

int main(int argc, char **argv)
{
    struct stat about;
    for (int k = 1; k < argc; k++)
        if (argv[k][0] == '-') read_option(argv[k]);
    for (int k = 1; k < argc; k++) {
        if (argv[k][0] == '-') continue;
        if (stat(argv[k], &about)) stop("cannot read", argv[k]);
        nfile += !S_ISDIR(about.st_mode);
        S_ISDIR(about.st_mode) ? read_folder(argv[k]) : read_file(argv[k]);
    }
    if (!ninput) keep((const uint8_t *)"", 0);
    now.at = must(malloc(option.most + 1));
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(save);
    const double start = seconds();
    const int given = ninput;
    for (int k = 0; k < given; k++) {
        take(&at_hand[k]);
        run_now();
        is_new();
    }
    const long n = given + (nfile ? 0 : fuzz(start));
    printf("Done %ld runs in %.0f second(s), %d inputs at hand\n", n, seconds() - start, ninput);
    return 0;
}
