/* test_jit_cache.c: the cache on disk, corrupted, exchanged, full, forbidden. */
#if defined(__linux__)
#include <sched.h>
#include <sys/mount.h>
#endif

#include "jit_harness.h"

static bool missed(void)
{
    sc_err e;
    return get(1, &e) == -1 && strstr(e.msg, "SCORCH_JIT=load");
}

static int test_corrupt(void)
{
    char path[400], *bytes;
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED && count_files(cache, path, sizeof path) == 1);
    int fd = open(path, O_RDWR);
    struct stat st;
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    size_t n = (size_t)st.st_size;
    bytes = malloc(n + 1);
    CHECK(read(fd, bytes, n) == (ssize_t)n);
    configure(SC_JIT_LOAD, NULL, cache);
    for (size_t i = 0; i<n; i += i + 300> n ? 1 : 23) {
        char flipped = (char)(bytes[i] ^ (1 << i % 8));
        CHECK(pwrite(fd, &flipped, 1, (off_t)i) == 1 && missed() && pwrite(fd, bytes + i, 1, (off_t)i) == 1);
    }
    const size_t cuts[] = {0, 1, 64, 300, n / 2, n - 213, n - 212, n - 64, n - 1};
    for (int i = 0; i < SC_LEN(cuts); i++) {
        CHECK(ftruncate(fd, (off_t)cuts[i]) == 0 && missed());
        CHECK(pwrite(fd, bytes, n, 0) == (ssize_t)n);
    }
    CHECK(pwrite(fd, "x", 1, (off_t)n) == 1 && missed());
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED &&
          elsewhere(SC_JIT_LOAD, NULL, 1) == SC_JIT_DISK);
    free(bytes);
    return 0;
}

static int test_misplaced(void)
{
    char one[400], two[400];
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED && count_files(cache, one, sizeof one) == 1);
    snprintf(two, sizeof two, "%s/saved", scratch);
    CHECK(rename(one, two) == 0 && elsewhere(SC_JIT_AUTO, NULL, 2) == SC_JIT_COMPILED);
    char other[400];
    CHECK(count_files(cache, other, sizeof other) == 1 && rename(other, one) == 0); /* 2's object as 1's */
    CHECK(elsewhere(SC_JIT_LOAD, NULL, 1) == 255 && elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED);
    return 0;
}

static int test_file_trust(void)
{
    char path[400], other[400];
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED && count_files(cache, path, sizeof path) == 1);
    CHECK(chmod(path, 0620) == 0 && elsewhere(SC_JIT_LOAD, NULL, 1) == 255);
    CHECK(chmod(path, 0602) == 0 && elsewhere(SC_JIT_LOAD, NULL, 1) == 255);
    CHECK(chmod(path, 0644) == 0 && elsewhere(SC_JIT_LOAD, NULL, 1) == SC_JIT_DISK);
    snprintf(other, sizeof other, "%s/other", scratch);
    CHECK(rename(path, other) == 0 && symlink(other, path) == 0 && elsewhere(SC_JIT_LOAD, NULL, 1) == 255);
    CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0 && elsewhere(SC_JIT_LOAD, NULL, 1) == 255);
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED &&
          elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED);
    CHECK(rmdir(path) == 0 && rename(other, path) == 0 && elsewhere(SC_JIT_LOAD, NULL, 1) == SC_JIT_DISK);
    if (geteuid()) return skip("files of another owner: needs root");
    CHECK(chown(path, NOBODY, NOBODY) == 0 && elsewhere(SC_JIT_LOAD, NULL, 1) == 255);
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED &&
          elsewhere(SC_JIT_LOAD, NULL, 1) == SC_JIT_DISK);
    return 0;
}

static void expect_unusable(const char *dir, const char *why)
{
    static int tag = 100;
    sc_err e;
    configure(SC_JIT_AUTO, NULL, dir);
    CHECK(info_says("in memory only") && info_says(why));
    CHECK(get(++tag, &e) == SC_JIT_COMPILED);
}

static int test_directory_trust(void)
{
    char dir[320], link[320];
    snprintf(dir, sizeof dir, "%s/d", scratch);
    snprintf(link, sizeof link, "%s/link", scratch);
    CHECK(mkdir(dir, 0700) == 0 && symlink(dir, link) == 0);
    expect_unusable(link, "symbolic link");
    CHECK(chmod(dir, 0770) == 0);
    expect_unusable(dir, "other users may write");
    write_file(cache, "", 0, 0600);
    expect_unusable(cache, "not a directory");
    CHECK(unlink(cache) == 0 && mkdir(cache, 0700) == 0 && chmod(scratch, 0777) == 0);
    expect_unusable(cache, "not sticky");
    CHECK(chmod(scratch, 0700) == 0);
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    expect_unusable(NULL, "no HOME");
    setenv("HOME", scratch, 1);
    configure(SC_JIT_AUTO, NULL, NULL);
    CHECK(info_says("/.cache/scorch (0 kernels"));
    if (geteuid()) return skip("directories of another owner: needs root");
    CHECK(chmod(dir, 0700) == 0 && chown(dir, NOBODY, NOBODY) == 0);
    expect_unusable(dir, "another user");
    return 0;
}

