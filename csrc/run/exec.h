/* exec.h: runs statements where there is no compiled code for them. */
#ifndef SC_EXEC_H
#define SC_EXEC_H

#include "../compiler/ir/ir.h"

/* Runs entry `entry` of a verified and simplified module on units [begin, end); returns what the entry
 * returns, or SC_ENOMEM. Any number of threads may run one module. Addresses are trusted, as in C. */
int sc_exec_entry(const Module *, int entry, const sc_call *, sc_lane *, int64_t begin, int64_t end);

/* The same as kernels of a plan: entry k of the module that call->self points to. */
extern sc_kernel *const sc_exec_kernels[SC_MAXENTRY];
#endif
