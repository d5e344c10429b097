/* test_jit.c: compiling, loading and calling; broken compilers; many at once. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/stat.h>
#if defined(__linux__) &&                                                                                    \
    __has_include(<linux/seccomp.h>) /* the headers of Linux may be missing beside those of musl */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define FILTERS 1
#endif

#include "jit_harness.h"

/* ---- tests: the plain ways ---- */
static int test_target(void)
{
    sc_target t, u;
    char model[128], again[128];
    sc_target_model(model, sizeof model);
    sc_target_model(again, sizeof again);
    printf("  cpu %s\n", model);
    CHECK(model[0] && !strcmp(model, again));
    CHECK(sc_target_runs(&host) && host.vector_bytes >= 16 && !strstr(host.flags, "native"));
    CHECK(sc_target_make(&t, 16) && sc_target_runs(&t) && !sc_target_make(&u, 8));
    for (int w = 16; w <= host.vector_bytes; w *= 2) CHECK(sc_target_make(&t, w) && sc_target_runs(&t));
    if (sc_target_make(&t, 64)) {
        CHECK(strstr(t.flags, "-mavx512vl -mprefer-vector-width=512"));
        t.features |= 1u << 31;
        CHECK(!sc_target_runs(&t));
    }
    return 0;
}

static int test_compile_call(void)
{
    sc_err e;
    configure(SC_JIT_AUTO, NULL, cache);
    for (int i = 0; i < 3; i++) CHECK(get(i, &e) == SC_JIT_COMPILED);
    for (int i = 0; i < 3; i++) CHECK(get(i, &e) == SC_JIT_MEMORY);
    CHECK(info_says("kernels loaded: 3") && info_says("(3 kernels") && count_files(cache, NULL, 0) == 3);
    return 0;
}

/* The linker makes objects that others may write where the umask says so: on many systems it does. */
static int test_umask(void)
{
    sc_err e = {0};
    const mode_t before = umask(0);
    configure(SC_JIT_ON, NULL, cache);
    const int rc = get(1, &e);
    umask(before);
    CHECK(rc == SC_JIT_COMPILED);
    return 0;
}

static int test_disk(void)
{
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED);
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_DISK);
    CHECK(elsewhere(SC_JIT_ON, NULL, 1) == SC_JIT_DISK);
    CHECK(elsewhere(SC_JIT_AUTO, "gcc -pipe", 1) == SC_JIT_COMPILED); /* another compiler, another key */
    CHECK(elsewhere(SC_JIT_OFF, NULL, 1) == 255);
    return 0;
}

static int test_load_mode(void)
{
    sc_err e;
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED);
    CHECK(elsewhere(SC_JIT_LOAD, NULL, 1) == SC_JIT_DISK);
    CHECK(elsewhere(SC_JIT_AUTO, "/nonexistent/cc", 1) == SC_JIT_DISK);
    configure(SC_JIT_LOAD, NULL, cache);
    CHECK(get(2, &e) == -1 && e.code == SC_ECOMPILE && strstr(e.msg, "SCORCH_JIT=load"));
    return 0;
}

static int test_no_compiler(void)
{
    sc_err e;
    configure(SC_JIT_ON, "/nonexistent/cc", cache);
    CHECK(get(1, &e) == -1 && e.code == SC_ECOMPILE && strstr(e.msg, "/nonexistent/cc"));
    CHECK(info_says("compiler: none"));
    configure(SC_JIT_AUTO, NULL, cache);
    setenv("PATH", ":.:bin:", 1);
    CHECK(get(1, &e) == -1 && strstr(e.msg, "no cc, gcc or clang"));
    return 0;
}

static int test_broken_compiler(void)
{
    static const char script[] =
        "#!/bin/sh\necho \"$0\" >> log\n[ \"$1\" = --version ] && { echo Broken 1; exit 0; }\n"
        "echo call >> \"${0}.log\"\necho 'ld: error: no such machine' >&2\nexit 3\n";
    sc_err e;
    char cc[300], log[310];
    snprintf(cc, sizeof cc, "%s/cc", scratch);
    snprintf(log, sizeof log, "%s.log", cc);
    CHECK(chdir(scratch) == 0);
    write_file(cc, script, sizeof script - 1, 0700);
    configure(SC_JIT_AUTO, cc, cache);
    CHECK(get(1, &e) == -1 && strstr(e.msg, "no such machine") && strstr(e.msg, "status 3"));
    struct stat first, second;
    CHECK(stat(log, &first) == 0 && get(2, &e) == -1 && strstr(e.msg, "cannot build kernels here"));
    CHECK(stat(log, &second) == 0 && first.st_size == second.st_size && first.st_size == 10);
    return 0;
}