static int test_read_only(void)
{
    sc_err e;
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED);
    char path[400];
    CHECK(count_files(cache, path, sizeof path) == 1 && chmod(cache, 0500) == 0);
    if (!geteuid())
        CHECK(chmod(scratch, 0755) == 0 && chown(path, NOBODY, NOBODY) == 0 &&
              chown(cache, NOBODY, NOBODY) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
              setresuid(NOBODY, NOBODY, NOBODY) == 0);
    configure(SC_JIT_AUTO, NULL, cache);
    CHECK(get(1, &e) == SC_JIT_DISK && get(2, &e) == SC_JIT_COMPILED && info_says("read-only"));
    CHECK(count_files(cache, NULL, 0) == 1);
    return 0;
}

static bool mount_small(const char *options, bool noexec)
{
#if defined(__linux__)
    return mkdir(cache, 0700) == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", cache, "tmpfs", noexec ? MS_NOEXEC : 0, options) == 0;
#else
    (void)options, (void)noexec;
    return false;
#endif
}

static int test_noexec(void)
{
    sc_err e;
    if (!mount_small("mode=0700,size=64m", true)) return skip("a noexec file system cannot be mounted here");
    setenv("TMPDIR", cache, 1);
    CHECK(elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED);
    configure(SC_JIT_LOAD, NULL, cache);
    CHECK(get(1, &e) == SC_JIT_DISK);
    return 0;
}

static int test_disk_full(void)
{
    static const char page[4096];
    sc_err e;
    char path[320];
    if (!mount_small("mode=0700,size=4k", false)) return skip("a small file system cannot be mounted here");
    snprintf(path, sizeof path, "%s/.full", cache);
    write_file(path, page, sizeof page, 0600);
    configure(SC_JIT_AUTO, NULL, cache);
    setenv("TMPDIR", cache, 1);
    CHECK(get(1, &e) == SC_JIT_COMPILED && count_files(cache, NULL, 0) == 0);
    return 0;
}

static int test_clear(void)
{
    sc_err e = {0};
    int64_t removed = -1;
    char path[320];
    configure(SC_JIT_AUTO, NULL, cache);
    CHECK(sc_jit_clear(&removed, &e) == SC_OK && removed == 0);
    CHECK(get(0, &e) == SC_JIT_COMPILED);
    for (int i = 1; i < 3; i++) CHECK(elsewhere(SC_JIT_AUTO, NULL, i) == SC_JIT_COMPILED);
    snprintf(path, sizeof path, "%s/precious.so", cache);
    write_file(path, "mine", 4, 0600);
    CHECK(sc_jit_clear(&removed, &e) == SC_OK && removed == 3 && count_files(cache, NULL, 0) == 1);
    CHECK(get(0, &e) == SC_JIT_MEMORY && elsewhere(SC_JIT_AUTO, NULL, 1) == SC_JIT_COMPILED);
    return 0;
}

static int test_eviction(void)
{
    sc_err e;
    char path[400], keep[400] = "";
    CHECK(mkdir(cache, 0700) == 0);
    for (int i = 0; i < 5; i++) { /* 5 x 100 MB; the last one is young */
        struct timespec old[2] = {{.tv_sec = time(NULL) - (i == 4 ? 60 : 90000 - i * 7200)}, {0}};
        old[1] = old[0];
        snprintf(path, sizeof path, "%s/%032x-%016x.so", cache, i, i);
        write_file(path, "", 0, 0600);
        CHECK(truncate(path, 100 << 20) == 0 && utimensat(AT_FDCWD, path, old, 0) == 0);
    }
    snprintf(keep, sizeof keep, "%s", path);
    snprintf(path, sizeof path, "%s/.scorch-1-1-1", cache);
    struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    write_file(path, "", 0, 0600);
    CHECK(utimensat(AT_FDCWD, path, old, 0) == 0);
    configure(SC_JIT_AUTO, NULL, cache);
    CHECK(get(1, &e) == SC_JIT_COMPILED && count_files(cache, NULL, 0) == 3);
    CHECK(access(keep, F_OK) == 0 && access(path, F_OK) != 0);
    snprintf(path, sizeof path, "%s/%032x-%016x.so", cache, 3, 3);
    CHECK(access(path, F_OK) == 0); /* the oldest went */
    return 0;
}

static const jit_test tests[] = {
    {"corrupt", test_corrupt},       {"misplaced", test_misplaced},
    {"file_trust", test_file_trust}, {"directory_trust", test_directory_trust},
    {"read_only", test_read_only},   {"noexec", test_noexec},
    {"disk_full", test_disk_full},   {"clear", test_clear},
    {"eviction", test_eviction},
};

int main(int argc, char **argv) { return run_tests(tests, SC_LEN(tests), argc, argv); }
