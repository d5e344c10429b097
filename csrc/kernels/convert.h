/* convert.h: what the conversion files share.
 *
 * Any format to any format goes through a list of entries in coordinates of the
 * target's levels: convert_list.c makes the list, convert_sort.c orders it,
 * convert_pack.c builds levels from it, convert_slices.c and convert_words.c those of two kinds. convert_dense.c, convert_csr.c,
 * convert_coo.c and convert_bsr.c are shorter ways between the formats that matter most,
 * convert_deal.c the sort that some of them need; convert.c chooses. */
#ifndef SC_CONVERT_H
#define SC_CONVERT_H

#include "kernels.h"

typedef struct {
    const sc_tensor *from;
    sc_tensor *to;
    sc_alloc *alloc;
    void *ctx;
    int64_t **perm; /* null when not asked for */
    sc_err *err;
    bool lent;            /* the source's values are not the caller's: the result may not have them */
    bool passing;         /* nor are its other arrays */
    bool whole;           /* of a source whose levels are dense all elements are entries, zeros too */
    const uint8_t *where; /* a dense source: which elements are entries; null: those that are not zero */
    double fill;          /* what positions without an entry hold; other than 0 the long way alone */
    int64_t
        most; /* a dense source with more entries is not converted: *over becomes true; if over is not null */
    bool *over;
} sc_conversion;

/* Where a coordinate lies in the words of a key: key[word] >> shift & mask. */
typedef struct {
    int word, shift;
    uint64_t mask;
} sc_field;

/* Entries as keys of nword words, first word first; field[l] is the coordinate
 * of target level l. Keys in ascending order are entries in the target's order. */
#define SC_DEAD ((uint64_t)1 << 63) /* in the first word: no entry */
typedef struct {
    int nword;
    sc_field field[SC_MAXLEVEL];
    int64_t n;
    uint64_t *key[SC_MAXLEVEL];
    int64_t *idx;  /* position of the entry's value in the source, null: entry e has e */
    bool distinct; /* no two entries have one key */
} sc_list;

SC_INLINE int64_t sc_list_at(const sc_list *s, int l, int64_t e)
{ return (int64_t)(s->key[s->field[l].word][e] >> s->field[l].shift & s->field[l].mask); }
/* Does entry e of a sorted list, not the first one, differ from the one in front in a level up to the one whose
 * coordinate f is? Those of the levels above lie in front of it. */
SC_INLINE bool sc_list_begins(const sc_list *s, sc_field f, int64_t e)
{
    bool differs = false;
    for (int w = 0; w < f.word; w++) differs |= s->key[w][e] != s->key[w][e - 1];
    return differs | ((s->key[f.word][e] ^ s->key[f.word][e - 1]) >> f.shift != 0);
}
SC_INLINE int64_t sc_list_source(const sc_list *s, int64_t e) { return s->idx ? s->idx[e] : e; }

/* Memory of n items, checked; the error is set when it is null. */
void *sc_convert_take(const sc_conversion *, int64_t n, size_t size);
/* Memory of the result, through the caller's alloc. n = 0 may give null with
 * SC_OK. Index arrays are checked to hold n and extents. */
int sc_convert_pos(const sc_conversion *, int level, int64_t n, void **out);
int sc_convert_crd(const sc_conversion *, int level, int64_t n, void **out);
int sc_convert_val(const sc_conversion *, int64_t n, void **out);
/* Level `level` of the result has these n coordinates of the source: the same
 * array, where the index type is the same. */
int sc_convert_crd_keep(const sc_conversion *, int level, const void *crd, int64_t n, void **out);
/* The result has the source's values in the source's order: the same array, if
 * it may. Also gives perm. */
int sc_convert_val_keep(const sc_conversion *);
/* Room for perm where one was asked for; *out is null otherwise. */
int sc_convert_perm(const sc_conversion *, int64_t n, int64_t **out);
/* The error where a lane met a coordinate that is out of range: the source was not validated. */
int sc_convert_strays(const sc_conversion *, const bool *stray, int lanes);

int sc_list_dense(const sc_conversion *, sc_list *);
int sc_list_sparse(const sc_conversion *, sc_list *);
int sc_list_sort(const sc_conversion *, sc_list *);
int sc_list_pack(const sc_conversion *, const sc_list *);
void sc_list_free(sc_list *);
/* convert_slices.c: a level of sliced diagonals below `above` positions, of which entry e has at[e]; to[e] becomes its
 * own. */
int sc_slices_pack(const sc_conversion *, const sc_list *, int level, int64_t above, const int64_t *at,
                   int64_t *to, sc_level *made);
/* convert_sell.c: the same of slices of rows that are sorted by length. */
int sc_sell_pack(const sc_conversion *, const sc_list *, int level, int64_t above, const int64_t *at,
                 int64_t *to, sc_level *made);
