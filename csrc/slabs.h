/* slabs.h: a sparse tensor of one compressed level above dense ones lists the coordinates of dense tensors, its slabs.
 * They lie behind one another, so that they are one dense tensor of as many coordinates as are listed. */
#ifndef SC_SLABS_H
#define SC_SLABS_H

#include "base.h"

bool sc_format_is_slabs(const sc_format *);
/* The tensor of slabs as that dense tensor: its dimensions, the first level's of as many coordinates, and strides. */
sc_view sc_slabs_view(const sc_tensor *);
/* A dense tensor that has the coordinates of dimension `listed` which these slabs list, and nothing else of it: its
 * elements side by side, dimensions in the same order. Null where memory runs out; sc_work_give() frees it. */
void *sc_slabs_take(const sc_tensor *slabs, const sc_tensor *dense, int listed, bool filled, sc_view *);
/* The other way: what `dense` has at other coordinates is zero. */
void sc_slabs_put(const sc_tensor *slabs, const sc_view *, const sc_tensor *dense, int listed);

#endif
