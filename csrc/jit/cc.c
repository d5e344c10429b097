/* cc.c: which compiler, and one compilation.
 *
 * The first of SCORCH_CC alone, or cc, gcc, clang on PATH, that answers
 * --version is the compiler of this process. Its file is pinned by realpath;
 * argv[0] stays the name it was found under, because drivers look at it.
 * Identity is realpath, size, time and version line: an upgrade is another
 * compiler. Nothing goes through a shell. A compiler that hangs costs 20 seconds:
 * VERSION_SECONDS, SC_CC_SECONDS for a text and SC_CC_PROBE for the trivial one. */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAXARG 96
#define VERSION_SECONDS 4
#define TELL 600 /* characters of what a compiler said, at least */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char asked[512]; /* configured, or "" */
static sc_cc found;
static char reason[512];
static enum { UNKNOWN, FOUND, NONE } state;
static int shortage; /* errno for want of what there is no answer: ask again next time; 0: there is one */

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
    if (!ok || out.failed)
        shortage = ENOMEM;
    else if (status == SC_SPAWN_STOPPED)
        shortage = EINTR;
    else if (status == SC_SPAWN_FAILED && sc_lacks(errno))
        shortage = errno;
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
    if (ok)
        sc_sha256(id.s, id.n, c->hash);
    else
        shortage = ENOMEM;
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
    shortage = 0;
    if (asked[0]) {
        ok = try_name(asked, &c);
        snprintf(reason, sizeof reason,
                 "\"%.300s\" is not a compiler that runs here: give a name on PATH or an absolute path in "
                 "SCORCH_CC",
                 asked);
    } else {
        for (int i = 0; i < SC_LEN(usual) && !ok && !shortage; i++) ok = try_name(usual[i], &c);
        snprintf(reason, sizeof reason,
                 "no cc, gcc or clang on PATH that runs: install one or set SCORCH_CC");
    }
    if (shortage)
        snprintf(reason, sizeof reason, "%.300s cannot be asked for its version: %.100s", c.path,
                 strerror(shortage));
    if (ok) found = c;
    state = ok ? FOUND : shortage ? UNKNOWN : NONE;
}

const sc_cc *sc_cc_find(sc_err *e)
{
    pthread_mutex_lock(&lock);
    if (state == UNKNOWN) search();
    const sc_cc *c = state == FOUND ? &found : NULL;
    if (!c)
        sc_error(e,
                 shortage == ENOMEM  ? SC_ENOMEM
                 : shortage == EINTR ? SC_ESTOP
                                     : SC_ECOMPILE,
                 "%s", reason);
    pthread_mutex_unlock(&lock);
    return c;
}

