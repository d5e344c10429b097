/* base.c: arena, text buffers, checked arithmetic, the error path, the clock, SHA-256. */
#include "base.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- errors ---- */
int sc_error(sc_err *e, int code, const char *fmt, ...)
{
    va_list ap;
    if (!e || e->code != SC_OK) return code;
    e->code = code;
    e->pos = -1;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    return code;
}

/* ---- time ---- */
int64_t sc_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- allocation ---- */
/* Requests are counted from 1 while some are to fail: those from first on, before end. */
static struct {
    atomic_long first, end, asked;
} refused;

long sc_fail_alloc(long first, long n)
{
    const long end = atomic_exchange(&refused.end, 0), asked = atomic_exchange(&refused.asked, 0);
    const long failed = (asked + 1 < end ? asked + 1 : end) - atomic_exchange(&refused.first, first);
    atomic_store(&refused.end, n > 0 ? first + n : 0);
    return end && failed > 0 ? failed : 0;
}

bool sc_alloc_fails(void)
{
    if (!atomic_load_explicit(&refused.end, memory_order_relaxed)) return false;
    const long k = atomic_fetch_add(&refused.asked, 1) + 1;
    return k >= atomic_load(&refused.first) && k < atomic_load(&refused.end);
}

/* A system that promises more memory than it has ends the process that writes to it, so what is large is compared
 * with what is left, and with what a container may have. */
#define LARGE ((size_t)1 << 30)

/* The number behind a name in a file of the system, or most. */
static size_t system_says(const char *file, const char *name, size_t most)
{
    char text[4096];
    FILE *f = fopen(file, "re");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    const char *at = strstr(text, name), *digits = at ? at + strcspn(at, "0123456789") : "";
    return *digits ? strtoull(digits, NULL, 10) : most;
}

static bool beyond_memory(size_t size)
{
    static const char *const system = "/proc/meminfo", *const container = "/sys/fs/cgroup/memory.max";
    return size >= LARGE && (size > system_says(container, "", SIZE_MAX) ||
                             size / 1024 > system_says(system, "MemAvailable", SIZE_MAX / 2) +
                                               system_says(system, "SwapFree", 0));
}

bool sc_fits(double bytes) { return bytes < (double)SIZE_MAX && !beyond_memory((size_t)bytes); }

static bool refuses(size_t size) { return sc_alloc_fails() || beyond_memory(size); }

/* The memory sanitizer follows bytes that nobody has set by itself. */
#if defined(__has_feature)
#define POISONS !__has_feature(memory_sanitizer)
#else
#define POISONS 1
#endif

static void *poisoned(void *p, size_t size)
{
#if defined(SC_PLAIN_MEMORY) && POISONS
    if (p) memset(p, SC_POISON, size);
#endif
    (void)size;
    return p;
}

void *sc_malloc(size_t size) { return refuses(size) ? NULL : poisoned(malloc(size ? size : 1), size); }

void *sc_malloc_aligned(size_t align, size_t size)
{
    void *p = NULL;
    if (refuses(size) || posix_memalign(&p, align, size ? size : 1)) return NULL;
    return poisoned(p, size);
}

void *sc_zalloc(size_t size)
{
    void *p = sc_malloc(size);
    return p ? memset(p, 0, size) : NULL;
}

void *sc_realloc(void *p, size_t size) { return refuses(size) ? NULL : realloc(p, size ? size : 1); }

/* ---- arena ---- */
struct sc_chunk {
    sc_chunk *next;
    size_t size;
};
#if defined(SC_PLAIN_MEMORY)
#define FIRST ((size_t)0) /* a chunk for every request, of its size */
#define CHUNK ((size_t)0)
#define STEP ((size_t)1)
#else
/* Chunks are set to zero: the first is small, each other twice the last, up to CHUNK. */
#define FIRST ((size_t)1 << 12)
#define CHUNK ((size_t)1 << 16)
#define STEP ((size_t)16)
#endif
#define HEAD ((sizeof(sc_chunk) + 15) & ~(size_t)15)

void *sc_arena_get(sc_arena *a, size_t size)
{
    size = (size + STEP - 1) & ~(STEP - 1);
    if (!a->head || a->used + size > a->head->size) {
        size_t room = !a->head ? FIRST : a->head->size < CHUNK / 2 ? 2 * a->head->size : CHUNK;
        if (room < size) room = size;
        sc_chunk *c = sc_malloc(HEAD + room);
        if (!c) {
            if (a->nomem) a->nomem(a->ctx);
            return NULL;
        }
        memset(c, 0, HEAD + room);
        c->next = a->head;
        c->size = room;
        a->head = c;
        a->used = 0;
    }
    void *p = (char *)a->head + HEAD + a->used;
    a->used += size;
    a->total += size;
    return p;
}