/* convert_words.c: the same of a level of bit masks. */
int sc_words_pack(const sc_conversion *, const sc_list *, int level, int64_t above, const int64_t *at,
                  int64_t *to, sc_level *made);
/* Level `level` of the result has these n words of the source: the same array, where the index type is the same. */
int sc_convert_words_keep(const sc_conversion *, int level, const void *crd, int64_t n, void **out);

/* Sums duplicates: to[i] = from[j] for the first of them, then to[i] += from[j] (or, for bool). 16 bit floats add up in
 * *sum, so that to[i] is rounded once. */
SC_INLINE void sc_value_first(void *to, int64_t i, const void *from, int64_t j, sc_dtype t, float *sum)
{
    sc_value_move(to, i, from, j, sc_dtype_size(t));
    if (t == SC_F16 || t == SC_BF16) *sum = sc_half_get(t, ((const uint16_t *)from)[j]);
}
void sc_value_add(void *to, int64_t i, const void *from, int64_t j, sc_dtype, float *sum);
SC_INLINE bool sc_value_nonzero(const void *p, int64_t i, sc_dtype t)
{
    switch (t) {
    case SC_BOOL: return ((const uint8_t *)p)[i] != 0;
    case SC_I16: return ((const int16_t *)p)[i] != 0;
    case SC_I32: return ((const int32_t *)p)[i] != 0;
    case SC_I64: return ((const int64_t *)p)[i] != 0;
    case SC_F16:
    case SC_BF16: return (((const uint16_t *)p)[i] & 0x7fff) != 0;
    case SC_F32: return ((const float *)p)[i] != 0;
    case SC_F64: return ((const double *)p)[i] != 0;
    case SC_NDTYPE: break;
    }
    return false;
}

#define SC_BY_DTYPE(dtype, CALL)                                                                             \
    do {                                                                                                     \
        switch (dtype) {                                                                                     \
        case SC_BOOL: CALL(SC_BOOL); break;                                                                  \
        case SC_I16: CALL(SC_I16); break;                                                                    \
        case SC_I32: CALL(SC_I32); break;                                                                    \
        case SC_I64: CALL(SC_I64); break;                                                                    \
        case SC_F16: CALL(SC_F16); break;                                                                    \
        case SC_BF16: CALL(SC_BF16); break;                                                                  \
        case SC_F32: CALL(SC_F32); break;                                                                    \
        case SC_F64: CALL(SC_F64); break;                                                                    \
        case SC_NDTYPE: break;                                                                               \
        }                                                                                                    \
    } while (0)

/* Short ways, for two dimensions. "Rows" are the dense level of a pair (dense,
 * compressed), whichever dimension that is. */
int sc_convert_dense_copy(const sc_conversion *);
int sc_convert_dense_csr(const sc_conversion *);
/* A dense tensor of three dimensions or more whose rows are those of a matrix, and its conversion; of_entries makes
 * other formats of sparse ones. */
bool sc_convert_folds(const sc_conversion *);
int sc_convert_fold(const sc_conversion *, int (*of_entries)(const sc_conversion *));
/* Tensors of distinct entries that end in dense levels, to formats that end in the same; convert does what is above. */
bool sc_convert_has_tail(const sc_conversion *);
int sc_convert_tail(const sc_conversion *, int (*convert)(const sc_conversion *));
/* perm[i] = first[perm[i]], but for padding: of a conversion behind another. */
void sc_convert_lead(int64_t *perm, int64_t n, const int64_t *first);
/* By way of rows that are all there, of dimension 0 or 1. */
sc_format sc_convert_rows(int dim);
int sc_convert_by_way(const sc_conversion *, const sc_format *rows, int (*convert)(const sc_conversion *));
int sc_convert_dense_coo(const sc_conversion *);
int sc_convert_csr_dense(const sc_conversion *);
int sc_convert_coo_dense(const sc_conversion *); /* unique entries */
int sc_convert_csr_transpose(const sc_conversion *);
int sc_convert_csr_coo(const sc_conversion *);
int sc_convert_csr_dcsr(const sc_conversion *); /* to rows that have entries */
int sc_convert_dcsr_csr(const sc_conversion *);
int sc_convert_coo_csr(const sc_conversion *);
/* The same with blocks of dense tiles on one side, rows of blocks first. */
int sc_convert_csr_bsr(const sc_conversion *);
int sc_convert_bsr_csr(const sc_conversion *);
int sc_convert_dense_bsr(const sc_conversion *);
int sc_convert_bsr_dense(const sc_conversion *);
/* Same format, unique levels: copies, with a change of index type. */
int sc_convert_same(const sc_conversion *);
/* The same of the first n levels, without the values; *above: positions of the last of them. */
int sc_convert_levels(const sc_conversion *, int n, int64_t *above);
/* Unique levels that differ in the last one alone, compressed on one side, bit masks on the other: values stay. */
bool sc_convert_is_list(const sc_format *f, const sc_format *words);
int sc_convert_list_words(const sc_conversion *);
int sc_convert_words_list(const sc_conversion *);

