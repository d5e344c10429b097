/* table.c: the programs that this process keeps.
 *
 * A table of keys, each with a program: requests byte for byte, and texts by their digest, so that requests which
 * differ in a batch size share one program. A program is counted: each key holds it, and so does each call while it
 * runs. The table is bounded by the bytes of programs and keys; beyond, those that were not used for longest go.
 *
 * A key is made by one thread, without the lock, while others that ask for it wait. Callers that remember a program
 * hold a handle, not the program: a place in the table and how often it was taken, so that nothing that lives long
 * keeps a program from going. A handle is good for as many threads as there were: the schedule was chosen for them. */
#include "run.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct entry entry;
struct entry {
    entry *next; /* of its bucket; of those that go */
    uint64_t hash, used;
    sc_program *program; /* null while it is being made */
    uint32_t place;
    size_t size;
    char key[];
};

typedef struct { /* what handles point to */
    entry *e;
    uint32_t taken; /* how often; odd while it is in use */
} place;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t made;
    entry **bucket;
    place *places;
    uint32_t nbucket, nentry, nplace, free_place; /* free_place: 1 + one that may be free */
    uint64_t clock;
    int64_t key_bytes, limit;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .made = PTHREAD_COND_INITIALIZER, .limit = SC_PROGRAM_BYTES};

enum { BUCKETS = 256, EVERY_MS = 20 };

/* ---- fork ---- */
static void lock_table(void) { pthread_mutex_lock(&table.lock); }
static void unlock_table(void) { pthread_mutex_unlock(&table.lock); }

static entry **link_of(uint64_t hash, const char *key, size_t n)
{
    entry **e = &table.bucket[hash & (table.nbucket - 1)];
    while (*e && !((*e)->hash == hash && (*e)->size == n && !memcmp((*e)->key, key, n))) e = &(*e)->next;
    return e;
}

/* Takes the entry out of the table; the caller frees it. */
static entry *unlinked(entry **link)
{
    entry *e = *link;
    *link = e->next;
    table.nentry--;
    table.key_bytes -= (int64_t)(sizeof *e + e->size);
    table.places[e->place].e = NULL;
    table.places[e->place].taken++;
    table.free_place = e->place + 1;
    return e;
}

/* In the child nobody makes what other threads of the parent were making. */
static void in_child(void)
{
    table.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    table.made = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    for (uint32_t b = 0; b < table.nbucket; b++)
        for (entry **link = &table.bucket[b]; *link;)
            if ((*link)->program)
                link = &(*link)->next;
            else
                free(unlinked(link));
}

static void watch_fork(void) { pthread_atfork(lock_table, unlock_table, in_child); }

/* ---- keys ---- */
static uint64_t hash_of(const char *s, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, eight bytes a step */
    for (; n >= 8; n -= 8, s += 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        h = (h ^ w) * 0x100000001b3u;
        h ^= h >> 29;
    }
    for (; n; n--, s++) h = (h ^ (uint8_t)*s) * 0x100000001b3u;
    return h ^ h >> 32;
}

/* As many buckets as entries, within a factor of four; what cannot grow gets slower. */
static bool resized(void)
{
    const uint32_t n = table.nbucket;
    uint32_t want = n ? n : BUCKETS;
    if (table.nentry > n) want = n ? 2 * n : BUCKETS;
    if (n > BUCKETS && table.nentry < n / 8) want = n / 2;
    if (want == n) return true;
    entry **fresh = sc_zalloc(want * sizeof(entry *));
    if (!fresh) return n > 0;
    for (uint32_t b = 0; b < n; b++)
        for (entry *e = table.bucket[b], *next; e; e = next) {
            entry **to = &fresh[e->hash & (want - 1)];
            next = e->next;
            e->next = *to;
            *to = e;
        }
    free(table.bucket);
    table.bucket = fresh;
    table.nbucket = want;
    return true;
}

/* A place for handles; false: no memory. */
static bool take_place(entry *e)
{
    uint32_t k = table.free_place ? table.free_place - 1 : 0;
    for (uint32_t tries = 0; tries < table.nplace && table.places[k].e; tries++) k = (k + 1) % table.nplace;
    if (!table.nplace || table.places[k].e) {
        const uint32_t n = table.nplace ? 2 * table.nplace : BUCKETS;
        place *more = sc_realloc(table.places, n * sizeof *more);
        if (!more) return false;
        memset(more + table.nplace, 0, (n - table.nplace) * sizeof *more);
        k = table.nplace;
        table.places = more;
        table.nplace = n;
    }
    table.places[k].e = e;
    table.places[k].taken++;
    table.free_place = k + 2 > table.nplace ? 1 : k + 2;
    e->place = k;
    return true;
}

static entry *add(uint64_t hash, const char *key, size_t n)
{
    entry *e = resized() ? sc_malloc(sizeof *e + n) : NULL;
    if (!e) return NULL;
    *e = (entry){.hash = hash, .used = ++table.clock, .size = n};
    memcpy(e->key, key, n);
    if (!take_place(e)) return free(e), NULL;
    entry **head = &table.bucket[hash & (table.nbucket - 1)];
    e->next = *head;
    *head = e;
    table.nentry++;
    table.key_bytes += (int64_t)(sizeof *e + n);
    return e;
}

