/* speeds.c: how this machine differs from the one that the constants of schedule/machine.c are told for.
 *
 * A handful of loops is timed, each what one group of constants stands for, and compared with what it takes on the
 * typical machine. So the constants keep what they were fitted for, and only their proportions move. A ratio counts in
 * steps of a quarter of an octave, and what is near 1 counts as 1: noise changes no choice. Nothing is measured unless it is asked
 * for, once for a kind of CPU; then every process on it chooses alike. The folder "speeds" of the cache directory keeps
 * the steps as text under a hash of the CPU; what cannot be read is as if it were not there. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

#define FOLDER "speeds"
#define MAXSTEP 8         /* four times */
#define ROUNDS 24         /* of each loop; the fastest counts */
#define LONG 80000000     /* nanoseconds; no loop has more */
#define FAR (96 << 20)    /* bytes that no cache holds */
#define NEAR (16 << 10)   /* bytes that every first cache holds */
#define ROW 16            /* floats */
#define UNKNOWN INT64_MIN /* as a set of steps */

const char *const sc_speed_names[SC_NSPEED] = {"core",   "branch", "l2",    "l3",
                                               "memory", "insert", "clear", "team"};

/* ---- the loops: each returns nanoseconds of one turn ---- */
typedef struct {
    float *far; /* FAR bytes of zeros, all of them touched */
    uint32_t *at;
    int64_t cache[3];
    uint32_t seed; /* goes on: what is the same again is foreseen */
} Bench;
enum { TURNS = 4096 };

static volatile float sink; /* what was computed has a use */

static void draw(Bench *b, uint32_t n)
{
    for (int i = 0; i < TURNS; i++) {
        b->seed = b->seed * 1664525 + 1013904223;
        b->at[i] = (uint32_t)((uint64_t)b->seed * n >> 32);
    }
}

/* Rows of a region of so many bytes, chosen at random. */
static float read_rows(const Bench *b)
{
    float sum[ROW] = {0};
    for (int i = 0; i < TURNS; i++) {
        const float *row = b->far + (size_t)b->at[i] * ROW;
        for (int k = 0; k < ROW; k++) sum[k] += row[k];
    }
    return sum[0] + sum[ROW - 1];
}

static double rows_in(Bench *b, int64_t bytes)
{
    draw(b, (uint32_t)(bytes / (int64_t)(ROW * sizeof(float))));
    if (bytes < FAR) sink = read_rows(b);
    const int64_t start = sc_now();
    sink = read_rows(b);
    return (double)(sc_now() - start) / TURNS;
}

static double core(Bench *b) { return rows_in(b, NEAR); }

/* Two caches of one size, or one that is not known, say nothing of their own. */
static int64_t between(const Bench *b, int k, int64_t typical)
{
    const int64_t size = b->cache[k] ? b->cache[k] : typical;
    return size / 2 < FAR / 4 ? size / 2 : FAR / 4;
}

static double second(Bench *b) { return rows_in(b, between(b, 1, 1 << 20)); }
static double third(Bench *b) { return rows_in(b, between(b, 2, 16 << 20)); }

static double memory(Bench *b)
{
    draw(b, FAR / (ROW * sizeof(float)));
    const int64_t start = sc_now();
    sink = read_rows(b);
    return (double)(sc_now() - start) / TURNS;
}

/* A merge of two lists, whose branches nobody can foresee. */
static double branch(Bench *b)
{
    draw(b, 1u << 30);
    for (int half = 0; half < 2; half++) {
        uint32_t sum = 0;
        for (int i = half * (TURNS / 2); i < (half + 1) * (TURNS / 2); i++)
            b->at[i] = sum += 1 + b->at[i] % 7;
    }
    const uint32_t *x = b->at, *y = b->at + TURNS / 2, *xe = y, *ye = b->at + TURNS;
    float sum = 0;
    const int64_t start = sc_now();
    while (x < xe && y < ye) {
        if (*x < *y)
            x++;
        else if (*y < *x)
            y++;
        else
            sum += b->far[*x & 1023], x++, y++;
    }
    sink = sum;
    return (double)(sc_now() - start) / TURNS;
}

