/* tuned.c: schedules that were measured to be the best, found again by later programs.
 *
 * What a choice was measured for is a class of requests: expression, formats, types, extents and entries in powers of
 * two, CPU, vectors, threads, the speeds that costs are told for and the version of the library, as lines of text. A
 * choice is kept in the folder "tuned" of the cache directory, under the hash of its class, as that text with the
 * schedule behind it. It is asked for where a program is made, and made as if the user had given the schedule: parsed,
 * verified, tried. What does not work, or would give results in another form, is as if it were not there, for the rest
 * of the process. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run.h"

#define FOLDER "tuned"
#define HEAD "scorch tuned 1\n"
#define NAME 32
#define MAXGAIN 1e6
#define LINE 400 /* of results, and of a format */

typedef enum { KEPT, TRIED, REFUSED } role;
typedef struct choice {
    struct choice *next;
    char name[NAME + 1];
    role role;
    sc_tuned t;
} choice;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static choice *known; /* those that this process has met, and what is being tried */

static void take_lock(void) { pthread_mutex_lock(&lock); }
static void give_lock(void) { pthread_mutex_unlock(&lock); }
static void in_child(void) { lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; }
static void watch_fork(void) { pthread_atfork(take_lock, give_lock, in_child); }

static void lock_known(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_fork);
    take_lock();
}

/* ---- classes ---- */
static void add_format(const sc_format *f, sc_text *t)
{
    char text[LINE];
    sc_format_print(f, text, sizeof text);
    sc_text_add(t, "%s", f->nlevel || f->ndim ? text : "scalar");
}

/* In powers of two, rounded up; 0 and 1 as they are. */
static void add_extent(int64_t n, sc_text *t)
{
    if (n < 2)
        sc_text_add(t, " %lld", (long long)n);
    else
        sc_text_add(t, " 2^%d", sc_log2_up(n));
}

static void add_operand(const sc_request *rq, int k, sc_text *t)
{
    const sc_spec *s = &rq->in[k];
    const bool sparse = !sc_format_is_dense(&s->format);
    sc_text_add(t, "operand %s ", s->name[0] ? s->name : (char[]){(char)('A' + k), 0});
    if (sparse)
        add_format(&s->format, t);
    else
        sc_text_add(t, "dense");
    sc_text_add(t, " %s, extents", sc_dtype_name(s->dtype));
    for (int d = 0; d < s->format.ndim; d++) add_extent(rq->dim[k][d], t);
    if (sparse) {
        sc_text_add(t, ", indices %s, positions", sc_dtype_name(s->itype));
        for (int l = 0; l < s->format.nlevel; l++) sc_text_add(t, " 2^%d", s->positions[l]);
        sc_text_add(t, "%s%s%s", s->perm ? ", permuted" : "", s->often.many ? ", often" : "",
                    rq->settled >> k & 1 ? ", converted" : "");
        if (s->even) sc_text_add(t, ", even rows");
        if (s->skew) sc_text_add(t, ", skew 2^%d", s->skew);
        if (s->twin) sc_text_add(t, ", structure of %d", s->twin - 1);
    } else
        sc_text_add(t, ", stride 1 in %d", s->unit);
    sc_text_add(t, "\n");
}

static void add_results(const sc_request *rq, sc_text *t)
{
    for (int r = 0; r < rq->nask; r++) {
        if (!rq->ask[r].nlevel && !rq->ask_like[r]) continue;
        sc_text_add(t, "result %d ", r);
        add_format(&rq->ask[r], t);
        if (rq->ask_like[r]) sc_text_add(t, " like %d", rq->ask_like[r] - 1);
        sc_text_add(t, "\n");
    }
    if (rq->wide) sc_text_add(t, "wide %x\n", rq->wide);
    if (rq->narrow) sc_text_add(t, "narrow %s\n", sc_dtype_name(rq->narrow));
    sc_text_add(t, "%s%s%s", rq->skip ? "implicit skip\n" : "", rq->nofold ? "any extents\n" : "",
                rq->whole ? "one step\n" : "");
}

static void add_machine(sc_text *t)
{
    char model[128];
    sc_target_model(model, sizeof model);
    sc_text_add(t, "cpu %s, %s\nvectors %d\nthreads %d\ncosts ", model, sc_this_process.target.flags,
                sc_this_process.target.vector_bytes, sc_team_width());
    sc_speeds_print(sc_speeds_get(), t);
    sc_text_add(t, "\nscorch %s, abi %u\n", SC_VERSION, (unsigned)SC_ABI);
}

