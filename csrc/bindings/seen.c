/* seen.c: structures that the operators have met, by their fingerprints.
 *
 * What was found once holds for as long as the fingerprint does: that the structure is valid, how long its rows are. How
 * much was multiplied with it is counted here as a core counts it for a SparseTensor. Old ones give way. */
#include "bind.h"

#include <pthread.h>

typedef struct {
    sc_digest key;
    sc_rows rows;
    double products;
} seen;

static struct {
    pthread_mutex_t lock;
    seen seen[64];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static seen *place_of(sc_digest key) { return &all.seen[key.low >> 58]; }

bool sc_seen_valid(sc_digest key, sc_tensor *t)
{
    pthread_mutex_lock(&all.lock);
    const seen *s = place_of(key);
    const bool found = sc_digest_equal(s->key, key);
    if (found) t->rows = s->rows;
    pthread_mutex_unlock(&all.lock);
    return found;
}

void sc_seen_note(sc_digest key, sc_tensor *t)
{
    sc_census_rows(t);
    pthread_mutex_lock(&all.lock);
    *place_of(key) = (seen){.key = key, .rows = t->rows};
    pthread_mutex_unlock(&all.lock);
}

bool sc_seen_often(sc_digest key, double products)
{
    pthread_mutex_lock(&all.lock);
    seen *s = place_of(key);
    const bool same = sc_digest_equal(s->key, key);
    if (same) s->products += products;
    const bool often = same && s->products > SC_MANY;
    pthread_mutex_unlock(&all.lock);
    return often;
}