static double insert(Bench *b)
{
    static uint32_t table[2 * TURNS];
    memset(table, 0, sizeof table);
    draw(b, 1u << 31);
    const int64_t start = sc_now();
    for (int i = 0; i < TURNS; i++) {
        const uint32_t key = b->at[i] + 1;
        uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40) & (2 * TURNS - 1);
        while (table[slot] && table[slot] != key) slot = (slot + 1) & (2 * TURNS - 1);
        table[slot] = key;
    }
    sink = (float)table[b->at[0] & 63];
    return (double)(sc_now() - start) / TURNS;
}

static double clear(Bench *b)
{
    const int64_t start = sc_now();
    for (int i = 0; i < 16; i++) {
        memset(b->far, i & 0, 64 << 10);
        __asm__ volatile("" : : "r"(b->far) : "memory");
    }
    return (double)(sc_now() - start) / (16 << 10);
}

static void nothing(void *arg, int id, int n) { (void)arg, (void)id, (void)n; }

static double team(Bench *b)
{
    (void)b;
    double best = INFINITY;
    const int64_t begin = sc_now();
    for (int i = 0; i < 64 && sc_now() - begin < LONG / ROUNDS; i++) {
        const int64_t start = sc_now();
        sc_parallel(sc_team_width(), nothing, NULL);
        best = fmin(best, (double)(sc_now() - start));
    }
    return best;
}

/* Powers of two, so that choices are stable. */
static int64_t bucket(long n)
{
    int64_t b = 1;
    while (n > 0 && b * 3 / 2 < n) b *= 2;
    return n > 0 ? b : 0;
}

/* The line that the system says of a cache of the first core. */
static bool cache_says(int index, const char *what, char line[16])
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
    FILE *f = fopen(path, "re");
    const bool said = f && fgets(line, 16, f);
    if (f) fclose(f);
    return said;
}

/* Bytes of a cache of level 1 to 3; 0 where the system does not say. In a virtual machine the C library may count what
 * others have. */
static int64_t cache_size(int level)
{
    char of[16], type[16], kilobytes[16];
    for (int k = 0; cache_says(k, "level", of); k++)
        if (atoi(of) == level && cache_says(k, "type", type) && *type != 'I' &&
            cache_says(k, "size", kilobytes))
            return bucket(atol(kilobytes) << 10);
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    return bucket(sysconf(names[level - 1]));
#else
    (void)level;
    return bucket(0);
#endif
}

/* Asked for once: to read what the system says takes as long as to compile a small program. */
static int64_t cache_bytes[3];

static void ask_for_caches(void)
{
    for (int k = 0; k < SC_LEN(cache_bytes); k++) cache_bytes[k] = cache_size(k + 1);
}

static int team_size(void) { return (int)bucket(sc_team_width()); }

char sc_key_threads(void) { return (char)__builtin_ctz((unsigned)team_size()); }

void sc_process_machine(Prog *p)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask_for_caches);
    memcpy(p->cache, cache_bytes, sizeof p->cache);
    p->threads = team_size();
    p->speeds = sc_speeds_get();
    p->dots = sc_target_dots(&sc_this_process.target);
    p->multiplies = sc_this_process.multiply != NULL;
    p->swift = sc_this_process.swift;
}

static const struct {
    double (*time)(Bench *);
    double typical; /* nanoseconds, with the constants of schedule/machine.c */
} loops[SC_NSPEED] = {{core, 2.93}, {branch, 3.05}, {second, 2.98}, {third, 5.6},
                      {memory, 25}, {insert, 4.4},  {clear, .385},  {team, 900}};

/* Up to three steps are noise: what shares a cache or a core can make as much of it. */
static int step_of(double ratio)
{
    const double step = round(4 * log2(ratio));
    if (fabs(4 * log2(ratio)) <= 3) return 0;
    return step > MAXSTEP ? MAXSTEP : step < -MAXSTEP ? -MAXSTEP : (int)step;
}

