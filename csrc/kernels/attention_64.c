/* attention_64.c: attention in vectors of 64 bytes, for AVX-512. */
#include "attention_blocks.h"

#if defined(__x86_64__)
SC_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,bmi,bmi2" SC_TARGET_WIDE)
#define WIDTH 64
#define SUM_F32 _mm512_reduce_add_ps
#define SUM_F64 _mm512_reduce_add_pd
#define MAX_F32 _mm512_max_ps
#define MAX_F64 _mm512_max_pd
#define TALL true
#include "attention_stamp.h"
SC_TARGET_END
#endif