static int test_compile_error(void)
{
    const sc_object *o;
    sc_jit_how how;
    sc_err e = {0};
    char *text = text_of(1, "return undeclared_thing;");
    configure(SC_JIT_AUTO, NULL, cache);
    CHECK(sc_jit_get(text, &host, &o, &how, &e) == SC_ECOMPILE);
    CHECK(strstr(e.msg, "undeclared_thing") && strstr(e.msg, "kernel.c:") && !strstr(e.msg, scratch));
    CHECK(get(2, &e) == SC_JIT_COMPILED); /* the compiler itself is fine */
    free(text);
    return 0;
}

static int test_foreign_object(void)
{
    const sc_object *o;
    sc_jit_how how;
    sc_err e = {0};
    static const char *const bad[] = {"SC_ABI + 1, sizeof(sc_object), SC_KEY", "SC_ABI, 8, SC_KEY",
                                      "SC_ABI, sizeof(sc_object), \"other\"", "SC_ABI, sizeof(sc_object), 0"};
    configure(SC_JIT_AUTO, NULL, cache);
    for (int i = 0; i < SC_LEN(bad); i++) {
        char text[4096];
        snprintf(text, sizeof text, "%s\n#define SC_ABI %d\nconst sc_object SC_OBJECT = {%s, 0, {0}};\n",
                 sc_abi_text, SC_ABI, bad[i]);
        e = (sc_err){0};
        CHECK(sc_jit_get(text, &host, &o, &how, &e) == SC_ECOMPILE && strstr(e.msg, "refused"));
    }
    CHECK(count_files(cache, NULL, 0) == 0);
    return 0;
}

static int test_flags(void)
{
    static const char *const bad[] = {"-ffast-math",   "-O3 -Ofast", "-funsafe-math-optimizations",
                                      "-march=native", "-mavx2",     "-mcpu=native",
                                      "@file",         "-Xclang"};
    for (int i = 0; i < SC_LEN(bad); i++) {
        sc_err e = {0};
        sc_config c = {.jit = SC_JIT_AUTO, .cflags = bad[i], .cache_dir = cache};
        CHECK(sc_jit_configure(&c, &e) == SC_EVALUE && strstr(e.msg, "SCORCH_CFLAGS"));
    }
    for (int i = 0; i < SC_LEN(bad); i++) {
        char cc[64];
        snprintf(cc, sizeof cc, "ccache gcc %s", bad[i]);
        sc_err e = {0};
        sc_config c = {.jit = SC_JIT_AUTO, .cc = cc, .cache_dir = cache};
        CHECK(sc_jit_configure(&c, &e) == SC_EVALUE && strstr(e.msg, "SCORCH_CC must not"));
    }
    sc_err e = {0};
    sc_config c = {.jit = SC_JIT_AUTO, .cflags = "  -O3\t-mtune=generic ", .cache_dir = cache};
    CHECK(sc_jit_configure(&c, &e) == SC_OK && get(1, &e) == SC_JIT_COMPILED &&
          info_says("-O3 -mtune=generic\n"));
    configure(SC_JIT_AUTO, NULL, cache);
    CHECK(get(1, &e) == SC_JIT_COMPILED);
    c = (sc_config){.jit = SC_JIT_AUTO, .cache_dir = "relative"};
    CHECK(sc_jit_configure(&c, &e) == SC_EVALUE);
    return 0;
}

static int test_hostile_environment(void)
{
    sc_err e;
    static const char *const names[] = {"GCC_EXEC_PREFIX", "COMPILER_PATH", "CPATH", "LIBRARY_PATH",
                                        "LD_PRELOAD"};
    for (int i = 0; i < SC_LEN(names); i++) setenv(names[i], scratch, 1);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    configure(SC_JIT_AUTO, NULL, cache);
    CHECK(get(1, &e) == SC_JIT_COMPILED);
    return 0;
}

static int test_bundle(void)
{
    char *text = returning(1);
    static const sc_object object = {.abi = SC_ABI, .size = sizeof(sc_object), .key = "k", .nentry = 1};
    static const sc_object old = {.abi = SC_ABI - 1, .size = sizeof(sc_object), .key = "k", .nentry = 1};
    static sc_bundle_entry entry[] = {{.vector_bytes = 16, .object = &object},
                                      {.vector_bytes = 128, .object = &old}};
    sc_sha256(text, strlen(text), entry[0].text_hash);
    CHECK(!sc_jit_bundle(text, &host));
    sc_jit_register_bundle(entry, 2);
    CHECK(sc_jit_bundle(text, &host) == &object && !sc_jit_bundle("other", &host));
    entry[0].object = &old;
    CHECK(!sc_jit_bundle(text, &host));
    free(text);
    return 0;
}