static int measure(sc_speeds *s, sc_err *err)
{
    Prog *machine = sc_zalloc(sizeof *machine);
    Bench b = {.far = sc_malloc(FAR), .at = sc_malloc(TURNS * sizeof *b.at)};
    const bool ok = machine && b.far && b.at;
    if (ok) {
        memset(b.far, 0, FAR);
        sc_process_machine(machine);
        memcpy(b.cache, machine->cache, sizeof b.cache);
    }
    for (int k = 0; ok && k < SC_NSPEED; k++) {
        double best = INFINITY;
        const int64_t begin = sc_now();
        for (int i = 0; i < ROUNDS && sc_now() - begin < LONG; i++) best = fmin(best, loops[k].time(&b));
        s->step[k] =
            (int8_t)(loops[k].time == team && sc_team_width() == 1 ? 0 : step_of(best / loops[k].typical));
    }
    free(machine);
    free(b.far);
    free(b.at);
    return ok ? SC_OK : sc_error(err, SC_ENOMEM, "out of memory");
}

/* ---- in the cache directory ---- */
static void hash_of_cpu(char hash[65])
{
    char model[128];
    sc_text t = {0};
    sc_target_model(model, sizeof model);
    sc_text_add(&t, "speeds 1\n%s\n%s\n", model, sc_this_process.target.flags);
    for (int k = 0; k < SC_NSPEED; k++) sc_text_add(&t, "%s %g\n", sc_speed_names[k], loops[k].typical);
    sc_sha256(t.s ? t.s : "", t.n, hash);
    sc_text_free(&t);
}

/* Lines "name step", all of them; else zeros. */
static sc_speeds parse(const char *s)
{
    sc_speeds out = {{0}};
    for (int k = 0; k < SC_NSPEED; k++) {
        char name[16];
        int step, n = 0;
        if (sscanf(s, "%15s %d\n%n", name, &step, &n) != 2 || !n || strcmp(name, sc_speed_names[k]) ||
            abs(step) > MAXSTEP)
            return (sc_speeds){{0}};
        out.step[k] = (int8_t)step;
        s += n;
    }
    return *s ? (sc_speeds){{0}} : out;
}

static sc_speeds load(void)
{
    char hash[65];
    sc_text t = {0};
    sc_speeds out = {{0}};
    hash_of_cpu(hash);
    if (sc_folder_get(FOLDER, hash, &t)) out = parse(t.s);
    sc_text_free(&t);
    return out;
}

static void save(sc_speeds s)
{
    char hash[65];
    sc_text t = {0};
    hash_of_cpu(hash);
    for (int k = 0; k < SC_NSPEED; k++) sc_text_add(&t, "%s %d\n", sc_speed_names[k], s.step[k]);
    if (!t.failed) sc_folder_put(FOLDER, hash, &t);
    sc_text_free(&t);
}

/* ---- of this process ---- */
static _Atomic int64_t known = UNKNOWN;

static int64_t packed(sc_speeds s)
{
    int64_t bits;
    memcpy(&bits, &s, sizeof bits);
    return bits;
}

sc_speeds sc_speeds_get(void)
{
    sc_speeds s;
    int64_t bits = atomic_load(&known);
    if (bits == UNKNOWN) {
        sc_process_start();
        int64_t expected = UNKNOWN;
        bits = packed(load());
        if (!atomic_compare_exchange_strong(&known, &expected, bits)) bits = expected;
    }
    memcpy(&s, &bits, sizeof s);
    return s;
}

void sc_speeds_forget(void) { atomic_store(&known, UNKNOWN); }

int sc_calibrate(bool forget, sc_speeds *s, bool *kept, sc_err *err)
{
    *s = (sc_speeds){{0}};
    if (!forget && measure(s, err)) return err->code;
    save(*s);
    *kept = packed(load()) == packed(*s);
    atomic_store(&known, packed(*s));
    return SC_OK;
}

void sc_speeds_print(sc_speeds s, sc_text *t)
{
    bool plain = true;
    for (int k = 0; k < SC_NSPEED; k++) plain &= s.step[k] == 0;
    sc_text_add(t, plain ? "a typical machine" : "this machine, against a typical one:");
    for (int k = 0; k < SC_NSPEED && !plain; k++)
        sc_text_add(t, "%s %s %.2f", k ? "," : "", sc_speed_names[k], exp2(s.step[k] / 4.0));
}
