/* target.c: the CPU as an explicit list of features.
 *
 * One table says how a feature is called, where cpuid shows it and from which
 * vector width on it is used. Flags for the compiler and the check of the
 * running CPU are both read off it, so an object never holds an instruction
 * that was not looked for. "-march=native" would do the opposite: one name
 * for whatever machine happens to share a home directory. */
#include "private.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

#define BASE "-march=x86-64"
#define MAXWIDTH 64
enum { EBX, ECX };
static const struct {
    const char *flag;
    unsigned leaf;
    uint8_t reg, bit;
    uint8_t width; /* part of targets of this width and wider */
} feature[] = {
    {"cx16", 1, ECX, 13, 32},     {"sahf", 0x80000001, ECX, 0, 32},  {"popcnt", 1, ECX, 23, 32},
    {"sse3", 1, ECX, 0, 32},      {"ssse3", 1, ECX, 9, 32},          {"sse4.1", 1, ECX, 19, 32},
    {"sse4.2", 1, ECX, 20, 32},   {"avx", 1, ECX, 28, 32},           {"avx2", 7, EBX, 5, 32},
    {"bmi", 7, EBX, 3, 32},       {"bmi2", 7, EBX, 8, 32},           {"f16c", 1, ECX, 29, 32},
    {"fma", 1, ECX, 12, 32},      {"lzcnt", 0x80000001, ECX, 5, 32}, {"movbe", 1, ECX, 22, 32},
    {"avx512f", 7, EBX, 16, 64},  {"avx512bw", 7, EBX, 30, 64},      {"avx512cd", 7, EBX, 28, 64},
    {"avx512dq", 7, EBX, 17, 64}, {"avx512vl", 7, EBX, 31, 64},
};

static const char *level_name(int width)
{ return width == 64 ? "x86-64-v4" : width == 32 ? "x86-64-v3" : "x86-64"; }

/* Widest registers that the system saves: XCR0, not what the CPU could do. */
static int saved_width(void)
{
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 16;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 0xe6) == 0xe6 ? 64 : (low & 6) == 6 ? 32 : 16;
}

static uint32_t detect(void)
{
    uint32_t have = 0;
    int saved = saved_width();
    for (int i = 0; i < SC_LEN(feature); i++) {
        unsigned a = 0, r[2] = {0, 0}, d = 0;
        if (feature[i].width > saved || !__get_cpuid_count(feature[i].leaf, 0, &a, &r[EBX], &r[ECX], &d))
            continue;
        have |= (r[feature[i].reg] >> feature[i].bit & 1) << i;
    }
    return have;
}

static bool detect_dots(void)
{
    unsigned a = 0, b, c, d;
    return saved_width() == 64 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 5 & 1;
}

static void add_features(sc_target *t)
{
    size_t n = strlen(t->flags);
    for (int i = 0; i < SC_LEN(feature); i++)
        if (feature[i].width <= t->vector_bytes) {
            t->features |= (uint32_t)1 << i;
            n += (size_t)snprintf(t->flags + n, sizeof t->flags - n, " -m%s", feature[i].flag);
        }
    if (t->vector_bytes == 64) snprintf(t->flags + n, sizeof t->flags - n, " -mprefer-vector-width=512");
}
/* The brand, and the signature: virtual machines hide much behind one brand. */
static void name_model(char *out, size_t size)
{
    unsigned r[12] = {0}, a = 0, b, c, d;
    for (unsigned k = 0; k < 3; k++)
        if (!__get_cpuid(0x80000002 + k, &r[4 * k], &r[4 * k + 1], &r[4 * k + 2], &r[4 * k + 3])) r[0] = 0;
    __get_cpuid(1, &a, &b, &c, &d);
    snprintf(out, size, "%.48s, signature %x", (const char *)r, a);
}
#else
#if defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__aarch64__)
#define BASE "-march=armv8-a"
#define LEVEL "armv8-a"
#else
#define BASE ""
#define LEVEL "generic"
#endif
#define MAXWIDTH 16
static const char *level_name(int width) { return width == 16 ? LEVEL : ""; }
static uint32_t detect(void) { return 0; }
static void add_features(sc_target *t) { t->features = 0; }

