/* private.h: what the files of jit/ share, grouped by file. */
#ifndef SC_JIT_PRIVATE_H
#define SC_JIT_PRIVATE_H

#include <stdlib.h>
#include <unistd.h>

#include "jit.h"

#define SC_PATH 4096                /* longest path that is handled */
#define SC_HASH 64                  /* hexadecimal digits of a hash */
#define SC_KEYLEN (2 * SC_HASH + 1) /* "<text hash>-<compiler hash>" */

/* Beside the codes of the library: the system lacks something, perhaps for now. Says nothing about the compiler; to
 * the outside it is SC_ECOMPILE. */
enum { SC_ELACKS = -1 };
bool sc_lacks(int why); /* whether errno tells of that */

/* Environment variables that a set-user-id program must not believe. */
static inline const char *sc_env(const char *name)
{
#if defined(__linux__)
    return secure_getenv(name);
#else
    return issetugid() ? NULL : getenv(name);
#endif
}

/* ---- key.c ---- */
extern const char sc_key_flags[]; /* what every text is compiled with */
/* Hash of all that decides an object except the compiler. */
int sc_key_text(char hash[SC_HASH + 1], const char *ctext, const char *cflags, const sc_target *, sc_err *);

/* ---- work.c: private directories that last for one compilation ---- */
typedef struct {
    char path[SC_PATH];
    int fd;
} sc_work;
/* The k-th place to try, or null after the last: TMPDIR, /tmp, /dev/shm, `last`. "" is none. */
const char *sc_work_place(int k, const char *last);
/* Whether nobody else can exchange what lies in this directory; why, if not. */
bool sc_work_trusted(const char *path, char *why, size_t size);
/* Removes directories of killed processes in these places, the first time. */
void sc_work_sweep(const char *last);
bool sc_work_open(sc_work *, const char *place, char *why, size_t size);
void sc_work_close(sc_work *);                                          /* with all that is in it */
bool sc_work_write(int dir, const char *name, const char *s, size_t n); /* a new file, 0600 */
/* A file that appears whole, by rename from one of another name. */
bool sc_work_publish(int dir, const char *temporary, const char *name, const sc_text *whole);
/* A whole regular file of ours that others cannot write. */
bool sc_work_read(int dir, const char *name, sc_text *);

/* ---- cc.c: the compiler ---- */
typedef struct {
    char path[SC_PATH], real[SC_PATH]; /* as found, absolute; what is executed */
    char words[256];                   /* arguments that came with the name: SCORCH_CC="ccache gcc" */
    char version[160];                 /* first line of --version */
    char hash[SC_HASH + 1];            /* of its identity */
} sc_cc;
int sc_cc_configure(const char *cc, sc_err *); /* forgets what was found */
/* Null: none. SC_ECOMPILE says why, or SC_ENOMEM, SC_ESTOP. */
const sc_cc *sc_cc_find(sc_err *);
void sc_cc_condemn(const char *why); /* none from now on */
void sc_cc_forked(void);             /* in the child */
#ifndef SC_CC_SECONDS
#define SC_CC_SECONDS 12
#endif
enum { SC_CC_PROBE = 3 };
typedef struct {
    const char *ctext, *flags, *key;
    const char *last_place; /* to work in where no other is good, or "" */
    int seconds;            /* that the compiler may take */
    bool late;              /* it took longer */
} sc_cc_job;
/* Appends the object made of a text. SC_ECOMPILE carries the compiler's words; or SC_ELACKS, SC_ENOMEM,
 * SC_ESTOP. */
int sc_cc_compile(const sc_cc *, sc_cc_job *, sc_text *object, sc_err *);

/* ---- spawn.c ---- */
#if defined(__APPLE__) || (defined(__linux__) && !defined(__GLIBC__))
#define SC_SPAWN_CHDIR 1
#elif defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 29)
#define SC_SPAWN_CHDIR 1
#endif
#endif
enum {
    SC_SPAWN_UNKNOWN = -1,
    SC_SPAWN_LATE = -2,
    SC_SPAWN_FAILED = -3,
    SC_SPAWN_STOPPED = -4,
    SC_SPAWN_KILLED = 256
};
/* Runs file with argv in directory dir (null: here; without
 * SC_SPAWN_CHDIR always here), at most so long, and
 * keeps the first 64 KB of what it prints. What it has started ends with it. Returns its exit status,
 * KILLED + signal, FAILED (errno says why), LATE or STOPPED (by the user: it
 * was killed), or UNKNOWN: it is gone, but somebody else took its status. */
int sc_spawn(const char *file, char *const argv[], const char *dir, int seconds, sc_text *out);

/* ---- cache.c ---- */
int sc_cache_configure(const char *dir, sc_err *);
bool sc_cache_path(char path[SC_PATH]); /* false, and "", when it cannot be used */
/* The object under a text hash, without its trailer. With cc null, that of
 * any compiler. False: there is none that can be trusted. */
bool sc_cache_get(const char *text_hash, const sc_cc *, sc_text *object);
void sc_cache_put(const char *key, const sc_text *object); /* failing is no error */
int sc_cache_clear(int64_t *removed, sc_err *);
#define SC_TEMPORARY ".scorch-"     /* what names begin with of files that are being written */
const char *sc_cache_wrong(int fd); /* with an open directory, or null */
int sc_cache_open(bool make);       /* the directory, to be closed; -1 where it cannot be trusted */
int sc_cache_open_or(char path[SC_PATH], bool make, char *why, size_t size); /* the same; which, or why not */
bool sc_cache_has(const char *name); /* whether something of this name lies there, trusted or not: one look */
void sc_cache_info(sc_text *);

/* ---- elf.c ---- */
/* What is wrong with the bytes of an object, or null: everything that the system's loader follows lies inside. */
const char *sc_elf_wrong(const sc_text *object);

/* ---- load.c ---- */
typedef struct {
    const sc_object *object;
    void *handle;  /* of the loader */
    int64_t bytes; /* of memory, about */
} sc_loaded;
/* Loads an object and compares abi, size and the first n characters of key. SC_ECOMPILE or SC_ELACKS.
 * last_place: another directory to try where memory cannot be loaded from. */
int sc_load(const sc_text *object, const char *key, size_t n, const char *last_place, sc_loaded *, sc_err *);
void sc_unload(sc_loaded *);
int sc_load_count(void);

#endif