/* ---- tests: many at once ---- */
static int test_race(void)
{
    enum { N = 8, TEXTS = 3 };
    pid_t pid[N];
    setenv("TMPDIR", scratch, 1); /* what the killed ones leave goes with it */
    for (int i = 0; i < N; i++)
        if ((pid[i] = fork()) == 0) {
            sc_err e;
            configure(SC_JIT_AUTO, NULL, cache);
            for (int t = 0; t < TEXTS; t++) CHECK(get(t, &e) >= 0);
            _exit(0);
        }
    for (int i = 0; i < N; i += 2) {
        struct timespec t = {0, 20000000 + 15000000L * i};
        nanosleep(&t, NULL);
        kill(pid[i], SIGKILL);
    }
    for (int i = 0; i < N; i++) {
        int status;
        waitpid(pid[i], &status, 0);
        CHECK(i % 2 == 0 || status == 0);
    }
    for (int t = 0; t < TEXTS; t++) CHECK(elsewhere(SC_JIT_LOAD, NULL, t) == SC_JIT_DISK);
    CHECK(count_files(cache, NULL, 0) == TEXTS);
    return 0;
}

static void *fetch(void *how)
{
    sc_err e;
    *(int *)how = get(7, &e);
    return NULL;
}

static int test_threads(void)
{
    pthread_t t[8];
    int how[8], compiled = 0;
    configure(SC_JIT_AUTO, NULL, cache);
    for (int i = 0; i < 8; i++) CHECK(pthread_create(&t[i], NULL, fetch, &how[i]) == 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(t[i], NULL);
        CHECK(how[i] == SC_JIT_COMPILED || how[i] == SC_JIT_MEMORY);
        compiled += how[i] == SC_JIT_COMPILED;
    }
    CHECK(compiled == 1 && sc_load_count() == 1);
    return 0;
}

static int test_fork_during_compile(void)
{
#ifdef __SANITIZE_ADDRESS__ /* gcc 12: the child of a fork in another thread's malloc hangs in its own first one */
    return 0;
#endif
    pthread_t t;
    int how = -1;
    configure(SC_JIT_AUTO, NULL, cache);
    CHECK(pthread_create(&t, NULL, fetch, &how) == 0);
    for (int i = 0; i < 6; i++) {
        struct timespec pause = {0, 4000000};
        nanosleep(&pause, NULL);
        pid_t pid = fork();
        if (pid == 0) {
            sc_err e;
            alarm(30);
            _exit(get(7, &e) >= 0 ? 0 : 1);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    pthread_join(t, NULL);
    CHECK(how >= 0);
    return 0;
}

static int test_sigchld_ignored(void)
{
    sc_err e;
    signal(SIGCHLD, SIG_IGN);
    configure(SC_JIT_AUTO, NULL, cache);
    CHECK(get(1, &e) == SC_JIT_COMPILED);
    const sc_object *o;
    sc_jit_how how;
    char *text = text_of(2, "return oops;");
    CHECK(sc_jit_get(text, &host, &o, &how, &e) == SC_ECOMPILE && strstr(e.msg, "oops"));
    free(text);
    return 0;
}

/* Whether the process whose number a file has is gone, or is a while later. */
static bool ended(const char *name)
{
    char path[400], number[32] = "";
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    FILE *f = fopen(path, "r");
    CHECK(f && fgets(number, sizeof number, f) && fclose(f) == 0);
    for (int i = 0; i < 100; i++) {
        char state = 'Z';
        snprintf(path, sizeof path, "/proc/%d/stat", atoi(number));
        if (!(f = fopen(path, "r"))) return true;
        const bool read = fscanf(f, "%*d %*s %c", &state) == 1;
        fclose(f);
        if (!read || state == 'Z') return true;
        usleep(20000);
    }
    return false;
}

static int test_hanging_child(void)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)"echo begun; sleep 100 & sleep 100", NULL};
    sc_text out = {0};
    double t = now();
    CHECK(sc_spawn("/bin/sh", argv, scratch, 1, &out) == SC_SPAWN_LATE && now() - t < 3);
    char *leaving[] = {(char *)"sh", (char *)"-c", (char *)"sleep 100 & echo $! > left; exit 3", NULL};
    t = now();
    CHECK(sc_spawn("/bin/sh", leaving, scratch, 20, &out) == 3 && now() - t < 2 && ended("left"));
    sc_text_free(&out);
    CHECK(sc_spawn("/bin/sh", argv, scratch, 1, &out) == SC_SPAWN_LATE);
    CHECK(strcmp(out.s, "begun\n") == 0);
    char *noisy[] = {(char *)"sh", (char *)"-c", (char *)"yes | head -c 1000000; exit 7", NULL};
    CHECK(sc_spawn("/bin/sh", noisy, scratch, 20, &out) == 7 && out.n >= 65536 && out.n < 70000);
    const int none = sc_spawn("/nonexistent", noisy, scratch, 20, &out);
    CHECK((none == SC_SPAWN_FAILED && errno == ENOENT) ||
          none == 127); /* 127: of emulators, which only fork */
    sc_text_free(&out);
    return 0;
}

