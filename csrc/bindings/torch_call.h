/* torch_call.h: what the files that implement operators of torch share. */
#ifndef SC_BIND_TORCH_CALL_H
#define SC_BIND_TORCH_CALL_H

#include "bind.h"
#include "torch_abi.h"

extern sc_torch_functions sc_torch;
int sc_torch_find(void *lib, sc_err *); /* fills it */

/* A contiguous tensor, null without memory; drop forgets a handle that may be null. */
AtenTensorHandle sc_torch_empty(sc_dtype, int ndim, const int64_t *dim);
void sc_torch_drop(AtenTensorHandle *);
/* Over memory that outlives it. */
AtenTensorHandle sc_torch_over(const void *data, int ndim, const int64_t *dim, const int64_t *stride,
                               sc_dtype);
/* Looks at a dense tensor on the CPU. */
int sc_torch_view(AtenTensorHandle, sc_tensor *, sc_err *);
int sc_torch_broken(sc_err *); /* the error of a call that torch failed */
/* Throws the C++ exception of an error: does not return, so it is the last statement of a call. */
void sc_torch_throw(const sc_err *);

/* torch_dense.c: a dense product by the library that torch has */
int sc_torch_multiply(const sc_dense_product *, sc_err *);
bool sc_torch_is_swift(void); /* it multiplies float32 as fast as the CPU can */

/* torch_attention.c: true if torch refused */
bool sc_torch_define_attention(TorchLibraryHandle def, TorchLibraryHandle impl);

#endif
