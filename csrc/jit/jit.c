/* jit.c: the way from a text to an object, and the objects of this process.
 *
 * A text is looked for in memory, then on disk, then compiled. Within the
 * process each text is one flight: the first thread to ask flies, the others
 * wait for it and share its object or its error. A flight is there while
 * somebody waits for it or holds its object; then the object is unloaded.
 * Between processes nobody waits: two may compile the same text, and the
 * second takes the entry of the first.
 *
 * A compiler is on probation until it has built something that loads. Only
 * when its first text fails is a trivial kernel built, loaded and called, to
 * tell a bad text from a compiler that cannot work here; in the latter case
 * it is not asked again in this process. One that had to be stopped is on
 * probation again. */
#include "private.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define BUCKETS 256
#define MAXFLAGS 1024

typedef struct flight flight;
struct flight {
    sc_object object; /* first: a copy of what was loaded, which is what callers hold */
    sc_loaded loaded;
    flight *next;
    char key[SC_HASH + 1];
    enum { FLYING, LANDED, FAILED } state;
    int refs; /* who flies, waits or holds */
    sc_err err;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static flight *bucket[BUCKETS];

static sc_jit_mode mode = SC_JIT_AUTO;
static char cflags[MAXFLAGS];
static atomic_bool proved; /* the compiler has built something that loads */

/* ---- fork: the child has no thread that would land a flight ---- */
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

static void in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    news = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    sc_cc_forked();
    for (int i = 0; i < BUCKETS; i++)
        for (flight *f = bucket[i]; f; f = f->next)
            if (f->state == FLYING) f->state = FAILED;
}

static void watch_forks(void) { pthread_atfork(before_fork, after_fork, in_child); }

static void start_up(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
}

/* ---- configuration ---- */
static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

/* Why a flag of the user's is refused, or null. */
static const char *refuse(const char *flag)
{
    static const char *const inexact[] = {"-ffast-math",
                                          "-Ofast",
                                          "-funsafe-math-optimizations",
                                          "-ffinite-math-only",
                                          "-fassociative-math",
                                          "-freciprocal-math",
                                          "--optimize=fast"};
    for (int i = 0; i < SC_LEN(inexact); i++)
        if (strcmp(flag, inexact[i]) == 0)
            return "it changes results, and at link time the arithmetic of the whole process";
    if (starts(flag, "-Xclang")) return "what stands behind it is not looked at here";
    if (flag[0] == '@') return "files of flags are not part of a kernel's key";
    if (starts(flag, "-m") && !starts(flag, "-mtune=") && !starts(flag, "-mno-") &&
        !starts(flag, "-mprefer-vector-width="))
        return "the target is chosen and checked by the library";
    return NULL;
}

/* The next word of a text, which may be null; false at its end. */
static bool next_word(const char **text, char word[MAXFLAGS])
{
    if (!*text || !*(*text += strspn(*text, " \t\n"))) return false;
    const size_t len = strcspn(*text, " \t\n");
    snprintf(word, MAXFLAGS, "%.*s", (int)len, *text);
    *text += len;
    return true;
}

/* What is refused of flags is refused behind the name of a compiler, too. */
static int check_words(const char *cc, sc_err *e)
{
    char word[MAXFLAGS];
    while (next_word(&cc, word)) {
        const char *why = word[0] == '-' || word[0] == '@' ? refuse(word) : NULL;
        if (why) return sc_error(e, SC_EVALUE, "SCORCH_CC must not contain %.100s: %s", word, why);
    }
    return SC_OK;
}

/* Copies flags with single spaces between them. */
static int set_flags(const char *flags, sc_err *e)
{
    char all[MAXFLAGS] = "", flag[MAXFLAGS];
    size_t n = 0;
    if (flags && strlen(flags) >= MAXFLAGS)
        return sc_error(e, SC_EVALUE, "SCORCH_CFLAGS must be shorter than %d characters, got %zu", MAXFLAGS,
                        strlen(flags));
    while (next_word(&flags, flag)) {
        const char *why = refuse(flag);
        if (why) return sc_error(e, SC_EVALUE, "SCORCH_CFLAGS must not contain %.100s: %s", flag, why);
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", n ? " " : "", flag);
    }
    memcpy(cflags, all, sizeof all);
    return SC_OK;
}

