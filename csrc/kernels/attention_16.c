/* attention_16.c: attention in vectors of 16 bytes, for any machine. */
#include "attention_blocks.h"

#define WIDTH 16
#define TALL false
#include "attention_stamp.h"
