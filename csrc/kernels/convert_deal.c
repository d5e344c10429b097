/* convert_deal.c: a stable counting sort of entries by one coordinate, their key.
 *
 * Writing entries straight to where they belong touches the whole result in the
 * order of the source, and several threads touch the same lines of it. So entries
 * are first dealt into buckets, ranges of keys whose entries and counts fit the
 * cache, of which every lane fills a piece of its own; then each bucket is sorted
 * for itself, by one thread. Few entries stay where they are, and those of grids and bands, which come close
 * to each other as they are: then they are one bucket, or each lane has places of its own for its part of them. */
#include <stdatomic.h>
#include <string.h>

#include "convert.h"

#define ENTRIES 32768       /* of a bucket, about */
#define KEYS 16384          /* likewise */
#define ALL_KEYS (8 * KEYS) /* of entries that stay where they are, at most */
#define BUCKETS 1024        /* that are filled at a time, unless there are more than 2^26 keys */
#define LOWBITS 16          /* of a key that an entry in a bucket holds */
#define STRETCHES 8         /* of entries that are looked at, to see if they lie close */
#define STRETCH 4096        /* entries of each */
#define PLACE 4             /* bytes that an entry is written to, side by side with others of its key */

/* ---- the fibres of entries ---- */
SC_INLINE int64_t fibres(const void *pos, sc_dtype itype, int64_t n, int64_t f, int64_t begin, int64_t end,
                         uint32_t *out)
{
    while (f + 1 < n && sc_index(pos, itype, f + 1) <= begin) f++;
    uint32_t fibre = (uint32_t)f;
    memset(out, 0, (size_t)(end - begin) * sizeof *out);
    for (; f + 1 < n && sc_index(pos, itype, f + 1) < end; f++) out[sc_index(pos, itype, f + 1) - begin]++;
    for (int64_t i = 0; i < end - begin; i++) out[i] = fibre += out[i];
    return f;
}

int64_t sc_convert_fibres(const void *pos, sc_dtype itype, int64_t n, int64_t f, int64_t begin, int64_t end,
                          uint32_t *out)
{
    return itype == SC_I64 ? fibres(pos, SC_I64, n, f, begin, end, out)
                           : fibres(pos, SC_I32, n, f, begin, end, out);
}

int64_t sc_deal_fibre(const sc_deal *d, int64_t e)
{
    const sc_view *v = &d->c->from->view;
    if (d->other || d->dealt || e >= d->n) return 0;
    return sc_split_fibre(v->level[1].pos, d->c->from->itype, v->level[0].npos, e);
}

const uint32_t *sc_deal_others(const sc_deal *d, int64_t *f, int64_t begin, int64_t end, uint32_t *room)
{
    const sc_view *v = &d->c->from->view;
    sc_dtype itype = d->c->from->itype;
    if (d->dealt) return d->rest + begin;
    if (d->other && itype == SC_I32) return (const uint32_t *)d->other + begin;
    if (!d->other)
        *f = sc_convert_fibres(v->level[1].pos, itype, v->level[0].npos, *f, begin, end, room);
    else
        for (int64_t e = begin; e < end; e++) room[e - begin] = (uint32_t)((const int64_t *)d->other)[e];
    return room;
}

/* ---- dealing into buckets ---- */
SC_INLINE bool count_buckets(const sc_deal *d, sc_dtype itype, int64_t *count, int64_t begin, int64_t end)
{
    const void *by = d->by;
    int64_t nkey = d->nkey;
    int shift = d->shift;
    bool stray = false;
    for (int64_t e = begin; e < end; e++) {
        int64_t key = sc_index(by, itype, e);
        if (__builtin_expect((uint64_t)key >= (uint64_t)nkey, 0))
            stray = true;
        else
            count[key >> shift]++;
    }
    return stray;
}

static void count_range(void *arg, int lane, int64_t begin, int64_t end)
{
    sc_deal *d = arg;
    int64_t *count = d->place + lane * d->step;
#define RUN(itype) d->stray[lane] |= count_buckets(d, itype, count, begin, end)
    SC_BY_INDEX(d->c->from->itype, RUN);
#undef RUN
}

