/* cache.c: objects on disk.
 *
 * An entry is the object file with a trailer: magic, key, and a checksum of
 * everything before it. The checksum catches accidents: half a file, a full
 * disk, bits that fell over. It does not stop an attacker; the directory
 * does: ours, writable for nobody else, not a symbolic link, under nothing
 * that everyone may exchange. A directory that is not so is not used, and
 * info says why; then kernels live in memory only.
 *
 * There are no locks, which network file systems would get wrong. Entries
 * appear whole, by rename, under a name that follows from their content, so
 * who comes second finds the same thing. Every failure here is a miss. */
#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MAGIC "\nscorch-object 1\n"
#define TRAILER (sizeof MAGIC - 1 + SC_KEYLEN + 1 + SC_HASH + 1)
#define CAP ((int64_t)256 << 20)
#define YOUNG 3600     /* seconds in which an entry is never evicted */
#define SWEEP_EVERY 64 /* entries written between two looks at the size of the cache */
#define TEXT_DIGITS 32 /* of each hash, in a name */
#define CC_DIGITS 16
#define SUFFIX ".so"
#define NAME (TEXT_DIGITS + 1 + CC_DIGITS + sizeof SUFFIX)

static char asked[SC_PATH]; /* configured, or "" */

int sc_cache_configure(const char *dir, sc_err *e)
{
    if (dir && dir[0] && dir[0] != '/')
        return sc_error(e, SC_EVALUE, "the cache directory must be an absolute path, got \"%.300s\"", dir);
    if (dir && strlen(dir) >= SC_PATH - 64)
        return sc_error(e, SC_EVALUE, "the cache directory's path is too long: %zu characters", strlen(dir));
    snprintf(asked, sizeof asked, "%s", dir ? dir : "");
    return SC_OK;
}

/* ---- the directory ---- */
static bool choose(char path[SC_PATH])
{
    const char *xdg = sc_env("XDG_CACHE_HOME"), *home = sc_env("HOME");
    int n = -1;
    if (asked[0])
        n = snprintf(path, SC_PATH, "%s", asked);
    else if (xdg && xdg[0] == '/')
        n = snprintf(path, SC_PATH, "%s/scorch", xdg);
    else if (home && home[0] == '/')
        n = snprintf(path, SC_PATH, "%s/.cache/scorch", home);
    if (n < 1 || n >= SC_PATH) return false;
    while (n > 1 && path[n - 1] == '/') path[--n] = 0;
    return true;
}

static void make_directories(char *path)
{
    for (char *p = path + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(path, 0700);
        *p = '/';
    }
    mkdir(path, 0700);
}

const char *sc_cache_wrong(int fd)
{
    struct stat st;
    if (fstat(fd, &st)) return "it cannot be examined";
    if (st.st_uid != geteuid()) return "it belongs to another user";
    if (st.st_mode & (S_IWGRP | S_IWOTH)) return "other users may write to it (chmod 700 would do)";
    return NULL;
}

static int open_plain(const char *path)
{ return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

/* The directory, made if asked; -1 and why if it cannot be trusted. */
int sc_cache_open_or(char path[SC_PATH], bool make, char *why, size_t size)
{
    if (!choose(path)) {
        snprintf(why, size, "there is no HOME, XDG_CACHE_HOME or SCORCH_CACHE_DIR with an absolute path");
        return -1;
    }
    int fd = open_plain(path);
    if (fd < 0 && errno == ENOENT && make) {
        make_directories(path);
        fd = open_plain(path);
    }
    if (fd < 0) {
        snprintf(why, size, "%.300s: %s", path,
                 errno == ELOOP || errno == ENOTDIR ? "it is not a directory, or a symbolic link to one"
                                                    : strerror(errno));
        return -1;
    }
    const char *wrong = sc_cache_wrong(fd);
    if (wrong) snprintf(why, size, "%.300s: %s", path, wrong);
    if (!wrong && sc_work_trusted(path, why, size)) return fd;
    close(fd);
    return -1;
}

int sc_cache_open(bool make)
{
    char path[SC_PATH], why[512];
    return sc_cache_open_or(path, make, why, sizeof why);
}

bool sc_cache_has(const char *name)
{
    char path[SC_PATH];
    if (!choose(path)) return false;
    const size_t n = strlen(path);
    const int more = snprintf(path + n, sizeof path - n, "/%s", name);
    return more > 0 && n + (size_t)more < sizeof path && access(path, F_OK) == 0;
}

bool sc_cache_path(char path[SC_PATH])
{
    char why[512];
    int fd = sc_cache_open_or(path, true, why, sizeof why);
    if (fd >= 0) close(fd);
    if (fd < 0) path[0] = 0;
    return fd >= 0;
}

/* ---- names ---- */
static void name_of(const char *key, char name[NAME])
{ snprintf(name, NAME, "%.*s-%.*s" SUFFIX, TEXT_DIGITS, key, CC_DIGITS, key + SC_HASH + 1); }

static bool is_entry(const char *name)
{
    static const char hex[] = "0123456789abcdef";
    return strlen(name) == NAME - 1 && strspn(name, hex) == TEXT_DIGITS && name[TEXT_DIGITS] == '-' &&
           strspn(name + TEXT_DIGITS + 1, hex) == CC_DIGITS &&
           strcmp(name + TEXT_DIGITS + 1 + CC_DIGITS, SUFFIX) == 0;
}

static bool is_temporary(const char *name)
{ return strncmp(name, SC_TEMPORARY, sizeof SC_TEMPORARY - 1) == 0; }

static DIR *list(int fd)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    if (!d && again >= 0) close(again);
    return d;
}