/* ---- room ---- */
static int by_use(const void *a, const void *b)
{
    const entry *x = *(entry *const *)a, *y = *(entry *const *)b;
    return (x->used > y->used) - (x->used < y->used);
}

static int64_t bytes_now(void) { return table.key_bytes + atomic_load(&sc_this_process.program_bytes); }

/* Everything that is made, the least recently used first; null: no memory. */
static entry **aged(uint32_t *n)
{
    entry **all = sc_malloc((table.nentry + 1) * sizeof *all);
    *n = 0;
    for (uint32_t b = 0; all && b < table.nbucket; b++)
        for (entry *e = table.bucket[b]; e; e = e->next)
            if (e->program) all[(*n)++] = e;
    if (all) qsort(all, *n, sizeof *all, by_use);
    return all;
}

/* Frees what is least recently used, down to three quarters of the limit. Programs that are in use stay until they are
 * not: what they take does not count on. */
static void make_room(void)
{
    uint32_t n;
    if (bytes_now() <= table.limit) return;
    entry **all = aged(&n);
    for (uint32_t k = 0; all && k < n && bytes_now() > table.limit / 4 * 3; k++) {
        entry *e = unlinked(link_of(all[k]->hash, all[k]->key, all[k]->size));
        sc_program_release(e->program);
        free(e);
        atomic_fetch_add(&sc_this_process.forgotten, 1);
    }
    free(all);
    resized();
}

/* ---- finding ---- */
static uint64_t handle_of(const entry *e) { return (uint64_t)table.places[e->place].taken << 32 | e->place; }

static sc_program *used(entry *e)
{
    e->used = ++table.clock;
    return sc_program_retain(e->program);
}

/* Waits for news of what others make; a signal may end it. */
static int wait_for_others(sc_err *err)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += EVERY_MS * 1000000;
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    if (pthread_cond_timedwait(&table.made, &table.lock, &t) != ETIMEDOUT) return SC_OK;
    pthread_mutex_unlock(&table.lock);
    const bool stop = sc_stopped();
    pthread_mutex_lock(&table.lock);
    return stop ? sc_error(err, SC_ESTOP, "interrupted while another thread compiles") : SC_OK;
}

/* With the lock held. */
static int find(const char *key, size_t n, sc_program **out, uint64_t *handle, sc_err *err)
{
    const uint64_t hash = hash_of(key, n);
    for (entry *e; table.nbucket && (e = *link_of(hash, key, n));) {
        if (e->program) {
            *out = used(e);
            *handle = handle_of(e);
            return SC_OK;
        }
        if (wait_for_others(err)) return err->code;
    }
    return add(hash, key, n) ? SC_OK : sc_error(err, SC_ENOMEM, "out of memory");
}

int sc_table_find(const char *key, size_t n, sc_program **out, uint64_t *handle, sc_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *out = NULL;
    *handle = 0;
    pthread_once(&once, watch_fork);
    pthread_mutex_lock(&table.lock);
    const int rc = find(key, n, out, handle, err);
    pthread_mutex_unlock(&table.lock);
    return rc;
}

void sc_table_made(const char *key, size_t n, sc_program *p, uint64_t *handle)
{
    pthread_mutex_lock(&table.lock);
    entry **link = link_of(hash_of(key, n), key, n);
    if (p) {
        (*link)->program = sc_program_retain(p);
        *handle = handle_of(*link);
        make_room();
    } else {
        free(unlinked(link));
    }
    pthread_cond_broadcast(&table.made);
    pthread_mutex_unlock(&table.lock);
}

sc_program *sc_program_again(uint64_t handle)
{
    const uint32_t k = (uint32_t)handle;
    const char threads = sc_key_threads();
    sc_program *p = NULL;
    pthread_mutex_lock(&table.lock);
    entry *e = k < table.nplace && table.places[k].taken == handle >> 32 ? table.places[k].e : NULL;
    if (e && e->key[1] == threads) p = used(e);
    pthread_mutex_unlock(&table.lock);
    return p;
}

/* With the lock held. The key says what it is of: see request_key() of program.c. */
static bool is_stale(const entry *e, bool all)
{
    const bool request = e->key[0] == SC_KEY_PLAIN || e->key[0] == SC_KEY_SCHEDULED;
    return e->program && request && (all || e->key[0] == SC_KEY_PLAIN || e->program->steps);
}

void sc_table_drop(bool all)
{
    entry *gone = NULL;
    pthread_mutex_lock(&table.lock);
    for (uint32_t b = 0; b < table.nbucket; b++)
        for (entry **link = &table.bucket[b]; *link;) {
            if (!is_stale(*link, all)) {
                link = &(*link)->next;
                continue;
            }
            entry *e = unlinked(link);
            e->next = gone;
            gone = e;
        }
    pthread_mutex_unlock(&table.lock);
    for (entry *next; gone; gone = next) {
        next = gone->next;
        sc_program_release(gone->program);
        free(gone);
    }
}

void sc_table_limit(int64_t bytes)
{
    pthread_mutex_lock(&table.lock);
    table.limit = bytes;
    make_room();
    pthread_mutex_unlock(&table.lock);
}

void sc_table_stats(sc_stats *s)
{
    pthread_mutex_lock(&table.lock);
    s->kept_keys = table.nentry;
    s->kept_bytes = bytes_now();
    s->kept_limit = table.limit;
    pthread_mutex_unlock(&table.lock);
}
