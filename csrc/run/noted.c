/* noted.c: which requests a function makes, for whoever tunes them.
 *
 * While notes are taken every request without a schedule of its own is copied, once, when its program is asked for: what
 * the user wrote, steps of a program, operands that were converted. Handles go stale before, so that calls ask again.
 * Notes are read when none are taken, by their numbers, which stay while notes are added. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

enum { MOST = 256 };

typedef struct {
    sc_request rq; /* its text lies behind */
    sc_noted_kind kind;
    uint64_t key; /* of all that it says */
    char text[];
} note;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static note *noted[MOST];
static int n;
static atomic_bool noting;

static note *copied(const sc_request *rq, sc_noted_kind kind, uint64_t key)
{
    const size_t length = strlen(rq->text) + 1;
    note *x = sc_malloc(sizeof *x + length);
    if (!x) return NULL;
    x->rq = *rq;
    x->kind = kind;
    x->key = key;
    memcpy(x->text, rq->text, length);
    x->rq.text = x->text;
    return x;
}

void sc_note_request(const sc_request *rq, const sc_text *key, const sc_program *p)
{
    if (!atomic_load_explicit(&noting, memory_order_relaxed) || rq->schedule) return;
    const sc_noted_kind kind = p->steps ? SC_NOTED_STEPS : p->asks ? SC_NOTED_ASKS : SC_NOTED_NEST;
    const uint64_t print = sc_fingerprint(key->s, key->n).low;
    bool seen = false;
    pthread_mutex_lock(&lock);
    for (int k = 0; k < n; k++) seen |= noted[k]->key == print;
    if (!seen && n < MOST && (noted[n] = copied(rq, kind, print))) n++;
    pthread_mutex_unlock(&lock);
}

bool sc_is_noting(void) { return atomic_load(&noting); }

void sc_note(bool on, bool anew)
{
    pthread_mutex_lock(&lock);
    while (anew && n) free(noted[--n]);
    atomic_store(&noting, on);
    pthread_mutex_unlock(&lock);
    if (on) sc_table_drop(false);
}

int sc_noted_count(void) { return n; }

int sc_note_often(int k)
{
    sc_request rq = noted[k]->rq;
    for (int q = 0; q < rq.nin; q++)
        if (!sc_format_is_dense(&rq.in[q].format) && !(rq.settled >> q & 1))
            rq.in[q].often = (sc_often){.many = true, .cut = 1};
    pthread_mutex_lock(&lock);
    const int at = n < MOST && (noted[n] = copied(&rq, noted[k]->kind, ~noted[k]->key)) ? n++ : -1;
    pthread_mutex_unlock(&lock);
    return at;
}

const sc_request *sc_noted(int k, sc_noted_kind *kind)
{
    *kind = noted[k]->kind;
    return &noted[k]->rq;
}