/* The expression stands in one line. */
static void add_class(const sc_request *rq, sc_text *t)
{
    sc_text_add(t, HEAD "expression ");
    for (const char *s = rq->text; *s; s++) sc_text_add(t, *s == '\n' ? "\\n" : "%c", *s);
    sc_text_add(t, "\n");
    for (int k = 0; k < rq->nin; k++) add_operand(rq, k, t);
    add_results(rq, t);
    add_machine(t);
}

static void name_of(const sc_text *class, char name[NAME + 1])
{
    char hash[65];
    sc_sha256(class->s, class->n, hash);
    snprintf(name, NAME + 1, "%.*s", NAME, hash);
}

/* The class of a request and what it is kept under; false where memory runs out. */
static bool identified(const sc_request *rq, sc_text *class, char name[NAME + 1])
{
    add_class(rq, class);
    if (!class->failed) name_of(class, name);
    return !class->failed;
}

int sc_tuned_class(const sc_request *rq, sc_text *t, sc_err *err)
{
    sc_process_start();
    add_class(rq, t);
    return t->failed ? sc_error(err, SC_ENOMEM, "out of memory") : SC_OK;
}

/* ---- choices ---- */
void sc_tuned_free(sc_tuned *t)
{
    free(t->schedule);
    free(t->results);
    *t = (sc_tuned){0};
}

static char *copy(const char *s)
{
    char *own = s ? sc_malloc(strlen(s) + 1) : NULL;
    return own ? strcpy(own, s) : NULL;
}

/* False, and nothing to free, where memory runs out. */
static bool copied(const sc_tuned *t, sc_tuned *out)
{
    *out = *t;
    out->schedule = copy(t->schedule);
    out->results = copy(t->results);
    if (!out->schedule == !t->schedule && !out->results == !t->results) return true;
    sc_tuned_free(out);
    return false;
}

static choice **link_of(const char *name)
{
    choice **c = &known;
    while (*c && strcmp((*c)->name, name)) c = &(*c)->next;
    return c;
}

static void forget(choice **link)
{
    choice *c = *link;
    if (!c) return;
    *link = c->next;
    sc_tuned_free(&c->t);
    free(c);
}

/* In the place of what was known under the name; what is tried hides what is kept until it is no longer tried. */
static bool remember(const char *name, role as, const sc_tuned *t)
{
    choice *c = sc_zalloc(sizeof *c);
    if (!c || !copied(t, &c->t)) return free(c), false;
    memcpy(c->name, name, sizeof c->name);
    c->role = as;
    lock_known();
    for (choice **old; *(old = link_of(name)) && (as != TRIED || (*old)->role == TRIED);) forget(old);
    c->next = known;
    known = c;
    give_lock();
    return true;
}

/* ---- files ---- */
/* The rest of the line that begins with a word, cut off behind it; *s goes on to the next. */
static char *field(char **s, const char *word)
{
    const size_t n = strlen(word);
    char *end = strncmp(*s, word, n) ? NULL : strchr(*s, '\n'), *found = *s + n;
    if (!end) return NULL;
    *end = 0;
    *s = end + 1;
    return found;
}

/* Takes the text of a file apart, behind its class. */
static bool parse(char *s, sc_tuned *t)
{
    char *end, *gain = field(&s, "gain "), *date = gain ? field(&s, "date ") : NULL,
               *results = date ? field(&s, "results ") : NULL;
    if (!results || !field(&s, "schedule") || !*s || strlen(date) >= sizeof t->date) return false;
    t->gain = strtod(gain, &end);
    if (end == gain || *end || !isfinite(t->gain) || t->gain <= 0 || t->gain > MAXGAIN) return false;
    memcpy(t->date, date, strlen(date) + 1);
    t->schedule = s;
    t->results = results;
    return true;
}

/* From the cache directory; remembered. */
static bool load(const char *name, const sc_text *class)
{
    sc_text file = {0};
    sc_tuned t = {0};
    const bool ok = sc_folder_get(FOLDER, name, &file) && file.n > class->n &&
                    !memcmp(file.s, class->s, class->n) && strlen(file.s) == file.n &&
                    parse(file.s + class->n, &t) && remember(name, KEPT, &t);
    sc_text_free(&file);
    return ok;
}

