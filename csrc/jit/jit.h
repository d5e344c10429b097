/* jit.h: C text -> a loaded object.
 *
 * The text is compiled by the C compiler of this machine, once per text,
 * flags, compiler and CPU kind, and kept in a private directory. A text
 * exports one object:
 *     const sc_object SC_OBJECT = {SC_ABI, sizeof(sc_object), SC_KEY, nentry, {entries}};
 * SC_OBJECT and SC_KEY (a string) are defined on the compiler's command line,
 * here and by whoever compiles texts for the bundle; abi, size and key are
 * compared at every load.
 *
 * A loaded object stays while somebody holds it. Except for sc_jit_configure
 * everything may be called from any thread. */
#ifndef SC_JIT_H
#define SC_JIT_H

#include "../base.h"
#include "../scorch.h"

#define SC_JIT_SYMBOL "sc_object_" /* what SC_OBJECT is for a text that is loaded */

/* ---- the CPU ---- */
#if defined(__aarch64__)
#define SC_DOTS_WIDTH 16
#else
#define SC_DOTS_WIDTH 64 /* of vectors that may have dot products of bf16 */
#endif
typedef struct {
    char name[16];     /* "x86-64-v4", "x86-64-v3", "x86-64", "armv8-a", "generic" */
    char flags[320];   /* what the compiler is told: every feature by name, never "native" */
    uint32_t features; /* rows of the table in target.c that a CPU must have */
    int vector_bytes;  /* 16, 32 or 64 */
} sc_target;

void sc_target_model(char *out, size_t size);       /* what kind of CPU this is, for people and for keys */
void sc_target_host(sc_target *);                   /* the widest target that runs here */
bool sc_target_make(sc_target *, int vector_bytes); /* false: this architecture has no such width */
bool sc_target_runs(const sc_target *);             /* whether this CPU and this system have all of it */
bool sc_target_dots(const sc_target *); /* whether it has such vectors, and this CPU the instruction */

/* ---- jit.c: texts ---- */
typedef enum { SC_JIT_MEMORY, SC_JIT_DISK, SC_JIT_COMPILED } sc_jit_how;

/* The mode, the compiler, its extra flags and the cache directory; strings
 * are copied. Not while sc_jit_get runs. SC_EVALUE: flags that would change
 * results or the target, or a string that is too long. */
int sc_jit_configure(const sc_config *, sc_err *);

/* The object of a text: of this process, of the cache, or compiled now. The
 * caller holds it until sc_jit_release, which takes null too.
 * Several threads asking for one text wait for one compilation. SC_ECOMPILE,
 * always with a reason to show: jit off; not cached and only loading; no
 * compiler; the compiler's own message. The caller falls back or not, as its
 * mode says. */
int sc_jit_get(const char *ctext, const sc_target *, const sc_object **, sc_jit_how *, sc_err *);
void sc_jit_release(const sc_object *);
int64_t sc_jit_bytes(const sc_object *); /* of memory, about, shared by all who hold it */

/* ---- folder.c: texts in a folder of the cache directory, a file each ----
 * What was damaged, or can be written by others, is as if it were not there. Failing is no error. */
bool sc_folder_is(const char *folder); /* whether there is something of this name, trusted or not: one look */
bool sc_folder_get(const char *folder, const char *name, sc_text *);
bool sc_folder_put(const char *folder, const char *name, const sc_text *); /* whole, by rename */
void sc_folder_wrong(const char *folder, sc_text *why); /* for which nothing could be put there */
bool sc_folder_remove(const char *folder, const char *name);
void sc_folder_list(const char *folder, sc_text *names); /* a line each, in no order */

int sc_jit_clear(int64_t *removed, sc_err *); /* the cache on disk; nothing that is loaded */
void sc_jit_info(sc_text *);                  /* lines "key: value" */

/* ---- objects built into the library ---- */
typedef struct {
    char text_hash[65]; /* sc_sha256 of the C text */
    int vector_bytes;   /* width the text was emitted for */
    const sc_object *object;
} sc_bundle_entry;

void sc_jit_register_bundle(const sc_bundle_entry *, int n); /* borrowed for good; replaces what was there */
/* The entry of exactly this text, of the widest width that both the target
 * and the running CPU have; null if there is none. */
const sc_object *sc_jit_bundle(const char *ctext, const sc_target *);

#endif
