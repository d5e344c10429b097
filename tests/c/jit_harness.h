/* jit_harness.h: what the tests of the JIT share.
 *
 * Each test runs in a child process of its own, because what the library
 * learns about its compiler and what it has loaded lasts as long as the
 * process. A test has a scratch directory with the cache in it, and reports
 * by its exit status: 0 passed, 77 skipped (having said why), else failed. */
#ifndef JIT_HARNESS_H
#define JIT_HARNESS_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jit/private.h"

#define CHECK(c)                                                                                             \
    do {                                                                                                     \
        if (!(c)) {                                                                                          \
            printf("  line %d: %s\n", __LINE__, #c);                                                         \
            fflush(stdout);                                                                                  \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

enum { SKIPPED = 77, NOBODY = 65534 };
static char scratch[256], cache[300];
static sc_target host;

static inline int skip(const char *why)
{
    printf("  %s\n", why);
    return SKIPPED;
}

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- texts ---- */
static inline char *text_of(int tag, const char *body)
{
    sc_text t = {0};
    sc_text_add(&t,
                "%s\n/* %d */ static int run(const sc_call *c, sc_lane *l, sc_i64 b, sc_i64 e) { %s }\n"
                "const sc_object SC_OBJECT = {%d, sizeof(sc_object), SC_KEY, 1, {run}};\n",
                sc_abi_text, tag, body, SC_ABI);
    return t.s;
}

static inline char *returning(int tag)
{
    char body[80];
    snprintf(body, sizeof body, "(void)c; (void)l; return (int)(b + e) + %d;", tag);
    return text_of(tag, body);
}

static inline void configure(sc_jit_mode mode, const char *cc, const char *dir)
{
    sc_err e = {0};
    sc_config c = {.jit = mode, .cc = cc, .cache_dir = dir};
    CHECK(sc_jit_configure(&c, &e) == SC_OK);
}

/* -1 on error, else how it was found; what comes back must compute. */
static inline int get(int tag, sc_err *e)
{
    const sc_object *o;
    sc_jit_how how;
    char *text = returning(tag);
    *e = (sc_err){0};
    int rc = sc_jit_get(text, &host, &o, &how, e);
    free(text);
    if (rc) {
        CHECK(rc == e->code && e->msg[0] && !o);
        return -1;
    }
    CHECK(o->entry[0](NULL, NULL, 1, 2) == 3 + tag);
    return (int)how;
}

/* Calls get(tag) in a fresh process: how it was found, or -1 as 255. */
static inline int elsewhere(sc_jit_mode mode, const char *cc, int tag)
{
    pid_t pid = fork();
    if (pid == 0) {
        sc_err e;
        configure(mode, cc, cache);
        _exit(get(tag, &e) & 255);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

static inline int count_files(const char *dir, char *name, size_t size)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *f; d && (f = readdir(d));)
        if (f->d_name[0] != '.') {
            n++;
            if (name) snprintf(name, size, "%.299s/%.99s", dir, f->d_name);
        }
    if (d) closedir(d);
    return n;
}

static inline void write_file(const char *path, const char *s, size_t n, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, s, n) == (ssize_t)n && fchmod(fd, mode) == 0 && close(fd) == 0);
}

static inline bool info_says(const char *what)
{
    sc_text t = {0};
    sc_jit_info(&t);
    bool yes = strstr(t.s, what) != NULL;
    if (!yes) printf("%s", t.s);
    sc_text_free(&t);
    return yes;
}

/* ---- running them ---- */
typedef struct {
    const char *name;
    int (*run)(void);
} jit_test;

static inline int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline int run_one(const jit_test *t)
{
    snprintf(scratch, sizeof scratch, "/tmp/test-jit-XXXXXX");
    if (!mkdtemp(scratch)) return 1;
    snprintf(cache, sizeof cache, "%s/cache", scratch);
    fflush(stdout);
    double begin = now();
    pid_t pid = fork();
    if (pid == 0) { exit(t->run()); /* not _exit: leaks are looked for at exit */ }
    int status = 0;
    waitpid(pid, &status, 0);
    int rc = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    printf("%s %s (%.2f s)\n", rc == 0 ? "ok  " : rc == SKIPPED ? "SKIP" : "FAIL", t->name, now() - begin);
    nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return rc != 0 && rc != SKIPPED;
}

/* All tests, or those named on the command line. */
static inline int run_tests(const jit_test *tests, int n, int argc, char **argv)
{
    int failed = 0;
    sc_target_host(&host);
    for (int i = 0; i < n; i++) {
        bool wanted = argc < 2;
        for (int k = 1; k < argc; k++) wanted |= strcmp(argv[k], tests[i].name) == 0;
        if (wanted) failed += run_one(&tests[i]);
    }
    printf("%d failed\n", failed);
    return failed != 0;
}

#endif
