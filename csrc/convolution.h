/* convolution.h: the kernel map of a sparse convolution, as the library offers it.
 *
 * A site is a row of integers, its coordinates. Output site i and input site j meet at offset r where
 *
 *   site j = site i * stride + (tap of r) * dilation,   on every axis,
 *
 * and a convolution is out[i] = sum over such (r, j) of in[j] * weight[r]. On an axis of odd size s taps run from
 * -(s - 1) / 2 to (s - 1) / 2, of even size from 0 to s - 1; offsets are numbered with the last axis fastest. An axis
 * of size, stride and dilation 1 is a batch.
 *
 * Where all strides are 1 the output sites are the input sites, as in a submanifold convolution; else each site that
 * is the floor of an input site / stride, in the order of the first input site of each. */
#ifndef SC_CONVOLUTION_H
#define SC_CONVOLUTION_H

#include "scorch.h"

typedef struct {
    int naxis; /* 1 to SC_MAXDIM */
    int64_t n;
    const int64_t *site; /* [n, naxis] */
    int64_t size[SC_MAXDIM], stride[SC_MAXDIM], dilation[SC_MAXDIM];
    /* the map: */
    int64_t nout, noffset, nnz;
    const int64_t *out; /* [nout, naxis]; site where all strides are 1 */
    sc_dtype itype;
    const void *pos;            /* [nout + 1] where the entries of an output site begin */
    const void *offset, *input; /* [nnz] r and j, ascending by r */
} sc_conv_map;

/* Fills in the map; its arrays come from alloc: SC_CRD of level -1 is `out`. ValueError: a site that comes twice, or a
 * kernel that is none. */
int sc_conv_map_make(sc_conv_map *, sc_alloc *, void *ctx, sc_err *);

#endif