/* A directory as a compilation that was killed leaves it, so old. */
static void leave(const char *name, int seconds)
{
    static const char *const inside[] = {"kernel.c", "below/deep/file"};
    char path[400];
    const struct timespec old[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s%s", scratch, name,
                 (const char *[]){"", "/below", "/below/deep"}[i]);
        CHECK(mkdir(path, 0700) == 0);
    }
    for (int i = 0; i < SC_LEN(inside); i++) {
        snprintf(path, sizeof path, "%s/%s/%s", scratch, name, inside[i]);
        write_file(path, "x", 1, 0600);
    }
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    CHECK(utimensat(AT_FDCWD, path, old, 0) == 0);
}

static bool there(const char *name)
{
    char path[400];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    return lstat(path, &st) == 0;
}

static int test_sweep(void)
{
    static const char *const kept[] = {"scorch-kernel-young1", "scorch-kernel-locked",
                                       "scorch-kernel-linked", "scorch-kernel-longer1",
                                       "scorch-other-abcdef",  "scorch-kernel-afile1"};
    char path[400], link[400];
    sc_err e;
    setenv("TMPDIR", scratch, 1);
    leave("scorch-kernel-killed", 3000);
    leave("precious", 3000);
    for (int i = 0; i < 5; i++)
        if (i != 2) leave(kept[i], i ? 3000 : 60);
    snprintf(path, sizeof path, "%s/precious", scratch);
    snprintf(link, sizeof link, "%s/%s", scratch, kept[2]);
    CHECK(symlink(path, link) == 0);
    snprintf(path, sizeof path, "%s/%s", scratch, kept[5]);
    write_file(path, "x", 1, 0600);
    snprintf(path, sizeof path, "%s/%s", scratch, kept[1]);
    const int lock = open(path, O_RDONLY);
    CHECK(lock >= 0 && flock(lock, LOCK_EX) == 0);
    configure(SC_JIT_AUTO, NULL, cache);
    CHECK(get(1, &e) == SC_JIT_COMPILED && !there("scorch-kernel-killed") &&
          there("precious/below/deep/file"));
    for (int i = 0; i < SC_LEN(kept); i++) CHECK(there(kept[i]));
    return 0;
}

/* Without the three descriptors that a child's output goes to. */
static int test_closed_stdio(void)
{
    sc_err e;
    configure(SC_JIT_AUTO, NULL, cache);
    const int out = fcntl(1, F_DUPFD, 10);
    for (int fd = 0; fd < 3; fd++) close(fd);
    const int how = get(1, &e);
    const sc_object *o;
    sc_jit_how unused;
    char *text = text_of(2, "return oops;");
    e = (sc_err){0};
    const int rc = sc_jit_get(text, &host, &o, &unused, &e);
    free(text);
    dup2(out, 1);
    CHECK(how == SC_JIT_COMPILED && rc == SC_ECOMPILE && strstr(e.msg, "oops"));
    return 0;
}

static int test_descriptors(void)
{
    sc_err e;
    configure(SC_JIT_AUTO, NULL, cache);
    CHECK(get(0, &e) == SC_JIT_COMPILED);
    int before = count_files("/proc/self/fd", NULL, 0);
    for (int i = 1; i < 6; i++)
        CHECK(get(i, &e) == SC_JIT_COMPILED); /* each computes its own: no stale object */
    CHECK(count_files("/proc/self/fd", NULL, 0) == before);
    return 0;
}

