/* kept.c: layouts that the operators derive from their operands.
 *
 * An operator is given arrays and nothing that lasts from call to call, so a
 * derived layout is found again by the fingerprint of the structure it was
 * derived from. It holds structure, and a permutation unless entries keep their order, as derived layouts of a
 * SparseTensor do: values are read where they are. The newest stays; older ones stay while all together take
 * no more than LIMIT bytes. */
#include "bind.h"

#include <pthread.h>
#include <string.h>

#define LIMIT ((int64_t)256 << 20)

static struct {
    pthread_mutex_t lock;
    sc_kept *newest;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *allocate(void *ctx, int what, int level, sc_dtype t, int64_t n)
{
    (void)what, (void)level;
    sc_kept *k = ctx;
    int64_t bytes;
    if (k->n == SC_MAXARRAY || !sc_mul(n, (int64_t)sc_dtype_size(t), &bytes)) return NULL;
    void *p = k->array[k->n] = sc_malloc((size_t)sc_max(bytes, 1));
    k->size[k->n] = bytes;
    k->n += p != NULL;
    return p;
}

static void destroy(sc_kept *k)
{
    for (int i = 0; i < k->n; i++) free(k->array[i]);
    free(k);
}

/* Under the lock. */
static sc_kept *unref(sc_kept *k) { return --k->refs ? NULL : k; }

void sc_kept_release(sc_kept *k)
{
    if (!k) return;
    pthread_mutex_lock(&all.lock);
    k = unref(k);
    pthread_mutex_unlock(&all.lock);
    if (k) destroy(k);
}

static sc_kept *find(sc_digest key, const sc_format *as)
{
    for (sc_kept **p = &all.newest; *p; p = &(*p)->next) {
        sc_kept *k = *p;
        if (!sc_digest_equal(k->key, key) || !sc_format_equal(&k->t.format, as)) continue;
        *p = k->next; /* to the front */
        k->next = all.newest;
        all.newest = k;
        k->refs++;
        return k;
    }
    return NULL;
}

static int64_t size_of(const sc_kept *k)
{
    int64_t bytes = 0;
    for (int i = 0; i < k->n; i++) bytes += k->size[i];
    return bytes;
}

/* A list of what must give way to the newest for all to take no more than limit bytes. */
static sc_kept *give_way(const sc_kept *newest, int64_t limit)
{
    sc_kept *old = NULL;
    int64_t bytes = 0;
    for (sc_kept **p = &all.newest; *p;) {
        sc_kept *x = *p;
        bytes += size_of(x);
        if (x == newest || bytes <= limit) {
            p = &x->next;
            continue;
        }
        *p = x->next;
        if (unref(x)) x->next = old, old = x;
    }
    return old;
}

static int64_t destroy_all(sc_kept *old)
{
    int64_t bytes = 0;
    for (sc_kept *next; old; old = next) {
        next = old->next;
        bytes += size_of(old);
        destroy(old);
    }
    return bytes;
}

int64_t sc_kept_clear(void)
{
    pthread_mutex_lock(&all.lock);
    sc_kept *old = give_way(NULL, -1);
    pthread_mutex_unlock(&all.lock);
    return destroy_all(old);
}

static void forget(sc_kept *k, const void *array)
{
    for (int i = 0; i < k->n; i++)
        if (k->array[i] == array) {
            free(k->array[i]);
            k->array[i] = k->array[--k->n];
            k->size[i] = k->size[k->n];
            return;
        }
}

static void drop_values(sc_kept *k)
{
    forget(k, k->t.view.val);
    k->t.view.val = NULL;
}

/* An array that a conversion took from the operand goes with that: the layout gets a copy. */
static bool own(sc_kept *k, const void **array, int64_t n)
{
    for (int i = 0; i < k->n; i++)
        if (k->array[i] == *array) return true;
    void *mine = *array ? allocate(k, SC_CRD, -1, k->t.itype, n) : NULL;
    if (mine) memcpy(mine, *array, (size_t)n * sc_dtype_size(k->t.itype));
    const bool done = mine || !*array;
    *array = mine;
    return done;
}

static bool own_levels(sc_kept *k)
{
    int64_t above = 1;
    for (int l = 0; l < k->t.format.nlevel; above = k->t.view.level[l++].npos) {
        sc_level *at = &k->t.view.level[l];
        const sc_levelspec *spec = &k->t.format.level[l];
        if (!own(k, &at->pos, sc_pos_length(spec, at->size, above)) ||
            !own(k, &at->crd, sc_crd_length(spec, at->size, above, at->npos)))
            return false;
    }
    return true;
}

/* Whether every entry has a source; then values are read there, and those that were converted are dropped. */
static bool read_through(sc_kept *k, const int64_t *perm, int64_t of)
{
    const int64_t n = k->t.view.nval;
    k->same = perm && sc_bind_in_place(perm, n, of);
    if (k->same) {
        drop_values(k);
        forget(k, perm);
        k->perm = NULL;
        return true;
    }
    if (k->t.itype == SC_I32 && n > INT32_MAX) perm = NULL; /* below coordinates there may be more values */
    for (int64_t i = 0; perm && i < n; i++)
        if (perm[i] < 0) perm = NULL;
    if (!perm) return false;
    drop_values(k);
    k->t.view.perm = perm;
    if (k->t.itype == SC_I64) return true;
    int32_t *narrow = allocate(k, SC_VAL, -1, SC_I32, n);
    if (!narrow) return false;
    for (int64_t i = 0; i < n; i++) narrow[i] = (int32_t)perm[i];
    forget(k, perm);
    k->t.view.perm = k->perm = narrow;
    k->ptype = SC_I32;
    return true;
}

sc_kept *sc_kept_derive(sc_digest key, const sc_tensor *from, const sc_format *as, sc_err *e)
{
    pthread_mutex_lock(&all.lock);
    sc_kept *k = find(key, as), *old = NULL;
    pthread_mutex_unlock(&all.lock);
    if (k) return k;
    if (!(k = sc_zalloc(sizeof *k))) return sc_error(e, SC_ENOMEM, "out of memory"), NULL;
    int64_t *perm = NULL;
    k->key = key;
    k->refs = 1;
    k->t.format = *as;
    k->t.itype = from->itype;
    if (sc_convert_layout(from, &k->t, allocate, k, &perm, e)) return destroy(k), NULL;
    k->perm = perm;
    k->ptype = SC_I64;
    if (!read_through(k, perm, from->view.nval)) {
        if (k->t.view.perm) return sc_error(e, SC_ENOMEM, "out of memory"), destroy(k), NULL;
        return k;
    }
    if (!own_levels(k)) return sc_error(e, SC_ENOMEM, "out of memory"), destroy(k), NULL;
    pthread_mutex_lock(&all.lock);
    k->refs++;
    k->next = all.newest;
    all.newest = k;
    old = give_way(k, LIMIT);
    pthread_mutex_unlock(&all.lock);
    (void)destroy_all(old);
    return k;
}
