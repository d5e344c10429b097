/* watch.h: who runs what, while somebody looks.
 *
 * What takes time is a span: a program, each of its steps, a conversion, attention, a sample. Spans of one thread lie
 * inside one another. Nobody looks as a rule, and then a span costs one load. */
#ifndef SC_WATCH_H
#define SC_WATCH_H

#include <stdatomic.h>

#include "base.h"

enum { SC_WATCH_COUNT = 1, SC_WATCH_MARK = 2 }; /* calls and times are kept; spans are shown to a profiler */
extern _Atomic int sc_watched_by;
static inline bool sc_is_watched(void)
{ return __builtin_expect(atomic_load_explicit(&sc_watched_by, memory_order_relaxed) != 0, false); }
/* Turns one of them on or off; when nothing counts any more, what was counted is forgotten. */
void sc_watch_set(int what, bool on);

/* ---- one span: begun, ended in the reverse order ---- */
typedef struct sc_span {
    struct sc_span *above; /* of this thread */
    uint64_t key;          /* of what it is, and inside of what */
    int64_t start, bytes;  /* bytes: of arrays read and written, once each; whoever runs it may add some */
    void *mark;
    sc_text what; /* the expression, a tab, the operands */
} sc_span;
/* what: an expression, or a word. */
void sc_span_begin(sc_span *, const char *what, const sc_tensor *in, int nin);
/* way: how it ran; done: whether it ended well, else it is not counted. */
void sc_span_end(sc_span *, const char *way, const sc_tensor *out, int nout, bool done);

/* What was counted: a line with the number of calls that there was no room for, then one for each span, in the order in
 * which they were met first. Fields lie between tabs: key, key of the span around it (0: none), calls, nanoseconds, bytes,
 * entries that the first result stored in the last call, way, results, expression, operands. */
void sc_watch_print(sc_text *);

/* The profiler: begin gives what end takes, which may be null. */
typedef struct {
    void *(*begin)(const char *name);
    void (*end)(void *mark);
} sc_profiler;
void sc_watch_profiler(const sc_profiler *);

#endif
