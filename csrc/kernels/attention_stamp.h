/* attention_stamp.h: attention_body.h for both number types, at WIDTH bytes a vector. TALL: there are 32 registers.
 * MAX_F32, MAX_F64: intrinsics of that width, on x86. */
#define PASTE_(x, w, t) x##_##w##_##t
#define PASTE(x, w, t) PASTE_(x, w, t)
#define CHUNK SC_ATTENTION_CHUNK
#define SEGMENTS 32768 /* scores of blocks of one row that are made before they are used */

#define NAME(x) PASTE(x, WIDTH, f32)
#define REAL float
#define INT int32_t
#define UINT uint32_t
#define LANES (WIDTH / 4)
#define TINY (-127)
#define MANTISSA 23
#define POLYNOMIAL SC_EXP2_F32
#define MAX MAX_F32
#if defined(SUM_F32)
#define SUM SUM_F32
#endif
#define HALVES 1
#include "attention_body.h"

#define NAME(x) PASTE(x, WIDTH, f64)
#define REAL double
#define INT int64_t
#define UINT uint64_t
#define LANES (WIDTH / 8)
#define TINY (-1023)
#define MANTISSA 52
#define POLYNOMIAL SC_EXP2_F64
#define MAX MAX_F64
#if defined(SUM_F64)
#define SUM SUM_F64
#endif
#define HALVES 0
#include "attention_body.h"
