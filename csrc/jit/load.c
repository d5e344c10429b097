/* load.c: bytes -> a loaded object.
 *
 * The system's loader believes what it reads, so bytes are looked through first
 * (elf.c). It never sees a file that others could still change: bytes that
 * were read and checked go into an anonymous file (memfd) and are loaded from
 * there, which also works when every directory is mounted noexec. Where the
 * system refuses that, a file in a private directory serves, removed as soon
 * as it is mapped.
 *
 * The loader takes a name it has seen for the same object, and descriptor
 * numbers come again. So the n-th load spells /proc/self/fd/N in its own way:
 * bits of n as "/." or "/" more in the middle of the path. */
#include "private.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static atomic_int attempts, loaded;

int sc_load_count(void) { return atomic_load(&loaded); }

#if defined(MFD_CLOEXEC)
static void spell(char *path, size_t size, int fd, int n)
{
    size_t len = (size_t)snprintf(path, size, "/proc/self/fd");
    for (int bit = 0; bit < 31 && n >> bit; bit++)
        len += (size_t)snprintf(path + len, size - len, n >> bit & 1 ? "/." : "//.");
    snprintf(path + len, size - len, "/%d", fd);
}

static bool write_all(int fd, const sc_text *object)
{
    size_t done = 0;
    while (done < object->n) {
        ssize_t k = write(fd, object->s + done, object->n - done);
        if (k > 0) done += (size_t)k;
        if (k == 0 || (k < 0 && errno != EINTR)) return false;
    }
    return true;
}

static void *from_memory(const sc_text *object)
{
    int fd = memfd_create("scorch-kernel", MFD_CLOEXEC);
    if (fd < 0) return NULL;
    char path[160];
    spell(path, sizeof path, fd, 1 + atomic_fetch_add(&attempts, 1));
    void *handle = write_all(fd, object) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    close(fd);
    return handle;
}
#else
static void *from_memory(const sc_text *object)
{
    (void)object;
    return NULL;
}
#endif

static void *from_file(const sc_text *object, const char *last_place, char *why, size_t size)
{
    void *handle = NULL;
    const char *place;
    snprintf(why, size, "no private directory to load it from");
    for (int k = 0; !handle && (place = sc_work_place(k, last_place)); k++) {
        sc_work w;
        char path[SC_PATH + 16];
        if (!sc_work_open(&w, place, why, size)) continue;
        snprintf(path, sizeof path, "%s/kernel.so", w.path);
        if (sc_work_write(w.fd, "kernel.so", object->s, object->n))
            handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const char *said = handle ? NULL : dlerror();
        if (said) snprintf(why, size, "%s", said);
        sc_work_close(&w);
    }
    return handle;
}

/* Whether p points into the library that o lies in. */
static bool inside(const sc_object *o, const void *p)
{
    Dl_info mine, theirs;
    return p && dladdr(o, &mine) && dladdr(p, &theirs) && mine.dli_fbase == theirs.dli_fbase;
}

/* What is wrong with a loaded object, or null. */
static const char *judge(const sc_object *o, const char *key, size_t n)
{
    if (!o) return "it has no " SC_JIT_SYMBOL;
    if (o->abi != SC_ABI || o->size != sizeof *o) return "it was made for another version of the library";
    if (!inside(o, o->key) || !inside(o, o->key + SC_KEYLEN) || strlen(o->key) != SC_KEYLEN ||
        strncmp(o->key, key, n))
        return "it is the object of another text";
    if (o->nentry < 1 || o->nentry > SC_LEN(o->entry)) return "its number of entries is out of range";
    for (int i = 0; i < o->nentry; i++)
        if (!inside(o, *(void *const *)&o->entry[i])) return "an entry lies outside of it";
    return NULL;
}

enum {
    MAPPED = 32 << 10
}; /* what a loaded object takes beside its file: pages of their own, the loader's tables */

int sc_load(const sc_text *object, const char *key, size_t n, const char *last_place, sc_loaded *out,
            sc_err *e)
{
    char why[512];
    const char *wrong = sc_elf_wrong(object);
    if (wrong)
        return sc_error(
            e, SC_ECOMPILE,
            "a compiled kernel was refused: expected a whole shared object, got one of %zu bytes: %s",
            object->n, wrong);
    void *handle = from_memory(object);
    if (!handle) handle = from_file(object, last_place, why, sizeof why);
    if (!handle) {
        const int rc = strstr(why, strerror(ENOMEM))   ? SC_ENOMEM
                       : strstr(why, strerror(EMFILE)) ? SC_ELACKS
                                                       : SC_ECOMPILE;
        return sc_error(e, rc, "a compiled kernel cannot be loaded: %.500s", why);
    }
    const sc_object *o = dlsym(handle, SC_JIT_SYMBOL);
    if ((wrong = judge(o, key, n))) {
        dlclose(handle);
        return sc_error(e, SC_ECOMPILE, "a compiled kernel was refused: %s", wrong);
    }
    atomic_fetch_add(&loaded, 1);
    *out = (sc_loaded){o, handle, (int64_t)object->n + MAPPED};
    return SC_OK;
}

void sc_unload(sc_loaded *l)
{
    if (!l->handle) return;
    dlclose(l->handle);
    atomic_fetch_sub(&loaded, 1);
    *l = (sc_loaded){0};
}