int sc_jit_configure(const sc_config *c, sc_err *e)
{
    start_up();
    int rc = set_flags(c->cflags, e);
    if (!rc) rc = check_words(c->cc, e);
    if (!rc) rc = sc_cc_configure(c->cc, e);
    if (!rc) rc = sc_cache_configure(c->cache_dir, e);
    if (rc) return rc;
    mode = c->jit;
    atomic_store(&proved, false);
    return SC_OK;
}

/* ---- compiling ---- */
/* late: the compiler was stopped, which is an error. */
static int build(const sc_cc *cc, const char *ctext, const sc_target *t, const char *key, int seconds,
                 bool *late, sc_text *object, sc_loaded *out, sc_err *e)
{
    char flags[MAXFLAGS + sizeof t->flags + 256];
    char last_place[SC_PATH];
    sc_cache_path(last_place);
    const bool exact = !strncmp(ctext, SC_EXACT, sizeof SC_EXACT - 1);
    snprintf(flags, sizeof flags, "%s %s %s%s", sc_key_flags, t->flags, cflags,
             exact ? " -ffp-contract=off" : "");
    sc_cc_job job = {
        .ctext = ctext, .flags = flags, .key = key, .last_place = last_place, .seconds = seconds};
    int rc = sc_cc_compile(cc, &job, object, e);
    *late = job.late;
    return rc ? rc : sc_load(object, key, SC_KEYLEN, last_place, out, e);
}

/* Builds, loads and calls a kernel that returns 42. */
static int probe(const sc_cc *cc, const sc_target *t, sc_err *e)
{
    sc_loaded l = {0};
    char key[SC_KEYLEN + 1];
    bool late;
    sc_text text = {0}, object = {0};
    sc_text_add(&text,
                "%s\nstatic int probe(const sc_call *c, sc_lane *l, sc_i64 b, sc_i64 e)\n"
                "{ return c || l ? 1 : (int)(b + e); }\n"
                "const sc_object SC_OBJECT = {%d, sizeof(sc_object), SC_KEY, 1, {probe}};\n",
                sc_abi_text, SC_ABI);
    snprintf(key, sizeof key, "%s-%s", cc->hash, cc->hash);
    int rc = text.failed ? sc_error(e, SC_ENOMEM, "no memory for a kernel")
                         : build(cc, text.s, t, key, SC_CC_PROBE, &late, &object, &l, e);
    if (!rc && l.object->entry[0](NULL, NULL, 40, 2) != 42)
        rc = sc_error(e, SC_ECOMPILE, "a kernel that should return 42 does not");
    sc_unload(&l);
    sc_text_free(&text);
    sc_text_free(&object);
    return rc;
}

static int compile(const sc_cc *cc, const char *ctext, const sc_target *t, const char *text_hash,
                   bool replace, sc_loaded *out, sc_err *e)
{
    char key[SC_KEYLEN + 1];
    bool late;
    sc_text object = {0}, theirs = {0};
    sc_err mine = {0}, broken = {0};
    snprintf(key, sizeof key, "%s-%s", text_hash, cc->hash);
    int rc = build(cc, ctext, t, key, SC_CC_SECONDS, &late, &object, out, &mine);
    if (late) atomic_store(&proved, false); /* slow for this text, or hanging from now on */
    if (!rc) {
        atomic_store(&proved, true);
        if (replace || !sc_cache_get(text_hash, cc, &theirs)) sc_cache_put(key, &object);
    } else if (rc == SC_ECOMPILE && !atomic_load(&proved)) {
        if (probe(cc, t, &broken) == SC_ECOMPILE)
            sc_cc_condemn(broken.msg);
        else if (!broken.code)
            atomic_store(&proved, true);
        if (broken.code == SC_ESTOP) rc = SC_ESTOP;
    }
    sc_text_free(&object);
    sc_text_free(&theirs);
    const char *mend =
        late && !broken.code ? "; write the expression as several calls, each a kernel of its own" : "";
    return rc ? sc_error(e, rc == SC_ELACKS ? SC_ECOMPILE : rc, "%s%s", mine.msg, mend) : SC_OK;
}

