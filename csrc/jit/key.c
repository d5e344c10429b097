/* key.c: what an object depends on.
 *
 * A key is two hashes. The first covers the C text, the flags, the target,
 * the ABI and the platform; the second the identity of the compiler. A
 * process that knows its compiler asks for both, so an upgraded compiler
 * compiles anew. One that has none, or may only load, asks for the first and
 * takes any compiler's object: the ABI, the target and the text are the same,
 * only the instruction selection may differ. */
#include "private.h"

#if defined(__linux__)
#define SYSTEM "linux"
#elif defined(__APPLE__)
#define SYSTEM "darwin"
#else
#define SYSTEM "unix"
#endif

#if defined(__x86_64__)
#define MACHINE "x86_64"
#elif defined(__aarch64__)
#define MACHINE "aarch64"
#else
#define MACHINE "other"
#endif

#if defined(__GLIBC__)
#define LIBC "glibc"
#else
#define LIBC "libc"
#endif

/* -nostdlib keeps out crtfastmath, which would flush denormals to zero in the
 * whole process, and makes libc-dev unnecessary; memcpy and memset, which the
 * compiler may call, are found in the process. For ARM, linkers fill an object
 * up to 64 KB, so that whole pages can be made read-only once it is loaded;
 * without that it has 3. */
const char sc_key_flags[] =
    "-std=gnu11 -O2 -g0 -fPIC -ffreestanding -fno-math-errno -fno-trapping-math -fwrapv -ffp-contract=fast "
    "-fno-stack-protector "
#if defined(__APPLE__)
    "-dynamiclib -undefined dynamic_lookup";
#else
    "-shared -nostdlib -Wl,--build-id=none"
#if defined(__aarch64__)
    " -Wl,-z,norelro"
#endif
    ;
#endif

int sc_key_text(char hash[SC_HASH + 1], const char *ctext, const char *cflags, const sc_target *t, sc_err *e)
{
    sc_text all = {0};
    sc_text_add(&all, "scorch object, abi %d, %s %s %s %d-bit\n", SC_ABI, SYSTEM, MACHINE, LIBC,
                (int)sizeof(void *) * 8);
    sc_text_add(&all, "flags %s\nadded %s\ntarget %s\n%s", sc_key_flags, cflags, t->flags, ctext);
    if (!all.failed) sc_sha256(all.s, all.n, hash);
    bool failed = all.failed;
    sc_text_free(&all);
    return failed ? sc_error(e, SC_ENOMEM, "no memory for the key of a kernel") : SC_OK;
}
