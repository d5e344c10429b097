/* Computes
 *   C[i,j] = A[i,j] * d[i]
 * with
 *   A: csr f32, indices i32
 *   d: dense f32
 *   C: dense f32
 * by
 *   par i in A {
 *     for j in A {
 *       C[i,j] = A[i,j] * d[i]
 *     }
 *   }
 * because
 *   loops over A follow its storage order
 */
typedef __INT64_TYPE__ sc_i64;
typedef struct {
    const void *pos, *crd;
    sc_i64 size, npos;
} sc_level;
typedef struct {
    sc_level level[12];
    void *val;
    const void *perm;
    sc_i64 stride[8], dim[8], nval;
} sc_view;
typedef struct sc_call {
    unsigned abi, size;
    const sc_view *view;
    const sc_i64 *dim;
    const double *scalar;
    sc_i64 *const *count;
    void *shared;
    const void *self;
    int nlane;
} sc_call;
typedef struct {
    int id, n;
    void *scratch;
    void *partial;
    sc_i64 cursor[8];
} sc_lane;
typedef int sc_kernel(const sc_call *, sc_lane *, sc_i64, sc_i64);
typedef struct {
    unsigned abi, size;
    const char *key;
    int nentry;
    sc_kernel *entry[8];
} sc_object;

static int body(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)
{
    const sc_i64 C_stride0 = call->view[2].stride[0];
    const int *restrict const A_pos1 = call->view[0].level[1].pos;
    const int *restrict const A_crd1 = call->view[0].level[1].crd;
    const float *restrict const A_val = call->view[0].val;
    const float *restrict const d_val = call->view[1].val;
    float *restrict const C_val = call->view[2].val;
    (void)lane;

    for (sc_i64 i = begin; i < end; i++) {
        const sc_i64 A_lo = (sc_i64)A_pos1[i];
        const sc_i64 A_hi = (sc_i64)A_pos1[i + 1];
        for (sc_i64 p = A_lo; p < A_hi; p++) {
            const sc_i64 j = (sc_i64)A_crd1[p];
            C_val[i * C_stride0 + j] = A_val[p] * d_val[i];
        }
    }
    return 0;
}

#ifndef SC_KEY
#define SC_KEY ""
#endif
#ifndef SC_OBJECT
#define SC_OBJECT sc_kernels
#endif
__attribute__((visibility("default"))) const sc_object SC_OBJECT = {1, sizeof(sc_object), SC_KEY, 1, {body}};