static bool save(const char *name, const sc_text *class, const sc_tuned *t)
{
    sc_text file = {0};
    sc_text_addn(&file, class->s, class->n);
    sc_text_add(&file, "gain %.4g\ndate %s\nresults %s\nschedule\n%s", t->gain, t->date, t->results,
                t->schedule);
    const bool ok = !file.failed && sc_folder_put(FOLDER, name, &file);
    sc_text_free(&file);
    return ok;
}

/* ---- finding ---- */
/* 1: known and to be used, 0: known not to be, -1: not known. */
static int recall(const char *name, sc_tuned *out)
{
    lock_known();
    const choice *c = *link_of(name);
    const int used = !c ? -1 : c->role != REFUSED && c->t.schedule && copied(&c->t, out);
    if (used == 1) out->trial = c->role == TRIED;
    give_lock();
    return used;
}

static bool any_known(void)
{
    lock_known();
    const bool any = known != NULL;
    give_lock();
    return any;
}

bool sc_tuned_find(const sc_request *rq, sc_tuned *out)
{
    char name[NAME + 1];
    sc_text class = {0};
    int used = 0;
    *out = (sc_tuned){0};
    if (rq->schedule || (!any_known() && !sc_folder_is(FOLDER))) return false;
    if (identified(rq, &class, name)) {
        used = recall(name, out);
        if (used < 0 && load(name, &class)) used = recall(name, out);
    }
    sc_text_free(&class);
    return used == 1;
}

void sc_tuned_results(const sc_program *p, sc_text *t)
{
    for (int r = 0; r < p->nout; r++) {
        const sc_delivered *d = &p->result[r];
        sc_text_add(t, r ? "; " : "");
        add_format(&d->spec.format, t);
        sc_text_add(t, " %s", sc_dtype_name(d->spec.dtype));
        if (d->like >= 0) sc_text_add(t, " like %d", d->like);
    }
}

bool sc_tuned_gives(const sc_program *p, const char *results)
{
    sc_text t = {0};
    sc_tuned_results(p, &t);
    const bool same = t.n && !t.failed && !strcmp(t.s, results);
    sc_text_free(&t);
    return same && (p->asks || p->way != SC_WAY_EXECUTOR);
}

bool sc_tuned_fits(const sc_program *p, const sc_request *rq)
{
    bool fits = true;
    for (int k = 0; k < p->nin; k++) {
        const sc_format *f = &p->in[k].convert;
        for (int l = 0; l < f->nlevel; l++) {
            const sc_levelspec *s = &f->level[l];
            fits &= !sc_kind_of(s)->padded && (!s->part || rq->dim[k][s->dim] % s->block == 0);
        }
    }
    return fits;
}

static bool is_tried(const char *name)
{
    lock_known();
    const choice *c = *link_of(name);
    const bool tried = c && c->role == TRIED;
    give_lock();
    return tried;
}

void sc_tuned_refuse(const sc_request *rq)
{
    char name[NAME + 1];
    sc_text class = {0};
    if (identified(rq, &class, name)) remember(name, is_tried(name) ? TRIED : REFUSED, &(sc_tuned){0});
    sc_text_free(&class);
}

void sc_tuned_print(const sc_tuned *t, sc_text *out)
{
    if (t->trial)
        sc_text_add(out, "a schedule that is being tried\n\n");
    else
        sc_text_add(out, "tuned on %s: %.2fx%s%s\n\n", t->date, t->gain,
                    strchr(t->schedule, '{') ? "" : " by ", strchr(t->schedule, '{') ? "" : t->schedule);
}

/* ---- tuning ---- */
int sc_tuned_set(const sc_request *rq, const sc_tuned *t, sc_err *err)
{
    char name[NAME + 1];
    sc_text class = {0};
    int rc = sc_tuned_class(rq, &class, err);
    if (!rc) name_of(&class, name);
    if (!rc && !remember(name, TRIED, t)) rc = sc_error(err, SC_ENOMEM, "out of memory");
    sc_text_free(&class);
    sc_table_drop(false);
    return rc;
}