#if defined(FILTERS)
static int test_no_memfd(void)
{
    struct sock_filter rule[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {SC_LEN(rule), rule};
    sc_err e;
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED);
    setenv("TMPDIR", scratch, 1);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return skip("system calls cannot be refused here");
    configure(SC_JIT_AUTO, NULL, cache);
    CHECK(get(1, &e) == SC_JIT_DISK && get(2, &e) == SC_JIT_COMPILED);
    CHECK(count_files(scratch, NULL, 0) == 1); /* the cache, no leftovers */
    return 0;
}
#else
static int test_no_memfd(void) { return skip("nothing here says how system calls are refused"); }
#endif

static int test_allocations(void)
{
    sc_err e = {0};
    int failures = 0;
    for (long n = 1; n < 32; n++) {
        const sc_object *o;
        sc_jit_how how;
        char *text = returning((int)n);
        configure(SC_JIT_AUTO, NULL, cache);
        e = (sc_err){0};
        sc_fail_alloc(n, 1);
        int rc = sc_jit_get(text, &host, &o, &how, &e);
        sc_fail_alloc(0, 0);
        free(text);
        CHECK(rc == SC_OK || (rc == SC_ENOMEM && e.msg[0] && !o));
        failures += rc != SC_OK;
        CHECK(get((int)n, &e) == (rc ? SC_JIT_COMPILED : SC_JIT_MEMORY));
    }
    CHECK(failures >= 6);
    return 0;
}

/* ---- measurement ---- */
static int test_speed(void)
{
    static const char body[] =
        "typedef float v8 __attribute__((vector_size(32), aligned(4)));\n"
        "const int *pos = c->view[0].level[1].pos, *crd = c->view[0].level[1].crd;\n"
        "const float *A = c->view[0].val, *B = c->view[1].val; float *C = c->view[2].val; (void)l;\n"
        "for (sc_i64 i = b; i < e; i++) { v8 s[8] = {0};\n"
        "  for (sc_i64 p = pos[i]; p < pos[i + 1]; p++) { const v8 *x = (const v8 *)(B + 64 * "
        "(sc_i64)crd[p]);\n"
        "    for (int k = 0; k < 8; k++) s[k] += A[p] * x[k]; }\n"
        "  for (int k = 0; k < 8; k++) ((v8 *)(C + 64 * i))[k] = s[k]; }\nreturn 0;";
    char *text = text_of(1, body);
    const sc_object *o;
    sc_jit_how how;
    sc_err e = {0};
    double first, disk, t = now();
    configure(SC_JIT_AUTO, NULL, cache);
    CHECK(sc_jit_get(text, &host, &o, &how, &e) == SC_OK && how == SC_JIT_COMPILED);
    first = now() - t;
    text[strlen(text) - 1] = ' ';
    t = now();
    CHECK(sc_jit_get(text, &host, &o, &how, &e) == SC_OK && how == SC_JIT_COMPILED);
    printf("  compile and load: first %.1f ms, next %.1f ms\n", first * 1e3, (now() - t) * 1e3);
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 9) == SC_JIT_COMPILED &&
          elsewhere(SC_JIT_AUTO, NULL, 10) == SC_JIT_COMPILED);
    t = now();
    CHECK(get(9, &e) == SC_JIT_DISK);
    disk = now() - t;
    t = now();
    CHECK(get(9, &e) == SC_JIT_MEMORY);
    printf("  from disk %.2f ms, from memory %.3f ms\n", disk * 1e3, (now() - t) * 1e3);
    CHECK(getenv("SCORCH_EMULATOR") ||
          disk < first / 10); /* generous; compilers are not emulated, loading is */
    free(text);
    return 0;
}

static const jit_test tests[] = {
    {"target", test_target},
    {"compile_call", test_compile_call},
    {"umask", test_umask},
    {"disk", test_disk},
    {"load_mode", test_load_mode},
    {"no_compiler", test_no_compiler},
    {"broken_compiler", test_broken_compiler},
    {"compile_error", test_compile_error},
    {"foreign_object", test_foreign_object},
    {"flags", test_flags},
    {"hostile_environment", test_hostile_environment},
    {"bundle", test_bundle},
    {"race", test_race},
    {"threads", test_threads},
    {"fork_during_compile", test_fork_during_compile},
    {"sigchld_ignored", test_sigchld_ignored},
    {"hanging_child", test_hanging_child},
    {"sweep", test_sweep},
    {"closed_stdio", test_closed_stdio},
    {"descriptors", test_descriptors},
    {"no_memfd", test_no_memfd},
    {"allocations", test_allocations},
    {"speed", test_speed},
};

int main(int argc, char **argv) { return run_tests(tests, SC_LEN(tests), argc, argv); }
