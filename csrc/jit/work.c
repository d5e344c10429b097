/* work.c: private directories, and files read and written without trusting
 * their names.
 *
 * The compiler works in a directory made for one compilation and removed
 * after it, with everything it left. While it is used it is locked, and a process
 * that is killed leaves it without its lock: those are swept when they are old,
 * once in a process, when it compiles for the first time. A name is believed once, when it is
 * opened; after that all is done through the descriptor. A directory is
 * trusted when nobody but its owner and root could put another one in its
 * place: no ancestor is writable for everyone unless it is sticky. */
#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#define MAXFILE ((off_t)64 << 20) /* an object is some ten KB */
#define ROOM ((uint64_t)4 << 20)  /* free bytes that a compilation may need */
#define NAME "scorch-kernel-"     /* of directories; six letters follow */
#define STALE 600                 /* seconds that no compilation lasts */
#define DEPTH 16                  /* of directories in directories */

bool sc_lacks(int why)
{
    return why == ENOMEM || why == EAGAIN || why == EMFILE || why == ENFILE || why == ENOSPC ||
           why == EDQUOT || why == EFBIG;
}

const char *sc_work_place(int k, const char *last)
{
    const char *tmp = sc_env("TMPDIR");
    const char *place[] = {tmp && tmp[0] == '/' ? tmp : "", "/tmp", "/dev/shm", last};
    return k < SC_LEN(place) ? place[k] : NULL;
}

static bool exchangeable(const char *path)
{
    struct stat st;
    return stat(path, &st) || ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX));
}

bool sc_work_trusted(const char *path, char *why, size_t size)
{
    char real[SC_PATH];
    if (!realpath(path, real)) {
        snprintf(why, size, "%.200s: %s", path, strerror(errno));
        return false;
    }
    for (;;) {
        if (exchangeable(real)) {
            snprintf(why, size, "%.200s is writable for everyone and not sticky", real);
            return false;
        }
        char *slash = strrchr(real, '/');
        if (!slash || real[1] == 0) return true;
        slash[slash == real] = 0;
    }
}

static bool roomy(int fd)
{
    struct statvfs s;
    return fstatvfs(fd, &s) || (uint64_t)s.f_bavail * s.f_frsize >= ROOM;
}

/* Removes what lies in an open directory, which is closed. */
static void empty(int fd, int depth)
{
    DIR *d = fdopendir(fd);
    if (!d) close(fd);
    for (struct dirent *f; d && (f = readdir(d));) {
        if (!strcmp(f->d_name, ".") || !strcmp(f->d_name, "..") || !unlinkat(fd, f->d_name, 0)) continue;
        int below =
            depth < DEPTH ? openat(fd, f->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        if (below < 0) continue;
        empty(below, depth + 1);
        unlinkat(fd, f->d_name, AT_REMOVEDIR);
    }
    if (d) closedir(d);
}

/* ---- what killed processes left ---- */
/* A directory of ours that nobody works in: the lock of its owner is gone, and so is the time to take it. */
static bool abandoned(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IRWXG | S_IRWXO)) &&
           time(NULL) - st.st_mtime > STALE && (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
}

static void sweep_place(const char *place)
{
    char why[256];
    DIR *d = place[0] && sc_work_trusted(place, why, sizeof why) ? opendir(place) : NULL;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (strlen(f->d_name) != sizeof NAME - 1 + 6 || strncmp(f->d_name, NAME, sizeof NAME - 1)) continue;
        int fd = openat(dirfd(d), f->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) continue;
        if (!abandoned(fd)) {
            close(fd);
            continue;
        }
        empty(fd, 0);
        unlinkat(dirfd(d), f->d_name, AT_REMOVEDIR);
    }
    if (d) closedir(d);
}

void sc_work_sweep(const char *last)
{
    static atomic_flag swept = ATOMIC_FLAG_INIT;
    const char *place;
    if (atomic_flag_test_and_set(&swept)) return;
    for (int k = 0; (place = sc_work_place(k, last)); k++) sweep_place(place);
}

/* ---- a directory ---- */
bool sc_work_open(sc_work *w, const char *place, char *why, size_t size)
{
    if (!place[0] || !sc_work_trusted(place, why, size)) return false;
    int n = snprintf(w->path, sizeof w->path, "%s/" NAME "XXXXXX", place);
    if (n < 0 || n >= SC_PATH || !mkdtemp(w->path)) {
        snprintf(why, size, "%.200s: %s", place, strerror(n < SC_PATH ? errno : ENAMETOOLONG));
        return false;
    }
    w->fd = open(w->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (w->fd >= 0 && roomy(w->fd)) {
        (void)flock(w->fd, LOCK_EX | LOCK_NB);
        return true;
    }
    snprintf(why, size, "%.200s: %s", place, strerror(w->fd < 0 ? errno : ENOSPC));
    if (w->fd >= 0) close(w->fd);
    rmdir(w->path);
    return false;
}

void sc_work_close(sc_work *w)
{
    empty(w->fd, 0);
    rmdir(w->path);
}

bool sc_work_write(int dir, const char *name, const char *s, size_t n)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    size_t done = 0;
    while (done < n) {
        ssize_t k = write(fd, s + done, n - done);
        if (k > 0) done += (size_t)k;
        if (k == 0 || (k < 0 && errno != EINTR)) break;
    }
    int why = errno;
    if (close(fd) == 0 && done == n) return true; /* NFS tells of a full disk at close */
    if (done == n) why = errno;
    unlinkat(dir, name, 0);
    errno = why;
    return false;
}

bool sc_work_publish(int dir, const char *temporary, const char *name, const sc_text *whole)
{
    if (!sc_work_write(dir, temporary, whole->s, whole->n)) return false;
    if (renameat(dir, temporary, dir, name) == 0) return true;
    unlinkat(dir, temporary, 0);
    return false;
}

static bool ours(int fd, off_t *size)
{
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) return false;
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_size <= 0 || st.st_size > MAXFILE) return false;
    *size = st.st_size;
    return true;
}

static bool read_all(int fd, off_t size, sc_text *out)
{
    char part[16384];
    while (size > 0) {
        ssize_t k = read(fd, part, size < (off_t)sizeof part ? (size_t)size : sizeof part);
        if (k == 0 || (k < 0 && errno != EINTR)) return false;
        if (k > 0) sc_text_addn(out, part, (size_t)k);
        if (k > 0) size -= k;
    }
    return !out->failed;
}

bool sc_work_read(int dir, const char *name, sc_text *out)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    off_t size = 0;
    bool ok = ours(fd, &size) && read_all(fd, size, out);
    close(fd);
    return ok;
}