SC_INLINE void fill_buckets(const sc_deal *d, sc_dtype itype, size_t size, int64_t *place, int64_t begin,
                            int64_t end)
{
    uint32_t room[SC_DEAL_BLOCK];
    int64_t f = sc_deal_fibre(d, begin), mask = ((int64_t)1 << d->shift) - 1;
    const void *by = d->by, *from = d->c->from->view.val;
    uint16_t *low = d->low;
    uint32_t *rest = d->rest, *source = d->source;
    void *val = d->room;
    int shift = d->shift;
    for (int64_t e = begin, last; e < end; e = last) {
        last = sc_min(e + SC_DEAL_BLOCK, end);
        const uint32_t *other = sc_deal_others(d, &f, e, last, room) - e;
        for (int64_t i = e; i < last; i++) {
            int64_t key = sc_index(by, itype, i), at = place[key >> shift]++;
            __builtin_prefetch(&low[at + 32], 1); /* the next line of each */
            __builtin_prefetch(&rest[at + 16], 1);
            __builtin_prefetch((char *)val + (size_t)(at + 16) * size, 1);
            low[at] = (uint16_t)(key & mask);
            rest[at] = other[i];
            sc_value_move(val, at, from, i, size);
            if (source) source[at] = (uint32_t)i;
        }
    }
}

static void fill_range(void *arg, int lane, int64_t begin, int64_t end)
{
    sc_deal *d = arg;
    int64_t *place = d->place + lane * d->step;
#define RUN(itype, size) fill_buckets(d, itype, size, place, begin, end)
    SC_BY_INDEX_AND_SIZE(d->c->from->itype, sc_dtype_size(d->c->from->dtype), RUN);
#undef RUN
}

/* Room for n numbers of a lane, so that no two lanes write to one line. */
static int64_t apart(int64_t n) { return (n + 47) & ~(int64_t)15; }

static int take(sc_deal *d, bool sources)
{
    size_t size = sc_dtype_size(d->c->from->dtype);
    d->step = apart(d->nbucket);
    d->place = sc_convert_take(d->c, d->lanes * d->step, sizeof *d->place);
    if (!d->place || !(d->low = sc_convert_take(d->c, d->n, sizeof *d->low)) ||
        !(d->rest = d->to_rest ? d->to_rest : sc_convert_take(d->c, d->n, sizeof *d->rest)) ||
        !(d->room = d->to_val ? d->to_val : sc_convert_take(d->c, d->n, size)) ||
        (sources && !(d->source = sc_convert_take(d->c, d->n, sizeof *d->source))))
        return SC_ENOMEM;
    return SC_OK;
}

static void cut_buckets(sc_deal *d)
{
    int64_t n = 0;
    for (int64_t b = 0; b < d->nbucket; b++) {
        d->begin[b] = n;
        for (int t = 0; t < d->lanes; t++) {
            int64_t *place = d->place + t * d->step + b, here = *place;
            *place = n;
            n += here;
        }
    }
}

static int fill(sc_deal *d, bool sources)
{
    int rc = take(d, sources);
    if (rc) return rc;
    memset(d->place, 0, (size_t)(d->lanes * d->step) * sizeof *d->place);
    if (sc_parallel_pieces(d->lanes, (double)d->n, d->n, count_range, d)) return SC_ESTOP;
    if ((rc = sc_convert_strays(d->c, d->stray, d->lanes))) return rc;
    cut_buckets(d);
    if (sc_parallel_pieces(d->lanes, 4 * (double)d->n, d->n, fill_range, d)) return SC_ESTOP;
    d->val = d->room;
    d->dealt = true;
    return SC_OK;
}

/* Bits of a key that entries of a bucket differ in, at most `most`, for about so many buckets. */
static int shift_for(int64_t nkey, int64_t buckets, int most)
{
    int shift = 0;
    while (shift < most && nkey >> shift > buckets) shift++;
    return shift;
}

/* Whether the places of entries lie close where entries do, as those of grids and bands: as some stretches of them say. */
static bool lie_close(const sc_deal *d)
{
    const int64_t step = d->n / STRETCHES, each = sc_min(d->n / sc_max(d->nkey, 1) * PLACE, 64);
    const size_t size = sc_dtype_size(d->c->from->itype);
    bool far = !each || step < STRETCH;
    for (int64_t e = 0; !far && e + STRETCH <= d->n; e += step)
        far = sc_census_far((const char *)d->by + (size_t)e * size, d->c->from->itype, STRETCH, (size_t)each);
    return !far;
}