/* ---- looking ---- */
/* *refused: there is an entry, and it does not load. */
static bool from_disk(const char *text_hash, const sc_cc *cc, sc_loaded *out, bool *refused)
{
    sc_text object = {0};
    sc_err miss = {0};
    char key[SC_KEYLEN + 1], last_place[SC_PATH];
    sc_cache_path(last_place);
    snprintf(key, sizeof key, "%s-%s", text_hash, cc ? cc->hash : "");
    bool there = sc_cache_get(text_hash, cc, &object);
    bool ok = there && sc_load(&object, key, cc ? SC_KEYLEN : SC_HASH + 1, last_place, out, &miss) == SC_OK;
    *refused = there && !ok;
    sc_text_free(&object);
    return ok;
}

static int fly(const char *ctext, const sc_target *t, const char *text_hash, sc_loaded *out, sc_jit_how *how,
               sc_err *e)
{
    sc_err none = {0};
    bool refused;
    const sc_cc *cc = mode == SC_JIT_LOAD ? NULL : sc_cc_find(&none);
    if (none.code && none.code != SC_ECOMPILE) return sc_error(e, none.code, "%s", none.msg);
    *how = SC_JIT_DISK;
    if (from_disk(text_hash, cc, out, &refused)) return SC_OK;
    *how = SC_JIT_COMPILED;
    if (cc) return compile(cc, ctext, t, text_hash, refused, out, e);
    if (mode == SC_JIT_LOAD)
        return sc_error(e, SC_ECOMPILE,
                        "this kernel is not in the cache, and SCORCH_JIT=load forbids compiling it");
    return sc_error(e, SC_ECOMPILE, "this kernel must be compiled, but there is no C compiler: %s", none.msg);
}

/* ---- flights ---- */
static flight **link_of(const char *key)
{
    unsigned b = 0;
    sscanf(key, "%2x", &b);
    flight **f = &bucket[b % BUCKETS];
    while (*f && strcmp((*f)->key, key)) f = &(*f)->next;
    return f;
}

/* With the lock held. */
static flight *find(const char *key)
{
    flight **link = link_of(key), *f = *link;
    if (!f && (f = sc_zalloc(sizeof *f))) {
        memcpy(f->key, key, sizeof f->key);
        f->state = FAILED;
        *link = f;
    }
    if (f) f->refs++;
    return f;
}

/* The flight of a key, landed, failed while we waited, or ours to fly: another's that its user ended is. */
static flight *board(const char *key, bool *pilot)
{
    pthread_mutex_lock(&lock);
    flight *f = find(key);
    *pilot = f && f->state == FAILED;
    while (f && !*pilot && f->state == FLYING) {
        pthread_cond_wait(&news, &lock);
        *pilot = f->state == FAILED && f->err.code == SC_ESTOP;
    }
    if (*pilot) f->state = FLYING;
    pthread_mutex_unlock(&lock);
    return f;
}

static void land(flight *f, int rc, const sc_loaded *loaded, const sc_err *err)
{
    pthread_mutex_lock(&lock);
    f->state = rc ? FAILED : LANDED;
    if (rc)
        f->err = *err;
    else
        f->loaded = *loaded, f->object = *loaded->object;
    pthread_cond_broadcast(&news);
    pthread_mutex_unlock(&lock);
}

