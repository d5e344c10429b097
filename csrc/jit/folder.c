/* folder.c: texts in a folder of the cache directory.
 *
 * A file is a text with a line of its checksum behind it, so that what was cut off, filled by a full disk or edited by
 * accident is a miss. Files appear whole, by rename, as objects do (cache.c); what holds of the cache directory holds of
 * the folder: ours, writable for nobody else, no symbolic link. Looking where there is no folder costs one call of the
 * system. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "private.h"

#define SUM "sum "
#define SUM_LINE (sizeof SUM - 1 + SC_HASH + 1)

bool sc_folder_is(const char *folder) { return sc_cache_has(folder); }

/* -1: it is not there, or cannot be trusted. */
static int open_folder(const char *folder, bool make)
{
    if (!make && !sc_cache_has(folder)) return -1;
    const int above = sc_cache_open(make);
    if (above < 0) return -1;
    if (make) mkdirat(above, folder, 0700);
    const int fd = openat(above, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(above);
    if (fd < 0 || !sc_cache_wrong(fd)) return fd;
    close(fd);
    return -1;
}

/* ---- the line at the end ---- */
static bool add_sum(sc_text *t)
{
    char sum[SC_HASH + 1];
    if (t->failed) return false;
    sc_sha256(t->s, t->n, sum);
    sc_text_add(t, SUM "%s\n", sum);
    return !t->failed;
}

static bool remove_sum(sc_text *t)
{
    char sum[SC_HASH + 1];
    if (t->failed || t->n <= SUM_LINE) return false;
    t->n -= SUM_LINE;
    sc_sha256(t->s, t->n, sum);
    const char *line = t->s + t->n;
    const bool same = !memcmp(line, SUM, sizeof SUM - 1) && !memcmp(line + sizeof SUM - 1, sum, SC_HASH) &&
                      line[SUM_LINE - 1] == '\n';
    t->s[t->n] = 0;
    return same;
}

/* ---- files ---- */
bool sc_folder_get(const char *folder, const char *name, sc_text *out)
{
    const int fd = open_folder(folder, false);
    if (fd < 0) return false;
    const bool ok = sc_work_read(fd, name, out) && remove_sum(out);
    close(fd);
    return ok;
}

static bool publish(int fd, const char *name, const sc_text *whole)
{
    static atomic_uint serial;
    char temporary[64];
    snprintf(temporary, sizeof temporary, SC_TEMPORARY "%ld-%u", (long)getpid(),
             atomic_fetch_add(&serial, 1));
    unlinkat(fd, temporary, 0); /* of a process that died and had this number */
    return sc_work_publish(fd, temporary, name, whole);
}

bool sc_folder_put(const char *folder, const char *name, const sc_text *text)
{
    sc_text whole = {0};
    sc_text_addn(&whole, text->s, text->n);
    const int fd = add_sum(&whole) ? open_folder(folder, true) : -1;
    const bool ok = fd >= 0 && publish(fd, name, &whole);
    if (fd >= 0) close(fd);
    sc_text_free(&whole);
    return ok;
}

static const char *unwritable(int fd)
{
    const char *wrong = fd < 0 ? strerror(errno) : sc_cache_wrong(fd);
    if (wrong) return wrong;
    return faccessat(fd, ".", W_OK, AT_EACCESS) ? strerror(errno) : "a file could not be written";
}

void sc_folder_wrong(const char *folder, sc_text *out)
{
    char path[SC_PATH], why[512];
    const int above = sc_cache_open_or(path, true, why, sizeof why);
    if (above < 0) {
        sc_text_add(out, "%s", why);
        return;
    }
    const int fd = openat(above, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    sc_text_add(out, "%s/%s: %s", path, folder, unwritable(fd));
    if (fd >= 0) close(fd);
    close(above);
}

bool sc_folder_remove(const char *folder, const char *name)
{
    const int fd = open_folder(folder, false);
    if (fd < 0) return false;
    const bool ok = unlinkat(fd, name, 0) == 0;
    close(fd);
    return ok;
}

void sc_folder_list(const char *folder, sc_text *names)
{
    const int fd = open_folder(folder, false);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !d) close(fd);
    for (struct dirent *f; d && (f = readdir(d));)
        if (f->d_name[0] != '.') sc_text_add(names, "%s\n", f->d_name);
    if (d) closedir(d);
}
