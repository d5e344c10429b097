/* test_jit_elf.c: objects whose bytes are not what a compiler wrote: none of them may end the process.
 *
 * Each damaged object is loaded in a child. With SCORCH_FAULTS=1 every bit is turned over in turn, and the object
 * ends at every byte; without, at some. */
#include "jit_harness.h"

enum { LOADED, REFUSED };
static sc_text whole;
static char key[SC_KEYLEN + 1];

static int step(int every) { return getenv("SCORCH_FAULTS") ? 1 : every; }

/* Compiles a text into `whole`. False where there is no compiler. */
static bool make(const char *flags)
{
    sc_err e = {0};
    char all[2048], hash[SC_HASH + 1], *text = returning(1);
    sc_cc_configure(NULL, &e);
    const sc_cc *cc = sc_cc_find(&e);
    if (!cc) return false;
    sc_sha256(text, strlen(text), hash);
    snprintf(key, sizeof key, "%s-%s", hash, hash);
    snprintf(all, sizeof all, "%s %s %s", sc_key_flags, host.flags, flags);
    sc_cc_job job = {.ctext = text, .flags = all, .key = key, .last_place = "", .seconds = 20};
    whole.n = 0;
    CHECK(sc_cc_compile(cc, &job, &whole, &e) == SC_OK);
    free(text);
    return true;
}

/* What loading this object comes to, in a process of its own; 128 and more: it died. */
static int fate(const sc_text *object)
{
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        sc_loaded o;
        sc_err e = {0};
        alarm(20);
        const int rc = sc_load(object, key, SC_KEYLEN, "", &o, &e);
        _exit(!rc ? LOADED : rc == SC_ECOMPILE && e.msg[0] ? REFUSED : 2);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static sc_text copy(void)
{
    sc_text t = {0};
    sc_text_addn(&t, whole.s, whole.n);
    return t;
}

static int test_whole(void)
{
    static const char *const flags[] = {"",
                                        "-O0",
                                        "-g",
                                        "-Wl,--hash-style=sysv",
                                        "-Wl,--hash-style=both",
                                        "-Wl,-z,noseparate-code",
                                        "-Wl,-s",
                                        "-Wl,-z,now -Wl,-z,relro",
                                        "-pipe -lm"};
    for (int i = 0; i < SC_LEN(flags); i++) {
        if (!make(flags[i])) return skip("no compiler");
        const char *wrong = sc_elf_wrong(&whole);
        if (wrong) printf("  %s: %s\n", flags[i], wrong);
        CHECK(!wrong && fate(&whole) == LOADED);
    }
    return 0;
}

static int test_cut(void)
{
    if (!make("")) return skip("no compiler");
    sc_text t = copy();
    const size_t n = t.n;
    for (t.n = 0; t.n < n; t.n += (size_t)step(61)) CHECK(fate(&t) == REFUSED);
    for (t.n = n; t.n > n - 64; t.n--) CHECK(fate(&t) == (t.n < n ? REFUSED : LOADED));
    sc_text_free(&t);
    return 0;
}

/* The end of the file is zeros, as where a disk was full or a machine stopped. */
static int test_zeros(void)
{
    if (!make("")) return skip("no compiler");
    for (size_t at = 0; at < whole.n; at += (size_t)step(61)) {
        sc_text t = copy();
        memset(t.s + at, 0, t.n - at);
        const int rc = fate(&t);
        CHECK(rc == REFUSED || (rc == LOADED && at + 64 > t.n));
        sc_text_free(&t);
    }
    return 0;
}

/* A page that was never written. */
static int test_holes(void)
{
    if (!make("")) return skip("no compiler");
    for (size_t at = 0; at < whole.n; at += 512) {
        sc_text t = copy();
        const size_t n = t.n - at < 4096 ? t.n - at : 4096;
        const bool empty = whole.s[at] == 0 && !memcmp(whole.s + at, whole.s + at + 1, n - 1);
        memset(t.s + at, 0, n);
        const int rc = fate(&t);
        if (rc > REFUSED) printf("  a hole at %zu: %d\n", at, rc);
        CHECK(rc == REFUSED || (rc == LOADED && (empty || n < 4096 || at % 4096)));
        sc_text_free(&t);
    }
    return 0;
}

static int test_flips(void)
{
    int refused = 0, loaded = 0;
    if (!make("-Wl,-z,noseparate-code")) return skip("no compiler");
    for (size_t bit = 0; bit < 8 * whole.n; bit += (size_t)step(37)) {
        sc_text t = copy();
        t.s[bit / 8] = (char)(t.s[bit / 8] ^ (1 << bit % 8));
        const int rc = fate(&t);
        if (rc > REFUSED) printf("  byte %zu, bit %zu: %d\n", bit / 8, bit % 8, rc);
        CHECK(rc <= REFUSED);
        *(rc == REFUSED ? &refused : &loaded) += 1;
        sc_text_free(&t);
    }
    printf("  %d bits: %d refused, %d loaded\n", refused + loaded, refused, loaded);
    CHECK(refused > loaded / 8);
    return 0;
}

static const jit_test tests[] = {
    {"whole", test_whole}, {"cut", test_cut},     {"zeros", test_zeros},
    {"holes", test_holes}, {"flips", test_flips},
};

int main(int argc, char **argv) { return run_tests(tests, SC_LEN(tests), argc, argv); }
