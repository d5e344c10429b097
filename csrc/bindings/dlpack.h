/* dlpack.h: our own words for the DLPack 1.3 exchange interface.
 *
 * torch.Tensor.__dlpack_c_exchange_api__ is a capsule around a table of plain
 * C functions. Only the fields used here have names worth reading; sizes and
 * offsets are what matters, and a test compares them with torch's header. */
#ifndef SC_BIND_DLPACK_H
#define SC_BIND_DLPACK_H

#include <stdint.h>

enum { SC_DL_CPU = 1 };
enum { SC_DL_INT = 0, SC_DL_UINT = 1, SC_DL_FLOAT = 2, SC_DL_BFLOAT = 4, SC_DL_COMPLEX = 5, SC_DL_BOOL = 6 };
enum { SC_DL_FLOAT8 = 10, SC_DL_FLOAT8_END = 14 }; /* types of 8 bits that have a zero */

typedef struct {
    uint32_t major, minor;
} sc_dl_version;
typedef struct {
    int32_t type, id;
} sc_dl_device;
typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} sc_dl_dtype;
typedef struct {
    void *data;
    sc_dl_device device;
    int32_t ndim;
    sc_dl_dtype dtype;
    int64_t *shape, *strides; /* strides in elements */
    uint64_t byte_offset;
} sc_dl_tensor;
typedef struct sc_dl_managed {
    sc_dl_version version;
    void *manager_ctx;
    void (*deleter)(struct sc_dl_managed *);
    uint64_t flags;
    sc_dl_tensor tensor;
} sc_dl_managed;
typedef struct sc_dl_header {
    sc_dl_version version;
    struct sc_dl_header *prev;
} sc_dl_header;
typedef void sc_dl_seterror(void *ctx, const char *kind, const char *message);

/* allocate   new memory from torch's allocator, not used
 * own        a reference to a tensor object's memory
 * object     the tensor object of a managed tensor, which it takes over
 * borrow     looks at a tensor object; shape and strides belong to the object */
typedef struct {
    sc_dl_header header;
    int (*allocate)(sc_dl_tensor *, sc_dl_managed **, void *ctx, sc_dl_seterror *);
    int (*own)(void *object, sc_dl_managed **);
    int (*object)(sc_dl_managed *, void **);
    int (*borrow)(void *object, sc_dl_tensor *);
    int (*stream)(int32_t type, int32_t id, void **);
} sc_dl_api;

#endif
