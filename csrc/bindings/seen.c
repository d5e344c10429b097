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
    bool counted; /* in_place was */
    sc_often in_place;
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

sc_often sc_seen_often(sc_digest key, double products, const sc_tensor *t)
{
    seen *s = place_of(key);
    const sc_counting how = sc_counted_as();
    if (how == SC_COUNTS_AS_NEW) return (sc_often){0};
    pthread_mutex_lock(&all.lock);
    if (how == SC_COUNTS && sc_digest_equal(s->key, key)) s->products += products;
    seen found = *s;
    pthread_mutex_unlock(&all.lock);
    if (!sc_digest_equal(found.key, key) || found.products <= SC_MANY) return (sc_often){0};
    if (found.counted) return found.in_place;
    found.in_place = sc_bind_in_place_facts(t);
    pthread_mutex_lock(&all.lock);
    if (sc_digest_equal(s->key, key)) s->in_place = found.in_place, s->counted = true;
    pthread_mutex_unlock(&all.lock);
    return found.in_place;
}