/* ---- the trailer ---- */
static bool add_trailer(sc_text *object, const char *key)
{
    char sum[SC_HASH + 1];
    sc_text_add(object, MAGIC "%s\n", key);
    if (object->failed) return false;
    sc_sha256(object->s, object->n, sum);
    sc_text_add(object, "%s\n", sum);
    return !object->failed;
}

/* Checks and removes it. The first n characters of the key must be these. */
static bool remove_trailer(sc_text *object, const char *key, size_t n)
{
    if (object->n <= TRAILER) return false;
    char sum[SC_HASH + 1];
    size_t covered = object->n - SC_HASH - 1;
    object->n -= TRAILER;
    const char *tail = object->s + object->n;
    if (memcmp(tail, MAGIC, sizeof MAGIC - 1) || memcmp(tail + sizeof MAGIC - 1, key, n)) return false;
    sc_sha256(object->s, covered, sum);
    return memcmp(object->s + covered, sum, SC_HASH) == 0 && object->s[covered + SC_HASH] == '\n';
}

/* ---- reading ---- */
static bool read_entry(int fd, const char *name, const char *key, size_t n, sc_text *object)
{
    object->n = 0;
    if (!sc_work_read(fd, name, object) || !remove_trailer(object, key, n)) return false;
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && time(NULL) - st.st_mtime > YOUNG)
        utimensat(fd, name, NULL, AT_SYMLINK_NOFOLLOW); /* used lately: evicted late */
    return true;
}

/* The first name after `name` of an entry with this text hash. */
static bool next_name(int fd, const char *text_hash, char name[NAME])
{
    char best[NAME] = "";
    DIR *d = list(fd);
    if (!d) return false;
    for (struct dirent *f; (f = readdir(d));) {
        if (!is_entry(f->d_name) || strncmp(f->d_name, text_hash, TEXT_DIGITS)) continue;
        if (strcmp(f->d_name, name) > 0 && (!best[0] || strcmp(f->d_name, best) < 0))
            memcpy(best, f->d_name, NAME);
    }
    closedir(d);
    memcpy(name, best, NAME);
    return best[0] != 0;
}

bool sc_cache_get(const char *text_hash, const sc_cc *cc, sc_text *object)
{
    char path[SC_PATH], why[512], name[NAME] = "", key[SC_KEYLEN + 1];
    int fd = sc_cache_open_or(path, false, why, sizeof why);
    if (fd < 0) return false;
    bool ok = false;
    if (cc) {
        snprintf(key, sizeof key, "%s-%s", text_hash, cc->hash);
        name_of(key, name);
        ok = read_entry(fd, name, key, SC_KEYLEN, object);
    } else
        while (!ok && next_name(fd, text_hash, name)) ok = read_entry(fd, name, text_hash, SC_HASH, object);
    close(fd);
    return ok;
}

/* ---- eviction ---- */
typedef struct {
    int64_t mtime, size;
    char name[NAME];
} cached_object;