/* Sizes of a (dense, compressed) result with n entries. */
void sc_convert_csr_levels(sc_tensor *, int64_t n);
/* out[i] = in[i] for n indices, changing their type. */
void sc_convert_narrow(void *out, sc_dtype itype, const void *in, sc_dtype from, int64_t n);
void sc_convert_copy(void *out, const void *in, int64_t n, sc_dtype);
/* Identity perm, where one was asked for. */
int sc_convert_perm_identity(const sc_conversion *, int64_t n);

/* convert_deal.c: entries sorted by one coordinate, their key, otherwise in the order of the source, a sparse matrix of
 * at most 2^32 - 1 entries, rows and columns. */
#define SC_DEAL_BLOCK 512
typedef struct {
    const sc_conversion *c;
    int64_t n, nkey;
    /* Keys and other coordinates, of the source's index type; none: rows of the source. */
    const void *by, *other;
    /* Arrays of the result that entries may be dealt to, to be sorted there; none: they get others. */
    void *to_rest, *to_val;
    int lanes, shift;        /* a bucket has 2^shift keys */
    int64_t nbucket, *begin; /* where the entries of buckets begin */
    bool dealt;              /* entries were dealt into buckets, else there is one, the source itself */
    uint16_t *low;           /* if dealt: keys less the first of the bucket, */
    uint32_t *rest, *source; /* other coordinates, and, if asked for, places in the source */
    const void *val;         /* values, dealt or of the source */
    void *room;
    int64_t *place, step;
    uint32_t *count;
    struct {
        void *memory;
        int64_t size;
        bool starved;
    } own[SC_MAXLANE];
    bool stray[SC_MAXLANE];
} sc_deal;
/* Deals the entries out, unless they are few. */
int sc_deal_open(sc_deal *, bool sources, int64_t few);
void sc_deal_close(sc_deal *);
/* body(arg, lane, bucket) for every bucket, each by one lane. */
typedef void sc_bucket(void *arg, int lane, int64_t bucket);
int sc_deal_each(sc_deal *, sc_bucket *, void *arg);
/* For a body: memory of its lane, for one bucket; null: there is none, which sc_deal_each then says. */
void *sc_deal_room(sc_deal *, int lane, int64_t bytes);
/* For a body: where the next entry of each key of the bucket goes, counted from the bucket's first; pos[key], where
 * pos is given, becomes the place of the key. Null where a key is out of range. */
uint32_t *sc_deal_places(sc_deal *, int lane, int64_t bucket, void *pos, sc_dtype itype);
/* Where entries stay: the lanes, each with an even part of the entries, have places of their own, in the whole result;
 * pos[key] becomes the place of the key. */
int sc_deal_share(sc_deal *, void *pos, sc_dtype itype);
uint32_t *sc_deal_lane(const sc_deal *, int lane);
/* Other coordinates of entries [begin, end), at most SC_DEAL_BLOCK, perhaps in room. *f is sc_deal_fibre of the first
 * block and moves on. */
const uint32_t *sc_deal_others(const sc_deal *, int64_t *f, int64_t begin, int64_t end, uint32_t *room);
int64_t sc_deal_fibre(const sc_deal *, int64_t begin);
/* CALL(keys, type): the keys less the first of the bucket, for sc_deal_key. */
#define SC_DEAL_BY_KEY(d, CALL)                                                                              \
    do {                                                                                                     \
        if ((d)->dealt)                                                                                      \
            CALL((d)->low, SC_I16);                                                                          \
        else if ((d)->c->from->itype == SC_I64)                                                              \
            CALL((d)->by, SC_I64);                                                                           \
        else                                                                                                 \
            CALL((d)->by, SC_I32);                                                                           \
    } while (0)
SC_INLINE int64_t sc_deal_key(const void *keys, sc_dtype type, int64_t e)
{ return type == SC_I16 ? ((const uint16_t *)keys)[e] : sc_index(keys, type, e); }
SC_INLINE int64_t sc_deal_source(const sc_deal *d, int64_t e) { return d->source ? d->source[e] : e; }

/* The fibres of entries [begin, end) of n that pos divides, written to out; f is at most the first. Returns one for
 * the entries from end on. */
int64_t sc_convert_fibres(const void *pos, sc_dtype itype, int64_t n, int64_t f, int64_t begin, int64_t end,
                          uint32_t *out);

/* Counts become the sums of those before; returns the total. */
SC_INLINE int64_t sc_prefix(int64_t *count, int64_t n)
{
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t here = count[i];
        count[i] = total;
        total += here;
    }
    return total;
}

#endif