int sc_deal_open(sc_deal *d, bool sources, int64_t few)
{
    const bool stay = (d->n <= few && d->nkey <= ALL_KEYS) || lie_close(d);
    d->lanes =
        sc_team_lanes(stay ? (double)d->n / 8 : 4 * (double)d->n); /* lanes that share lines gain little */
    while (stay && d->lanes > 1 && d->lanes * d->nkey > 2 * d->n)
        d->lanes--; /* counts must not outweigh entries */
    int64_t want = sc_max(sc_max(d->n / ENTRIES, d->nkey / KEYS), 4 * d->lanes);
    d->shift = stay ? shift_for(d->nkey, 0, 62) : shift_for(d->nkey, sc_min(want, BUCKETS), LOWBITS);
    d->nbucket = d->nkey ? ((d->nkey - 1) >> d->shift) + 1 : 1;
    d->val = d->c->from->view.val;
    d->begin = sc_convert_take(d->c, d->nbucket + 1, sizeof *d->begin);
    d->count = sc_convert_take(d->c, d->lanes * apart((int64_t)1 << d->shift), sizeof *d->count);
    if (!d->begin || !d->count) return SC_ENOMEM;
    d->begin[0] = 0;
    d->begin[d->nbucket] = d->n;
    return d->nbucket > 1 ? fill(d, sources) : SC_OK;
}

void sc_deal_close(sc_deal *d)
{
    sc_work_give(d->begin);
    sc_work_give(d->count);
    sc_work_give(d->place);
    sc_work_give(d->low);
    if (d->rest != d->to_rest) sc_work_give(d->rest);
    sc_work_give(d->source);
    if (d->room != d->to_val) sc_work_give(d->room);
    for (int t = 0; t < d->lanes; t++) sc_work_give(d->own[t].memory);
}

/* ---- a bucket ---- */
uint32_t *sc_deal_lane(const sc_deal *d, int lane) { return d->count + lane * apart((int64_t)1 << d->shift); }

SC_INLINE bool count_keys(const void *keys, sc_dtype type, uint32_t *count, int64_t begin, int64_t end,
                          int64_t nkey)
{
    bool stray = false;
    for (int64_t e = begin; e < end; e++) {
        int64_t key = sc_deal_key(keys, type, e);
        if (__builtin_expect((uint64_t)key >= (uint64_t)nkey, 0))
            stray = true;
        else
            count[key]++;
    }
    return stray;
}

/* Turns counts into places, and says where the keys begin, if that is asked. */
SC_INLINE void place_keys(uint32_t *count, int64_t nkey, void *pos, sc_dtype itype, int64_t key, int64_t at)
{
    uint32_t n = 0;
    for (int64_t k = 0; k < nkey; k++) {
        uint32_t here = count[k];
        if (pos) sc_index_put(pos, itype, key + k, at + n);
        count[k] = n;
        n += here;
    }
}

uint32_t *sc_deal_places(sc_deal *d, int lane, int64_t bucket, void *pos, sc_dtype itype)
{
    uint32_t *count = sc_deal_lane(d, lane);
    int64_t begin = d->begin[bucket], end = d->begin[bucket + 1], key = bucket << d->shift;
    int64_t nkey = sc_min((int64_t)1 << d->shift, d->nkey - key);
    memset(count, 0, (size_t)nkey * sizeof *count);
    bool stray = false;
#define RUN(keys, type) stray = count_keys(keys, type, count, begin, end, nkey)
    SC_DEAL_BY_KEY(d, RUN);
#undef RUN
    d->stray[lane] |= stray;
    if (stray) return NULL;
    if (itype == SC_I64)
        place_keys(count, nkey, pos, SC_I64, key, begin);
    else
        place_keys(count, nkey, pos, SC_I32, key, begin);
    return count;
}

