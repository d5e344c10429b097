/* attention_32.c: attention in vectors of 32 bytes, for AVX2. */
#include "attention_blocks.h"

#if defined(__x86_64__)
SC_TARGET_BEGIN("avx2,fma,bmi,bmi2")
#define WIDTH 32
#define MAX_F32 _mm256_max_ps
#define MAX_F64 _mm256_max_pd
#define TALL false
#include "attention_stamp.h"
SC_TARGET_END
#endif
