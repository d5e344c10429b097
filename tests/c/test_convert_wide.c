/* test_convert_wide.c: the inner loops of conversions, with AVX-512 where the CPU has it and in plain C, against
 * loops that say what they mean. Arrays have exactly their size, so that a sanitizer sees what leaves them. */
#include "../../csrc/kernels/convert_wide.h"
#include "kernels_harness.h"

/* A random array of n elements, exactly; bytes are 0 as often as `zeros` of 10. */
static void *array(int64_t n, size_t size, int zeros)
{
    char *p = malloc((size_t)n * size + (n == 0));
    for (int64_t i = 0; i < n; i++) {
        bool zero = below(10) < zeros;
        for (size_t b = 0; b < size; b++) p[(size_t)i * size + b] = zero ? 0 : (char)below(256);
        if (zero && below(3) == 0) p[((size_t)i + 1) * size - 1] = (char)0x80; /* -0.0 of a real type */
    }
    return p;
}

static bool zero(const void *p, int64_t i, sc_dtype t)
{
    uint64_t x = 0;
    sc_value_move(&x, 0, p, i, sc_dtype_size(t));
    bool real = t == SC_F16 || t == SC_BF16 || t == SC_F32 || t == SC_F64;
    return !(real ? x & ~((uint64_t)1 << (8 * sc_dtype_size(t) - 1)) : x);
}

static void check_picked(const void *val, sc_dtype t, int64_t n, const uint64_t *bits, int64_t count,
                         sc_dtype itype)
{
    size_t size = sc_dtype_size(t), isize = sc_dtype_size(itype);
    void *crd = malloc((size_t)count * isize + 1), *out = malloc((size_t)count * size + 1);
    int64_t k = sc_wide_pick(val, size, n, bits, itype, crd, out, 0, count);
    CHECK(k == count, "picked %lld of %lld", (long long)k, (long long)count);
    k = 0;
    for (int64_t j = 0; j < n; j++) {
        if (zero(val, j, t)) continue;
        CHECK(sc_index(crd, itype, k) == j, "%s of %lld: place %lld", sc_dtype_name(t), (long long)n,
              (long long)k);
        CHECK(!memcmp((char *)out + (size_t)k * size, (const char *)val + (size_t)j * size, size),
              "value %lld", (long long)k);
        k++;
    }
    free(crd);
    free(out);
}

static void test_mark(int64_t n, int zeros)
{
    static const sc_dtype types[] = {SC_BOOL, SC_I16, SC_I32, SC_I64, SC_F16, SC_BF16, SC_F32, SC_F64};
    for (int k = 0; k < SC_LEN(types); k++) {
        sc_dtype t = types[k];
        void *val = array(n, sc_dtype_size(t), zeros);
        uint64_t *bits = malloc((size_t)(n + 63) / 64 * 8 + 1);
        int64_t count = sc_wide_mark(val, t, n, bits), expected = 0;
        for (int64_t j = 0; j < n; j++) {
            expected += !zero(val, j, t);
            CHECK((bits[j / 64] >> j % 64 & 1) == !zero(val, j, t), "%s, value %lld of %lld",
                  sc_dtype_name(t), (long long)j, (long long)n);
        }
        CHECK(count == expected, "%s: %lld marked", sc_dtype_name(t), (long long)count);
        check_picked(val, t, n, bits, count, SC_I32);
        check_picked(val, t, n, bits, count, SC_I64);
        free(bits);
        free(val);
    }
}

/* Ascending coordinates, but for one that falls or is out of range where `bad` says so. */
static void test_changes(int64_t n, sc_dtype itype, int bad)
{
    int64_t extent = 4 * n + 8, c = 0, expected = 0, at = below(n);
    void *crd = malloc((size_t)(n + 1) * sc_dtype_size(itype));
    uint32_t out[SC_WIDE_BLOCK + 16];
    for (int64_t i = 0; i <= n; i++) {
        c += below(2) * below(4);
        sc_index_put(crd, itype, i, c);
    }
    if (bad == 1) sc_index_put(crd, itype, at, sc_index(crd, itype, at + 1) + 1);
    if (bad == 2) sc_index_put(crd, itype, at, -1);
    if (bad == 3) sc_index_put(crd, itype, n, extent);
    int got = sc_wide_changes(crd, itype, extent, 0, n, out);
    for (int64_t i = 0; i < n && !bad; i++) {
        if (sc_index(crd, itype, i) == sc_index(crd, itype, i + 1)) continue;
        CHECK(expected < got && out[expected] == i, "change %lld at %lld", (long long)expected, (long long)i);
        expected++;
    }
    CHECK(got == (bad ? -1 : expected), "%lld entries, fault %d: %d", (long long)n, bad, got);
    free(crd);
}

static void test_put(int n, sc_dtype itype)
{
    uint32_t distance[SC_WIDE_BLOCK];
    int64_t out[SC_WIDE_BLOCK + 2], base = itype == SC_I64 ? (int64_t)1 << 40 : 1 << 20;
    for (int k = 0; k < n; k++) distance[k] = (uint32_t)below(1 << 20);
    sc_index_put(out, itype, 0, -7);
    sc_index_put(out, itype, n + 1, -7);
    sc_wide_put(out, itype, 1, base, distance, n);
    for (int k = 0; k < n; k++)
        CHECK(sc_index(out, itype, k + 1) == base + distance[k], "%d indices, at %d", n, k);
    CHECK(sc_index(out, itype, 0) == -7 && sc_index(out, itype, n + 1) == -7, "%d indices, beyond", n);
}

static void test_sort(int64_t n)
{
    uint64_t *key = malloc((size_t)n * sizeof *key + 1), sum = 0;
    for (int64_t i = 0; i < n; i++) {
        key[i] = (uint64_t)below(3) << 63 | (uint64_t)below(9) << 32 | (uint64_t)i;
        sum += key[i];
    }
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = below(i + 1);
        uint64_t x = key[i];
        key[i] = key[j], key[j] = x;
    }
    sc_wide_sort(key, n);
    for (int64_t i = 0; i < n; i++) {
        CHECK(!i || key[i - 1] < key[i], "%lld keys, at %lld", (long long)n, (long long)i);
        sum -= key[i];
    }
    CHECK(!sum, "%lld keys are others", (long long)n);
    free(key);
}

int main(void)
{
    static const int64_t sizes[] = {1, 7, 16, 33, 63, 64, 65, 200, 512};
    for (int allowed = 0; allowed <= 64; allowed += 32) {
        sc_wide_allow(allowed);
        test_mark(0, 5);
        for (int64_t n = 0; n <= SC_WIDE_SORT; n++) test_sort(n);
        for (int k = 0; k < SC_LEN(sizes); k++) {
            test_put((int)sizes[k], SC_I32);
            test_put((int)sizes[k], SC_I64);
            for (int zeros = 0; zeros <= 10; zeros += 3) test_mark(sizes[k], zeros);
            for (int bad = 0; bad < 4; bad++) {
                test_changes(sizes[k], SC_I32, bad);
                test_changes(sizes[k], SC_I64, bad);
            }
        }
    }
    return failures != 0;
}