/* What came of the flight of another. */
static int arrive(flight *f, sc_err *why)
{
    pthread_mutex_lock(&lock);
    *why = f->err;
    const int rc = f->state == LANDED ? SC_OK : why->code ? why->code : SC_ECOMPILE;
    pthread_mutex_unlock(&lock);
    return rc;
}

static void leave(flight *f)
{
    sc_loaded done = {0};
    pthread_mutex_lock(&lock);
    if (!--f->refs) {
        done = f->loaded;
        *link_of(f->key) = f->next;
        free(f);
    }
    pthread_mutex_unlock(&lock);
    sc_unload(&done);
}

void sc_jit_release(const sc_object *o)
{
    if (o) leave((flight *)(uintptr_t)o);
}

int64_t sc_jit_bytes(const sc_object *o) { return ((const flight *)o)->loaded.bytes; }

int sc_jit_get(const char *ctext, const sc_target *t, const sc_object **out, sc_jit_how *how, sc_err *e)
{
    char key[SC_HASH + 1];
    start_up();
    *out = NULL;
    *how = SC_JIT_MEMORY;
    if (mode == SC_JIT_OFF)
        return sc_error(e, SC_ECOMPILE, "SCORCH_JIT=off: kernels are neither compiled nor loaded");
    if (!sc_target_runs(t))
        return sc_error(e, SC_ECOMPILE, "a kernel for %s was asked for, which this CPU is not", t->name);
    int rc = sc_key_text(key, ctext, cflags, t, e);
    if (rc) return rc;
    bool pilot;
    flight *f = board(key, &pilot);
    if (!f) return sc_error(e, SC_ENOMEM, "no memory for the table of kernels");
    sc_err why = {0};
    if (pilot) {
        sc_loaded l = {0};
        rc = fly(ctext, t, key, &l, how, &why);
        land(f, rc, &l, &why);
    } else {
        rc = arrive(f, &why);
    }
    if (!rc) return *out = &f->object, SC_OK;
    leave(f);
    return sc_error(e, rc, "%s", why.msg);
}

/* ---- the rest of the interface ---- */
int sc_jit_clear(int64_t *removed, sc_err *e) { return sc_cache_clear(removed, e); }

static const sc_bundle_entry *bundle;
static int bundle_size;

void sc_jit_info(sc_text *out)
{
    static const char *const names[] = {"off", "load", "on", "auto"};
    sc_err none = {0};
    const sc_cc *cc = sc_cc_find(&none);
    sc_text_add(out, "jit: %s\n", names[mode]);
    if (cc)
        sc_text_add(out, "compiler: %s%s (%s)\n", cc->path, cc->words, cc->version);
    else
        sc_text_add(out, "compiler: none (%s)\n", none.msg);
    if (cflags[0]) sc_text_add(out, "compiler flags added: %s\n", cflags);
    sc_cache_info(out);
    sc_text_add(out, "bundle: %d kernels\n", bundle_size);
    sc_text_add(out, "kernels loaded: %d\n", sc_load_count());
}

/* ---- bundle ---- */
void sc_jit_register_bundle(const sc_bundle_entry *entries, int n)
{
    bundle = entries;
    bundle_size = n;
}

const sc_object *sc_jit_bundle(const char *ctext, const sc_target *t)
{
    char hash[SC_HASH + 1];
    const sc_bundle_entry *best = NULL;
    if (!bundle_size) return NULL;
    sc_sha256(ctext, strlen(ctext), hash);
    for (const sc_bundle_entry *b = bundle; b < bundle + bundle_size; b++) {
        sc_target needs;
        if (b->vector_bytes > t->vector_bytes || (best && b->vector_bytes <= best->vector_bytes)) continue;
        if (strcmp(b->text_hash, hash) || b->object->abi != SC_ABI || b->object->size != sizeof(sc_object))
            continue;
        if (sc_target_make(&needs, b->vector_bytes) && sc_target_runs(&needs)) best = b;
    }
    return best ? best->object : NULL;
}