/* The 128 bits of every ARM and pairs of bf16 are all that is used: no kernel computes with bytes, and vectors of unknown
 * length (SVE) have no place in a text of one width. */
#if defined(__aarch64__) && defined(__linux__)
static bool detect_dots(void)
{
    enum { BF16 = 1 << 14 };
    return getauxval(AT_HWCAP2) & BF16;
}

/* Implementer, part and revision of a core, or 0: of one that is off, or where the system does not say. */
static unsigned long long core_id(long cpu)
{
    char path[96];
    unsigned long long id = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/regs/identification/midr_el1", cpu);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%llx", &id) != 1) id = 0;
    if (f) fclose(f);
    return id;
}

/* The register itself, of the core this runs on: programs may read it where the system says so. */
static unsigned long long this_core(void)
{
    unsigned long long id = 0;
    if (getauxval(AT_HWCAP) & HWCAP_CPUID) __asm__("mrs %0, midr_el1" : "=r"(id));
    return id;
}

/* All kinds of cores: what runs here may be moved from small ones to large ones, and two systems may share one kind. */
static void name_cores(char *out, size_t size)
{
    unsigned long long kind[8] = {0};
    int n = 0, k;
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF) && n < SC_LEN(kind); cpu++) {
        kind[n] = core_id(cpu);
        for (k = 0; kind[k] != kind[n]; k++) {}
        n += k == n && kind[n];
    }
    if (!n) kind[n++] = this_core();
    size_t used = 0;
    for (k = 0; k < n && used < size; k++)
        used += (size_t)snprintf(out + used, size - used, "%s%llx", k ? " " : "", kind[k]);
}
#elif defined(__APPLE__)
static bool detect_dots(void)
{
    int has = 0;
    size_t size = sizeof has;
    return !sysctlbyname("hw.optional.arm.FEAT_BF16", &has, &size, NULL, 0) && has;
}

static void name_cores(char *out, size_t size)
{
    if (sysctlbyname("machdep.cpu.brand_string", out, &size, NULL, 0)) out[0] = 0;
}
#else
static bool detect_dots(void) { return false; }
static void name_cores(char *out, size_t size) { snprintf(out, size, "unknown"); }
#endif

/* What is measured on one kind of core is not believed on another. */
static void name_model(char *out, size_t size)
{
    char cores[100] = "";
    name_cores(cores, sizeof cores);
    snprintf(out, size, "%s, core %s", level_name(16), cores);
}
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT, once_named = PTHREAD_ONCE_INIT;
static uint32_t present;
static char model[128];
static bool dots;
static void look(void)
{
    present = detect();
    dots = detect_dots();
}
static void look_named(void) { name_model(model, sizeof model); }

/* Asked once: a system has a file for every core, and a virtual machine is left for each question. */
void sc_target_model(char *out, size_t size)
{
    pthread_once(&once_named, look_named);
    snprintf(out, size, "%s", model);
}

bool sc_target_make(sc_target *t, int vector_bytes)
{
    if ((vector_bytes != 16 && vector_bytes != 32 && vector_bytes != 64) || vector_bytes > MAXWIDTH)
        return false;
    memset(t, 0, sizeof *t);
    t->vector_bytes = vector_bytes;
    snprintf(t->name, sizeof t->name, "%s", level_name(vector_bytes));
    snprintf(t->flags, sizeof t->flags, "%s", BASE);
    add_features(t);
    return true;
}

/* No part of the target: texts that use the instruction are made for CPUs that have it alone. */
bool sc_target_dots(const sc_target *t)
{
    pthread_once(&once, look);
    return t->vector_bytes == SC_DOTS_WIDTH && dots;
}

bool sc_target_runs(const sc_target *t)
{
    pthread_once(&once, look);
    return (t->features & ~present) == 0 && t->vector_bytes <= MAXWIDTH;
}

void sc_target_host(sc_target *t)
{
    int width = MAXWIDTH;
    while (!sc_target_make(t, width) || (width > 16 && !sc_target_runs(t))) width /= 2;
}
