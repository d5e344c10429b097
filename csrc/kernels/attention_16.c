/* attention_16.c: attention in vectors of 16 bytes, for any machine. */
#include "attention_blocks.h"

#define WIDTH 16
#define MAX_F32 _mm_max_ps
#define MAX_F64 _mm_max_pd
#define TALL false
#include "attention_stamp.h"