static int older(const void *a, const void *b)
{
    const cached_object *x = a, *y = b;
    return x->mtime != y->mtime ? (x->mtime < y->mtime ? -1 : 1) : strcmp(x->name, y->name);
}

/* Entries of the cache; old leftovers of writers that died are removed. */
static cached_object *survey(int fd, int *n, int64_t *bytes)
{
    cached_object *all = NULL;
    int cap = 0;
    DIR *d = list(fd);
    *n = 0;
    *bytes = 0;
    for (struct dirent *f; d && (f = readdir(d));) {
        struct stat st;
        if ((!is_entry(f->d_name) && !is_temporary(f->d_name)) ||
            fstatat(fd, f->d_name, &st, AT_SYMLINK_NOFOLLOW))
            continue;
        if (is_temporary(f->d_name)) {
            if (time(NULL) - st.st_mtime > YOUNG) unlinkat(fd, f->d_name, 0);
            continue;
        }
        if (*n == cap) {
            cached_object *more = sc_realloc(all, (size_t)(cap = cap ? 2 * cap : 64) * sizeof *all);
            if (!more) break;
            all = more;
        }
        all[*n] = (cached_object){.mtime = st.st_mtime, .size = st.st_size};
        memcpy(all[(*n)++].name, f->d_name, NAME);
        *bytes += st.st_size;
    }
    if (d) closedir(d);
    return all;
}

static void evict(int fd)
{
    int n;
    int64_t bytes;
    cached_object *all = survey(fd, &n, &bytes);
    if (bytes > CAP) qsort(all, (size_t)n, sizeof *all, older);
    for (int i = 0; i < n && bytes > CAP && time(NULL) - all[i].mtime > YOUNG; i++) {
        unlinkat(fd, all[i].name, 0);
        bytes -= all[i].size;
    }
    free(all);
}

/* ---- writing ---- */
static bool publish(int fd, const char *key, const sc_text *whole)
{
    static atomic_uint serial;
    char name[NAME], temporary[96];
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    snprintf(temporary, sizeof temporary, SC_TEMPORARY "%ld-%u-%lld%09ld", (long)getpid(),
             atomic_fetch_add(&serial, 1), (long long)t.tv_sec, t.tv_nsec);
    name_of(key, name);
    return sc_work_publish(fd, temporary, name, whole);
}

void sc_cache_put(const char *key, const sc_text *object)
{
    static atomic_uint written;
    char path[SC_PATH], why[512];
    sc_text whole = {0};
    sc_text_addn(&whole, object->s, object->n);
    int fd = add_trailer(&whole, key) ? sc_cache_open_or(path, true, why, sizeof why) : -1;
    if (fd >= 0) {
        if (publish(fd, key, &whole) && atomic_fetch_add(&written, 1) % SWEEP_EVERY == 0) evict(fd);
        close(fd);
    }
    sc_text_free(&whole);
}

int sc_cache_clear(int64_t *removed, sc_err *e)
{
    char path[SC_PATH], why[512];
    int fd = sc_cache_open_or(path, false, why, sizeof why), failed = 0;
    *removed = 0;
    if (fd < 0) return SC_OK;
    DIR *d = list(fd);
    for (struct dirent *f; d && (f = readdir(d));) {
        if (!is_entry(f->d_name) && !is_temporary(f->d_name)) continue;
        if (unlinkat(fd, f->d_name, 0) == 0)
            *removed += is_entry(f->d_name);
        else if (errno != ENOENT && errno != ESTALE)
            failed = errno;
    }
    if (d) closedir(d);
    close(fd);
    if (!failed) return SC_OK;
    return sc_error(e, SC_EVALUE, "cannot clear the cache %.300s: %s", path, strerror(failed));
}

void sc_cache_info(sc_text *out)
{
    char path[SC_PATH], why[512];
    int fd = sc_cache_open_or(path, true, why, sizeof why), n;
    int64_t bytes;
    if (fd < 0) {
        sc_text_add(out, "cache: in memory only (%s)\n", why);
        return;
    }
    free(survey(fd, &n, &bytes));
    const int tenths = (int)(bytes * 10 >> 20); /* a locale may have its own point */
    sc_text_add(out, "cache: %s (%d kernels, %d.%d of %d MB%s)\n", path, n, tenths / 10, tenths % 10,
                (int)(CAP >> 20), faccessat(fd, ".", W_OK, AT_EACCESS) ? ", read-only" : "");
    close(fd);
}
