/* work.c: workspaces kept between calls.
 *
 * A few free blocks are parked in a table shared by all threads. Taking one is
 * an atomic exchange, so a block has one owner at any time and a call that
 * finds the table empty allocates. What is parked is bounded: a slot each, at
 * most 1 MB. */
#include <stdatomic.h>
#include <stdlib.h>

#include "kernels.h"

#define ALIGN 64
#define KEEP ((size_t)1 << 20)
#define SLOTS 4

typedef struct {
    void *memory; /* as malloc returned it */
    size_t size;  /* bytes behind the header */
} header;

static _Atomic(header *) parked[SLOTS];

static header *create(size_t size)
{
    if (size > SIZE_MAX - 2 * ALIGN) return NULL;
    size = size < 4096 ? 4096 : size;
    char *memory = sc_malloc(size + 2 * ALIGN);
    if (!memory) return NULL;
    header *h = (header *)(((uintptr_t)memory + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    h->memory = memory;
    h->size = size;
    return h;
}

static void park(header *h)
{
    for (int i = 0; i < SLOTS && h->size <= KEEP; i++) {
        header *empty = NULL;
        if (atomic_compare_exchange_strong(&parked[i], &empty, h)) return;
    }
    free(h->memory);
}

void *sc_work_take(size_t size)
{
    header *h = NULL;
    for (int i = 0; i < SLOTS; i++) {
        if (!atomic_load_explicit(&parked[i], memory_order_relaxed)) continue;
        h = atomic_exchange(&parked[i], NULL);
        if (h && h->size >= size) return (char *)h + ALIGN;
        if (h) free(h->memory);
    }
    h = create(size);
    return h ? (char *)h + ALIGN : NULL;
}

void sc_work_give(void *p)
{
    if (p) park((header *)((char *)p - ALIGN));
}
