/* cc.c: which compiler, and one compilation.
 *
 * The first of SCORCH_CC alone, or cc, gcc, clang on PATH, that answers
 * --version is the compiler of this process. Its file is pinned by realpath;
 * argv[0] stays the name it was found under, because drivers look at it.
 * Identity is realpath, size, time and version line: an upgrade is another
 * compiler. Nothing goes through a shell. */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAXARG 96
#define COMPILE_SECONDS 60
#define VERSION_SECONDS 10

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char asked[512]; /* configured, or "" */
static sc_cc found;
static char reason[512];
static enum { UNKNOWN, FOUND, NONE } state;
static bool unsettled; /* no answer for want of memory or descriptors: ask again next time */

int sc_cc_configure(const char *cc, sc_err *e)
{
    while (cc && *cc == ' ') cc++;
    if (cc && strlen(cc) >= sizeof asked)
        return sc_error(e, SC_EVALUE, "the compiler's name must be shorter than %zu characters, got %zu",
                        sizeof asked, strlen(cc));
    pthread_mutex_lock(&lock);
    snprintf(asked, sizeof asked, "%s", cc ? cc : "");
    state = UNKNOWN;
    pthread_mutex_unlock(&lock);
    return SC_OK;
}

void sc_cc_forked(void) { lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; }