static void today(char date[11])
{
    const time_t now = time(NULL);
    struct tm day;
    if (!gmtime_r(&now, &day) || !strftime(date, 11, "%Y-%m-%d", &day)) snprintf(date, 11, "1970-01-01");
}

/* The choice that is tried becomes the one that is kept, in this process where it cannot be saved. */
static int keep_tried(const char *name, const sc_text *class, double gain, sc_text *unsaved, sc_err *err)
{
    sc_tuned t;
    if (recall(name, &t) != 1) return sc_error(err, SC_EVALUE, "nothing is being tried for this request");
    t.gain = gain;
    today(t.date);
    const bool ok = remember(name, KEPT, &t);
    if (ok && !save(name, class, &t)) sc_folder_wrong(FOLDER, unsaved);
    sc_tuned_free(&t);
    return ok ? SC_OK : sc_error(err, SC_ENOMEM, "out of memory");
}

static void drop_choice(const char *name)
{
    lock_known();
    for (choice **old; *(old = link_of(name));) forget(old);
    give_lock();
    sc_folder_remove(FOLDER, name);
}

int sc_tuned_keep(const sc_request *rq, double gain, sc_text *unsaved, sc_err *err)
{
    char name[NAME + 1];
    sc_text class = {0};
    int rc = sc_tuned_class(rq, &class, err);
    if (!rc) {
        name_of(&class, name);
        if (gain > 0)
            rc = keep_tried(name, &class, gain, unsaved, err);
        else
            drop_choice(name);
    }
    sc_text_free(&class);
    sc_table_drop(true);
    return rc;
}

void sc_tuned_untry(const sc_request *rq)
{
    char name[NAME + 1];
    sc_text class = {0};
    if (identified(rq, &class, name)) {
        lock_known();
        choice **link = link_of(name);
        if (*link && (*link)->role == TRIED) forget(link);
        give_lock();
    }
    sc_text_free(&class);
    sc_table_drop(true);
}

void sc_tuned_schedule(const sc_request *rq, sc_text *out)
{
    sc_tuned t;
    if (!sc_tuned_find(rq, &t)) return;
    sc_text_add(out, "%s", t.schedule);
    sc_tuned_free(&t);
}

/* ---- all of them ---- */
static void each_name(void (*visit)(const char *name, void *ctx), void *ctx)
{
    sc_text names = {0};
    sc_folder_list(FOLDER, &names);
    for (char *s = names.s, *end; s && !names.failed && (end = strchr(s, '\n')); s = end + 1) {
        *end = 0;
        visit(s, ctx);
    }
    sc_text_free(&names);
}

/* Whether it is what a request of its class would take; cut into fields. */
static bool is_choice(const char *name, sc_text *file)
{
    static const char head[] = HEAD "expression ";
    char named[NAME + 1];
    sc_tuned t;
    const char *end = strlen(file->s) == file->n && !strncmp(file->s, head, sizeof head - 1)
                          ? strstr(file->s, "\ngain ")
                          : NULL;
    if (!end) return false;
    const size_t n = (size_t)(end + 1 - file->s);
    name_of(&(sc_text){.s = file->s, .n = n}, named);
    return !strcmp(name, named) && parse(file->s + n, &t);
}

static void print_one(const char *name, void *ctx)
{
    sc_text file = {0}, read = {0}, *out = ctx;
    if (sc_folder_get(FOLDER, name, &file)) {
        sc_text_addn(&read, file.s, file.n);
        if (!read.failed && is_choice(name, &read)) sc_text_add(out, "%s\n%s%c", name, file.s, 0);
        out->failed |= read.failed;
    }
    sc_text_free(&read);
    sc_text_free(&file);
}

int sc_tuned_list(sc_text *out, sc_err *err)
{
    each_name(print_one, out);
    return out->failed ? sc_error(err, SC_ENOMEM, "out of memory") : SC_OK;
}

static void remove_one(const char *name, void *ctx)
{ *(int64_t *)ctx += strlen(name) == NAME && sc_folder_remove(FOLDER, name); }

void sc_tuned_forget(void)
{
    lock_known();
    while (known) forget(&known);
    give_lock();
}

int64_t sc_tuned_clear(void)
{
    int64_t removed = 0;
    each_name(remove_one, &removed);
    sc_tuned_forget();
    sc_table_drop(true);
    return removed;
}
