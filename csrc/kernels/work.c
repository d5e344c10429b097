/* work.c: memory kept between calls.
 *
 * Workspaces and large results are wanted again and again, and memory that the
 * system hands out anew is cleared first, or, in a virtual machine, fetched from
 * the host: that takes longer than most kernels write to it. So free blocks are
 * parked in two tables shared by all threads, for blocks up to 1 MB and for
 * larger ones, which consist of huge pages. Taking one is an atomic exchange, so
 * a block has one owner at any time, and a fork finds no lock held. What is
 * parked takes the first free place, from where it is taken again while the caches
 * still hold it, else that of another, and all together is bounded. The system is
 * not told that it may have the pages (MADV_FREE): a page that is then written to
 * costs a product of 5 MB as much again. */
#include <stdatomic.h>
#include <stdlib.h>

#include "kernels.h"

#define ALIGN ((size_t)64)

#if defined(SC_PLAIN_MEMORY)
void *sc_work_take(size_t size) { return size > SIZE_MAX / 2 ? NULL : sc_malloc_aligned(ALIGN, size); }
void sc_work_give(void *p) { free(p); }
void sc_work_drop(void *p) { free(p); }
int64_t sc_work_clear(void) { return 0; }
#else
#define SMALL ((size_t)1 << 20)
#define LIMIT ((size_t)256 << 20) /* of large blocks together */
#define SLOTS 16

typedef struct {
    void *memory; /* as malloc returned it */
    size_t size;  /* bytes behind the header */
} header;

typedef struct {
    _Atomic(header *) slot[SLOTS];
    atomic_uint turn; /* which slot makes room where none is free */
    atomic_size_t kept;
} table;

static table small, large;

static table *table_for(size_t size) { return size <= SMALL ? &small : &large; }

static size_t align_for(size_t size) { return size <= SMALL ? ALIGN : SC_HUGE_PAGE; }

static header *create(size_t size)
{
    const size_t align = align_for(size);
    char *memory = sc_malloc(size + ALIGN + align);
    if (!memory) return NULL;
    char *p = (char *)(((uintptr_t)memory + ALIGN + align - 1) & ~(uintptr_t)(align - 1));
    header *h = (header *)(p - ALIGN);
    h->memory = memory;
    h->size = size;
    sc_fill_advise(p, size);
    return h;
}

static header *remove_from(table *t, int i)
{
    header *h =
        atomic_load_explicit(&t->slot[i], memory_order_relaxed) ? atomic_exchange(&t->slot[i], NULL) : NULL;
    if (h) atomic_fetch_sub(&t->kept, h->size);
    return h;
}

static size_t drop(header *h)
{
    const size_t size = h ? h->size : 0;
    if (h) free(h->memory);
    return size;
}

static unsigned first_free(table *t)
{
    unsigned i = 0;
    while (i < SLOTS && atomic_load_explicit(&t->slot[i], memory_order_relaxed)) i++;
    return i;
}

static void park(table *t, header *h)
{
    if (h->size > LIMIT) {
        drop(h);
        return;
    }
    unsigned i = first_free(t);
    atomic_fetch_add(&t->kept, h->size);
    if (i == SLOTS) i = atomic_fetch_add(&t->turn, 1) % SLOTS;
    header *old = atomic_exchange(&t->slot[i], h);
    if (old) atomic_fetch_sub(&t->kept, old->size);
    drop(old);
    for (unsigned k = 1; k < SLOTS && atomic_load(&t->kept) > LIMIT; k++)
        drop(remove_from(t, (int)((i + k) % SLOTS)));
}

/* No large block goes to what needs much less. */
static bool fits(const table *t, const header *h, size_t size)
{ return h->size >= size && (t == &small || h->size - size <= h->size / 4); }

void *sc_work_take(size_t size)
{
    table *t = table_for(size);
    const size_t align = align_for(size);
    if (size > SIZE_MAX / 2 || sc_alloc_fails()) return NULL;
    size = size < 4096 ? 4096 : (size + align - 1) & ~(align - 1);
    for (int i = 0; i < SLOTS; i++) {
        header *h = remove_from(t, i), *empty = NULL;
        if (h && fits(t, h, size)) return (char *)h + ALIGN;
        if (!h) continue;
        atomic_fetch_add(&t->kept, h->size);
        if (!atomic_compare_exchange_strong(&t->slot[i], &empty, h)) {
            atomic_fetch_sub(&t->kept, h->size);
            park(t, h);
        }
    }
    header *h = create(size);
    return h ? (char *)h + ALIGN : NULL;
}

void sc_work_give(void *p)
{
    if (!p) return;
    header *h = (header *)((char *)p - ALIGN);
    park(table_for(h->size), h);
}

void sc_work_drop(void *p)
{
    header *h = p ? (header *)((char *)p - ALIGN) : NULL;
    if (h && h->size <= SMALL)
        park(&small, h);
    else
        drop(h);
}

int64_t sc_work_clear(void)
{
    size_t bytes = 0;
    for (int i = 0; i < SLOTS; i++) bytes += drop(remove_from(&small, i)) + drop(remove_from(&large, i));
    return (int64_t)bytes;
}
#endif
