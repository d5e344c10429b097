/* sampling.h: neighbours of nodes, drawn hop by hop from the rows of a csr matrix, as the library offers them. */
#ifndef SC_SAMPLING_H
#define SC_SAMPLING_H

#include "scorch.h"

typedef struct {
    sc_dtype itype;
    const void *pos, *crd; /* an entry (i, j): j is a neighbour of i */
    int64_t rows;
    const void *weight; /* of entries, SC_F32 or SC_F64; null: all alike */
    sc_dtype wtype;
    bool replace; /* an entry may be drawn again */
    /* A hop starts from the nodes that the one before it found, and an entry comes as often as it is drawn; else from all,
     * and it comes once. Then also a first node that comes again has a number each time, and entries lead to its first. */
    bool fresh;
    uint64_t random; /* with it, what is drawn is given */
} sc_sampled;

typedef struct sc_sampling sc_sampling;

/* What a hop found: for each of the nodes begin to begin + rows, entries of its row, by rising number of the node that
 * they lead to. Nodes are numbered as they come, the first ones first. */
typedef struct {
    int64_t begin, rows, nodes, entries; /* nodes: as many as have numbers now */
} sc_hop;

/* A sample that starts from n nodes, no two alike unless it is fresh. SC_EVALUE: a node is no row, or comes twice. */
int sc_sampling_open(sc_sampling **, const sc_sampled *, const int64_t *node, int64_t n, sc_err *);
/* The next hop: at most so many entries of a row, all if that is negative. SC_EVALUE: a neighbour has no row, a weight is
 * negative or not finite, or there are more entries than int32 counts. */
int sc_sampling_hop(sc_sampling *, int64_t fanout, sc_hop *, sc_err *);
/* Writes the last hop: pos [rows + 1] and crd [entries], where each comes from in the matrix [entries], and how many times
 * it was drawn [entries], where that is asked for, of entries that come once. */
void sc_sampling_fill(const sc_sampling *, int32_t *pos, int32_t *crd, int64_t *entry, int32_t *times);
/* Writes the nodes, by number. */
void sc_sampling_nodes(const sc_sampling *, int64_t *node);
void sc_sampling_close(sc_sampling *);

#endif