void sc_cc_condemn(const char *why)
{
    pthread_mutex_lock(&lock);
    if (state == FOUND) {
        snprintf(reason, sizeof reason, "%.100s cannot build kernels here: %.360s", found.path, why);
        state = NONE;
        shortage = 0;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- one compilation ---- */
#ifdef SC_SPAWN_CHDIR
#define IN_DIR "%.0s" /* names are relative to the child's directory */
#else
#define IN_DIR "%s/"
#endif

static bool make_argv(sc_arena *a, char **argv, const sc_cc *c, const sc_cc_job *job, const char *dir)
{
    int n = 0;
    argv[n++] = (char *)c->path;
    if (!add_words(a, argv, &n, c->words) || !add_words(a, argv, &n, job->flags) || n + 6 > MAXARG)
        return false;
    int first = n;
    argv[n++] = sc_arena_printf(a, "-DSC_KEY=\"%s\"", job->key);
    argv[n++] = sc_arena_printf(a, "-DSC_OBJECT=" SC_JIT_SYMBOL);
    argv[n++] = sc_arena_printf(a, "-o");
    argv[n++] = sc_arena_printf(a, IN_DIR "kernel.so", dir);
    argv[n++] = sc_arena_printf(a, IN_DIR "kernel.c", dir);
    argv[n] = NULL;
    while (first < n)
        if (!argv[first++]) return false;
    return true;
}

static bool printable(char c) { return (unsigned char)c >= ' ' || c == '\t' || c == '\n'; }

static const char *line_begin(const sc_text *t, const char *p)
{
    while (p > t->s && p[-1] != '\n') p--;
    return p;
}

/* As text: the first line that says what is wrong, and what follows. Where that is the last one, it sums up what
 * others have said before. */
static const char *gist(sc_text *said)
{
    if (!said->n) return "it said nothing";
    for (size_t i = 0; i < said->n; i++)
        if (!printable(said->s[i])) said->s[i] = '?';
    const char *p = strstr(said->s, "error:"), *next = p ? strchr(p, '\n') : NULL;
    if (next && next[1]) return line_begin(said, p);
    return said->n > TELL ? line_begin(said, said->s + said->n - TELL) : said->s;
}

static int complain(const sc_cc *c, int status, sc_text *said, sc_err *e)
{
    const char *path = c->path;
    if (status == SC_SPAWN_FAILED)
        return sc_error(e,
                        errno == ENOMEM   ? SC_ENOMEM
                        : sc_lacks(errno) ? SC_ELACKS
                                          : SC_ECOMPILE,
                        "%.200s could not be started: %s", path, strerror(errno));
    if (status == SC_SPAWN_STOPPED) return sc_error(e, SC_ESTOP, "interrupted while %.200s compiles", path);
    if (status == SC_SPAWN_LATE)
        return sc_error(e, SC_ECOMPILE,
                        "%.200s took longer than it may for one kernel and was stopped: %.500s", path,
                        gist(said));
    if (status > SC_SPAWN_KILLED)
        return sc_error(e, SC_ECOMPILE,
                        "%.200s was killed by signal %d (is there too little memory?): %.500s", path,
                        status - SC_SPAWN_KILLED, gist(said));
    if (status == 0 || status == SC_SPAWN_UNKNOWN)
        return sc_error(e, SC_ECOMPILE, "%.200s ended without an error and without an object: %.700s", path,
                        gist(said));
    return sc_error(e, SC_ECOMPILE, "%.200s failed with status %d: %.700s", path, status, gist(said));
}

static bool full(const sc_text *said)
{ return said->n && (strstr(said->s, "No space left") || strstr(said->s, "quota exceeded")); }

/* SC_ELACKS without a message: the place is full, as `why` says; try another. */
static int compile_in(const sc_work *w, const sc_cc *c, sc_cc_job *job, sc_text *object, char *why,
                      size_t size, sc_err *e)
{
    char *argv[MAXARG];
    sc_arena a = {0};
    sc_text said = {0};
    int rc = SC_OK;
    object->n = 0;
    if (!sc_work_write(w->fd, "kernel.c", job->ctext, strlen(job->ctext))) {
        snprintf(why, size, "%.200s: %s", w->path, strerror(errno));
        rc = SC_ELACKS;
    } else if (!make_argv(&a, argv, c, job, w->path))
        rc =
            sc_error(e, SC_ENOMEM, "no memory for the compiler's arguments, or more than %d of them", MAXARG);
    else {
        int status = sc_spawn(c->real, argv, w->path, job->seconds, &said);
        bool done = status == 0 || status == SC_SPAWN_UNKNOWN;
        if (done) (void)fchmodat(w->fd, "kernel.so", 0600, 0); /* linkers go by the umask */
        bool read = done && sc_work_read(w->fd, "kernel.so", object);
        job->late = status == SC_SPAWN_LATE;
        if (!read && object->failed)
            rc = sc_error(e, SC_ENOMEM, "no memory for a compiled kernel");
        else if (!read && full(&said)) {
            snprintf(why, size, "%.200s: %s", w->path, strerror(ENOSPC));
            rc = SC_ELACKS;
        } else if (!read)
            rc = complain(c, status, &said, e);
    }
    sc_text_free(&said);
    sc_arena_free(&a);
    return rc;
}

int sc_cc_compile(const sc_cc *c, sc_cc_job *job, sc_text *object, sc_err *e)
{
    sc_work w;
    const char *place;
    char why[256] = "";
    sc_work_sweep(job->last_place);
    for (int k = 0; (place = sc_work_place(k, job->last_place)); k++) {
        if (!sc_work_open(&w, place, why, sizeof why)) continue;
        int rc = compile_in(&w, c, job, object, why, sizeof why, e);
        sc_work_close(&w);
        if (!rc || e->code) return rc;
    }
    return sc_error(
        e, SC_ELACKS,
        "nowhere to compile: expected a directory in TMPDIR, /tmp or /dev/shm that is writable, safe from "
        "other users and has 4 MB free; the last one that was tried is not: %s",
        why);
}