void *sc_arena_copy(sc_arena *a, const void *p, size_t size)
{
    void *q = sc_arena_get(a, size);
    if (q && size) memcpy(q, p, size);
    return q;
}

/* Few texts are longer than the room that they are tried in: formatting is what takes the time. */
char *sc_arena_printf(sc_arena *a, const char *fmt, ...)
{
    char tried[128];
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(tried, sizeof tried, fmt, ap);
    va_end(ap);
    char *s = sc_arena_get(a, (size_t)n + 1);
    if (s && n < (int)sizeof tried)
        memcpy(s, tried, (size_t)n + 1);
    else if (s)
        vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}

void sc_arena_free(sc_arena *a)
{
    for (sc_chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    memset(a, 0, sizeof *a);
}

/* ---- text ---- */
static bool reserve(sc_text *t, size_t more)
{
    if (t->failed) return false;
    if (t->n + more + 1 <= t->cap) return true;
    size_t cap = t->cap ? t->cap * 2 : 512;
    while (cap < t->n + more + 1) cap *= 2;
    char *s = t->arena ? sc_arena_get(t->arena, cap) : sc_realloc(t->s, cap);
    if (!s) return !(t->failed = true);
    if (t->arena && t->n) memcpy(s, t->s, t->n + 1);
    t->s = s;
    t->cap = cap;
    return true;
}

void sc_text_addn(sc_text *t, const char *s, size_t n)
{
    if (!reserve(t, n)) return;
    memcpy(t->s + t->n, s, n);
    t->s[t->n += n] = 0;
}

void sc_text_add(sc_text *t, const char *fmt, ...)
{
    va_list ap, again;
    if (!reserve(t, 0)) return;
    const size_t room = t->cap - t->n;
    va_start(ap, fmt);
    va_copy(again, ap);
    const int n = vsnprintf(t->s + t->n, room, fmt, ap);
    va_end(ap);
    const bool fits = n >= 0 && (size_t)n < room;
    t->s[t->n + (fits ? (size_t)n : 0)] = 0;
    if (!fits && n >= 0 && reserve(t, (size_t)n)) vsnprintf(t->s + t->n, (size_t)n + 1, fmt, again);
    if (n >= 0 && !t->failed) t->n += (size_t)n;
    va_end(again);
}

void sc_text_free(sc_text *t)
{
    free(t->s);
    memset(t, 0, sizeof *t);
}

/* ---- checked arithmetic ---- */
bool sc_mul(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }
bool sc_add(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }

uint8_t sc_log2_up(int64_t n)
{ return (uint8_t)(n <= 2 ? 1 : 64 - __builtin_clzll((unsigned long long)n - 1)); }

/* ---- SHA-256 (FIPS 180-4) ---- */
static const uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t ror(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha_block(uint32_t h[8], const uint8_t *p)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 |
               p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (ror(a, 7) ^ ror(a, 18) ^ a >> 3) + w[i - 7] + (ror(b, 17) ^ ror(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = ror(v[4], 6) ^ ror(v[4], 11) ^ ror(v[4], 25), ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + ch + sha_k[i] + w[i];
        uint32_t s0 = ror(v[0], 2) ^ ror(v[0], 13) ^ ror(v[0], 22);
        uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) h[i] += v[i];
}

void sc_sha256(const void *data, size_t n, char hex[65])
{
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint8_t *p = data;
    size_t i = 0;
    for (; i + 64 <= n; i += 64) sha_block(h, p + i);
    uint8_t tail[128] = {0};
    size_t rest = n - i, end = rest < 56 ? 64 : 128;
    if (rest) memcpy(tail, p + i, rest);
    tail[rest] = 0x80;
    for (int k = 0; k < 8; k++) tail[end - 1 - (size_t)k] = (uint8_t)((uint64_t)n * 8 >> (8 * k));
    for (size_t k = 0; k < end; k += 64) sha_block(h, tail + k);
    for (int k = 0; k < 8; k++) snprintf(hex + 8 * k, 9, "%08x", h[k]);
}
