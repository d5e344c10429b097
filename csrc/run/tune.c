/* tune.c: schedules being tried, and which one a program was made by: of tuned.c, where programs are at hand. */
#include "run.h"

int sc_tuned_try(const sc_request *rq, const char *schedule, sc_err *err)
{
    sc_program *p = NULL;
    sc_text results = {0};
    sc_request asked = *rq;
    asked.schedule = schedule;
    int rc = schedule ? sc_program_get(&asked, &p, NULL, err) : SC_OK;
    if (!rc && p) sc_tuned_results(p, &results);
    sc_program_release(p);
    if (!rc && results.failed) rc = sc_error(err, SC_ENOMEM, "out of memory");
    if (!rc)
        rc =
            sc_tuned_set(rq, &(sc_tuned){.schedule = (char *)(uintptr_t)schedule, .results = results.s}, err);
    sc_text_free(&results);
    return rc;
}

void sc_tuned_said(const sc_request *rq, sc_text *out)
{
    sc_tuned t;
    sc_err none = {0};
    sc_program *p = NULL;
    if (!sc_program_get(rq, &p, NULL, &none) && sc_tuned_made(rq, p, &t)) {
        sc_tuned_print(&t, out);
        sc_tuned_free(&t);
    }
    sc_program_release(p);
}
