/* The loops that the tensor algebra compiler publishes for the matricized tensor times Khatri-Rao product of a
 * third-order CSF tensor T[i,k,l] with factor matrices of `rank` columns, written out by hand as the yardstick:
 * serial, one multiply-add chain a stored value, straight into the result. One function a mode; `fibre` is
 * the variant of mode 0 that sums a fibre into a workspace first. */
#include <stdint.h>
#include <string.h>

typedef struct {
    const int32_t *pos0, *crd0, *pos1, *crd1, *pos2, *crd2;
    const float *val;
} csf;

void mode0(const csf *t, int rank, const float *restrict c, const float *restrict d, float *restrict a)
{
    for (int32_t pi = t->pos0[0]; pi < t->pos0[1]; pi++)
        for (int32_t pk = t->pos1[pi]; pk < t->pos1[pi + 1]; pk++)
            for (int32_t pl = t->pos2[pk]; pl < t->pos2[pk + 1]; pl++)
                for (int j = 0; j < rank; j++)
                    a[(int64_t)t->crd0[pi] * rank + j] +=
                        t->val[pl] * c[(int64_t)t->crd1[pk] * rank + j] * d[(int64_t)t->crd2[pl] * rank + j];
}

void mode0_fibre(const csf *t, int rank, const float *restrict c, const float *restrict d, float *restrict a)
{
    float w[512];
    for (int32_t pi = t->pos0[0]; pi < t->pos0[1]; pi++)
        for (int32_t pk = t->pos1[pi]; pk < t->pos1[pi + 1]; pk++) {
            memset(w, 0, (size_t)rank * sizeof *w);
            for (int32_t pl = t->pos2[pk]; pl < t->pos2[pk + 1]; pl++)
                for (int j = 0; j < rank; j++) w[j] += t->val[pl] * d[(int64_t)t->crd2[pl] * rank + j];
            for (int j = 0; j < rank; j++)
                a[(int64_t)t->crd0[pi] * rank + j] += w[j] * c[(int64_t)t->crd1[pk] * rank + j];
        }
}

void mode1(const csf *t, int rank, const float *restrict c, const float *restrict d, float *restrict a)
{
    for (int32_t pi = t->pos0[0]; pi < t->pos0[1]; pi++)
        for (int32_t pk = t->pos1[pi]; pk < t->pos1[pi + 1]; pk++)
            for (int32_t pl = t->pos2[pk]; pl < t->pos2[pk + 1]; pl++)
                for (int j = 0; j < rank; j++)
                    a[(int64_t)t->crd1[pk] * rank + j] +=
                        t->val[pl] * c[(int64_t)t->crd0[pi] * rank + j] * d[(int64_t)t->crd2[pl] * rank + j];
}

void mode2(const csf *t, int rank, const float *restrict c, const float *restrict d, float *restrict a)
{
    for (int32_t pi = t->pos0[0]; pi < t->pos0[1]; pi++)
        for (int32_t pk = t->pos1[pi]; pk < t->pos1[pi + 1]; pk++)
            for (int32_t pl = t->pos2[pk]; pl < t->pos2[pk + 1]; pl++)
                for (int j = 0; j < rank; j++)
                    a[(int64_t)t->crd2[pl] * rank + j] +=
                        t->val[pl] * c[(int64_t)t->crd0[pi] * rank + j] * d[(int64_t)t->crd1[pk] * rank + j];
}
