/* info.c: configuration, counters and facts of this process, for people. */
#include "run.h"

#include <stdio.h>

int sc_configure(const sc_config *c, sc_err *err)
{
    sc_process_start();
    sc_this_process.mode = c->jit;
    sc_table_limit(c->memory > 0 ? c->memory : SC_PROGRAM_BYTES);
    int rc = sc_jit_configure(c, err);
    sc_speeds_forget();
    sc_tuned_forget();
    return rc;
}

void sc_stats_get(sc_stats *s)
{
    sc_process *p = &sc_this_process;
    *s = (sc_stats){.programs = p->programs,
                    .compiled = p->compiled,
                    .from_memory = p->from_memory,
                    .from_disk = p->from_disk,
                    .from_bundle = p->from_bundle,
                    .executor = p->executor,
                    .runs = {p->runs[0], p->runs[1], p->runs[2]},
                    .path_ns = p->path_ns,
                    .compile_ns = p->compile_ns,
                    .load_ns = p->load_ns,
                    .tuned = p->tuned,
                    .forgotten = p->forgotten};
    sc_table_stats(s);
}

int sc_info(char *out, size_t size, sc_err *err)
{
    sc_process_start();
    sc_text t = {0};
    sc_text_add(&t, "version: %s\n", SC_VERSION);
    sc_text_add(&t, "cpu: %s, vectors of %d bytes\n", sc_this_process.target.name,
                sc_this_process.target.vector_bytes);
    sc_text_add(&t, "threads: %d\n", sc_team_width());
    sc_text_add(&t, "costs: ");
    sc_speeds_print(sc_speeds_get(), &t);
    sc_text_add(&t, "\n");
    sc_jit_info(&t);
    const bool failed = t.failed;
    snprintf(out, size, "%s", failed ? "" : t.s);
    sc_text_free(&t);
    return failed ? sc_error(err, SC_ENOMEM, "out of memory") : SC_OK;
}

int sc_clear_cache(int64_t *removed, sc_err *err) { return sc_jit_clear(removed, err); }