void *sc_deal_room(sc_deal *d, int lane, int64_t bytes)
{
    if (d->own[lane].memory && bytes <= d->own[lane].size) return d->own[lane].memory;
    sc_work_give(d->own[lane].memory);
    d->own[lane].memory = sc_work_take((size_t)bytes);
    d->own[lane].size = d->own[lane].memory ? bytes : 0;
    d->own[lane].starved |= !d->own[lane].memory;
    return d->own[lane].memory;
}

/* ---- where they are, on several lanes ---- */
typedef struct {
    sc_deal *d;
    void *pos;
    sc_dtype itype;
    int64_t sum[SC_MAXLANE];
} summing;

static void count_lane(void *arg, int lane, int64_t begin, int64_t end)
{
    sc_deal *d = arg;
    uint32_t *count = sc_deal_lane(d, lane);
#define RUN(itype) d->stray[lane] |= count_keys(d->by, itype, count, begin, end, d->nkey)
    SC_BY_INDEX(d->c->from->itype, RUN);
#undef RUN
}

static void sum_keys(void *arg, int lane, int64_t begin, int64_t end)
{
    summing *s = arg;
    int64_t n = 0;
    for (int t = 0; t < s->d->lanes; t++) {
        const uint32_t *count = sc_deal_lane(s->d, t);
        for (int64_t k = begin; k < end; k++) n += count[k];
    }
    s->sum[lane] = n;
}

static void share_keys(void *arg, int lane, int64_t begin, int64_t end)
{
    summing *s = arg;
    uint32_t n = (uint32_t)s->sum[lane], here;
    for (int64_t k = begin; k < end; k++) {
        sc_index_put(s->pos, s->itype, k, n);
        for (int t = 0; t < s->d->lanes; t++, n += here) {
            uint32_t *count = sc_deal_lane(s->d, t) + k;
            here = *count;
            *count = n;
        }
    }
}

int sc_deal_share(sc_deal *d, void *pos, sc_dtype itype)
{
    summing s = {.d = d, .pos = pos, .itype = itype};
    int lanes = sc_team_lanes((double)d->nkey * d->lanes);
    for (int t = 0; t < d->lanes; t++) memset(sc_deal_lane(d, t), 0, (size_t)d->nkey * sizeof *d->count);
    if (sc_parallel_pieces(d->lanes, (double)d->n, d->n, count_lane, d)) return SC_ESTOP;
    const int rc = sc_convert_strays(d->c, d->stray, d->lanes);
    if (rc) return rc;
    sc_parallel_ranges(lanes, d->nkey, sum_keys, &s);
    sc_prefix(s.sum, lanes);
    sc_parallel_ranges(lanes, d->nkey, share_keys, &s);
    return SC_OK;
}

/* ---- all buckets ---- */
typedef struct {
    sc_deal *deal;
    sc_bucket *body;
    void *arg;
    sc_pulse pulse; /* of the first lane, which is the caller's */
    atomic_bool stop;
} visiting;

static int64_t bucket_weight(const void *ctx, int64_t b)
{
    const sc_deal *d = ctx;
    return d->begin[b] + (b << d->shift) / 4;
}

static void visit(void *arg, int lane, int64_t begin, int64_t end)
{
    visiting *v = arg;
    sc_deal *d = v->deal;
    int64_t total = bucket_weight(d, d->nbucket);
    begin = sc_split_find(bucket_weight, d, d->nbucket, sc_split_even(total, lane, d->lanes));
    end = sc_split_find(bucket_weight, d, d->nbucket, sc_split_even(total, lane + 1, d->lanes));
    d->stray[lane] = false;
    for (int64_t b = begin; b < end && !atomic_load(&v->stop); b++) {
        v->body(v->arg, lane, b);
        if (!lane && sc_pulse_stopped(&v->pulse, (double)(b - begin) / (double)(end - begin)))
            atomic_store(&v->stop, true);
    }
}

int sc_deal_each(sc_deal *d, sc_bucket *body, void *arg)
{
    visiting v = {.deal = d, .body = body, .arg = arg};
    sc_parallel_ranges(d->lanes, d->lanes, visit, &v);
    if (atomic_load(&v.stop)) return SC_ESTOP;
    for (int t = 0; t < d->lanes; t++)
        if (d->own[t].starved) return sc_error(d->c->err, SC_ENOMEM, "out of memory sorting a tensor");
    return sc_convert_strays(d->c, d->stray, d->lanes);
}