/* ---- search ---- */
static bool executable(const char *path)
{
    struct stat st;
    return path[0] == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

static bool search_path(const char *name, char path[SC_PATH])
{
    const char *p = sc_env("PATH");
    if (!p) p = "/usr/local/bin:/usr/bin:/bin";
    while (*p) {
        size_t n = strcspn(p, ":");
        int len = snprintf(path, SC_PATH, "%.*s/%s", (int)n, p, name);
        if (p[0] == '/' && len > 0 && len < SC_PATH && executable(path)) return true;
        p += n + (p[n] == ':');
    }
    return false;
}

static bool locate(const char *name, char path[SC_PATH])
{
    if (!strchr(name, '/')) return search_path(name, path);
    snprintf(path, SC_PATH, "%s", name);
    return executable(path);
}

/* Splits at spaces; false when there are too many words or no memory. */
static bool add_words(sc_arena *a, char **argv, int *n, const char *text)
{
    while (text && *(text += strspn(text, " \t\n"))) {
        size_t len = strcspn(text, " \t\n");
        if (*n >= MAXARG - 1) return false;
        argv[*n] = sc_arena_printf(a, "%.*s", (int)len, text);
        if (!argv[(*n)++]) return false;
        text += len;
    }
    argv[*n] = NULL;
    return true;
}

/* ---- identity ---- */
static bool ask_version(sc_cc *c)
{
    sc_arena a = {0};
    sc_text out = {0};
    char *argv[MAXARG] = {c->path, NULL};
    int n = 1;
    bool ok = add_words(&a, argv, &n, c->words) && add_words(&a, argv, &n, "--version");
    int status = ok ? sc_spawn(c->real, argv, NULL, VERSION_SECONDS, &out) : SC_SPAWN_FAILED;
    unsettled |= !ok ||
                 (status == SC_SPAWN_FAILED && (errno == ENOMEM || errno == EAGAIN || errno == EMFILE)) ||
                 out.failed;
    ok = (status == 0 || status == SC_SPAWN_UNKNOWN) && out.n > 0;
    if (ok) snprintf(c->version, sizeof c->version, "%.*s", (int)strcspn(out.s, "\n"), out.s);
    sc_text_free(&out);
    sc_arena_free(&a);
    return ok;
}

static bool identify(sc_cc *c)
{
    struct stat st;
    if (!realpath(c->path, c->real) || stat(c->real, &st) || !ask_version(c)) return false;
#if defined(__APPLE__)
    const struct timespec changed = st.st_mtimespec;
#else
    const struct timespec changed = st.st_mtim;
#endif
    sc_text id = {0};
    sc_text_add(&id, "%s\n%s\n%lld %lld.%09ld\n%s\n", c->real, c->words, (long long)st.st_size,
                (long long)changed.tv_sec, changed.tv_nsec, c->version);
    bool ok = !id.failed;
    if (ok) sc_sha256(id.s, id.n, c->hash);
    unsettled |= !ok;
    sc_text_free(&id);
    return ok;
}

static bool try_name(const char *name, sc_cc *c)
{
    char first[512];
    memset(c, 0, sizeof *c);
    snprintf(first, sizeof first, "%s", name);
    if (!locate(first, c->path)) {
        size_t n = strcspn(first, " \t");
        snprintf(c->words, sizeof c->words, "%s", name + n);
        first[n] = 0;
        if (strlen(name + n) >= sizeof c->words || !locate(first, c->path)) return false;
    }
    return identify(c);
}

static void search(void)
{
    static const char *const usual[] = {"cc", "gcc", "clang"};
    sc_cc c;
    bool ok = false;
    unsettled = false;
    if (asked[0]) {
        ok = try_name(asked, &c);
        snprintf(reason, sizeof reason,
                 "\"%.300s\" is not a compiler that runs here: give a name on PATH or an absolute path in "
                 "SCORCH_CC",
                 asked);
    } else {
        for (int i = 0; i < SC_LEN(usual) && !ok && !unsettled; i++) ok = try_name(usual[i], &c);
        snprintf(reason, sizeof reason,
                 "no cc, gcc or clang on PATH that runs: install one or set SCORCH_CC");
    }
    if (unsettled) snprintf(reason, sizeof reason, "no memory or descriptors to ask it for its version");
    if (ok) found = c;
    state = ok ? FOUND : unsettled ? UNKNOWN : NONE;
}

const sc_cc *sc_cc_find(const char **why)
{
    pthread_mutex_lock(&lock);
    if (state == UNKNOWN) search();
    const sc_cc *c = state == FOUND ? &found : NULL;
    pthread_mutex_unlock(&lock);
    if (!c && why) *why = reason;
    return c;
}

void sc_cc_condemn(const char *why)
{
    pthread_mutex_lock(&lock);
    if (state == FOUND) {
        snprintf(reason, sizeof reason, "%.100s cannot build kernels here: %.360s", found.path, why);
        state = NONE;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- one compilation ---- */
#ifdef SC_SPAWN_CHDIR
#define IN_DIR "%.0s" /* names are relative to the child's directory */
#else
#define IN_DIR "%s/"
#endif

static bool make_argv(sc_arena *a, char **argv, const sc_cc *c, const char *flags, const char *key,
                      const char *dir)
{
    int n = 0;
    argv[n++] = (char *)c->path;
    if (!add_words(a, argv, &n, c->words) || !add_words(a, argv, &n, flags) || n + 6 > MAXARG) return false;
    int first = n;
    argv[n++] = sc_arena_printf(a, "-DSC_KEY=\"%s\"", key);
    argv[n++] = sc_arena_printf(a, "-DSC_OBJECT=" SC_JIT_SYMBOL);
    argv[n++] = sc_arena_printf(a, "-o");
    argv[n++] = sc_arena_printf(a, IN_DIR "kernel.so", dir);
    argv[n++] = sc_arena_printf(a, IN_DIR "kernel.c", dir);
    argv[n] = NULL;
    while (first < n)
        if (!argv[first++]) return false;
    return true;
}

/* The first line that says what is wrong, and what follows. */
static const char *gist(const sc_text *said)
{
    if (!said->n) return "it said nothing";
    const char *p = strstr(said->s, "error:");
    while (p && p > said->s && p[-1] != '\n') p--;
    return p ? p : said->s;
}

static int complain(const sc_cc *c, int status, const sc_text *said, sc_err *e)
{
    if (status == SC_SPAWN_FAILED)
        return sc_error(e, SC_ECOMPILE, "%.200s could not be started: %s", c->path, strerror(errno));
    if (status == SC_SPAWN_LATE)
        return sc_error(e, SC_ECOMPILE, "%.200s took longer than %d s for one kernel and was stopped",
                        c->path, COMPILE_SECONDS);
    if (status > SC_SPAWN_KILLED)
        return sc_error(e, SC_ECOMPILE,
                        "%.200s was killed by signal %d (is there too little memory?): %.500s", c->path,
                        status - SC_SPAWN_KILLED, gist(said));
    return sc_error(e, SC_ECOMPILE, "%.200s failed with status %d: %.700s", c->path, status, gist(said));
}

static bool full(const sc_text *said)
{ return said->n && (strstr(said->s, "No space left") || strstr(said->s, "quota exceeded")); }

/* SC_ECOMPILE without a message: the place is full, try another. */
static int compile_in(const sc_work *w, const sc_cc *c, const char *ctext, const char *flags, const char *key,
                      sc_text *object, sc_err *e)
{
    char *argv[MAXARG];
    sc_arena a = {0};
    sc_text said = {0};
    int rc = SC_OK;
    object->n = 0;
    if (!sc_work_write(w->fd, "kernel.c", ctext, strlen(ctext)))
        rc = SC_ECOMPILE;
    else if (!make_argv(&a, argv, c, flags, key, w->path))
        rc =
            sc_error(e, SC_ENOMEM, "no memory for the compiler's arguments, or more than %d of them", MAXARG);
    else {
        int status = sc_spawn(c->real, argv, w->path, COMPILE_SECONDS, &said);
        bool done = status == 0 || status == SC_SPAWN_UNKNOWN;
        bool read = done && sc_work_read(w->fd, "kernel.so", object);
        if (!read && object->failed)
            rc = sc_error(e, SC_ENOMEM, "no memory for a compiled kernel");
        else if (!read)
            rc = full(&said) ? SC_ECOMPILE : complain(c, status, &said, e);
    }
    sc_text_free(&said);
    sc_arena_free(&a);
    return rc;
}

int sc_cc_compile(const sc_cc *c, const char *ctext, const char *flags, const char *key,
                  const char *last_place, sc_text *object, sc_err *e)
{
    sc_work w;
    const char *place;
    for (int k = 0; (place = sc_work_place(k, last_place)); k++) {
        if (!sc_work_open(&w, place)) continue;
        int rc = compile_in(&w, c, ctext, flags, key, object, e);
        sc_work_close(&w);
        if (!rc || e->code) return rc;
    }
    return sc_error(
        e, SC_ECOMPILE,
        "nowhere to compile: expected a directory in TMPDIR, /tmp or /dev/shm that is writable, safe from "
        "other users and has 4 MB free");
}
