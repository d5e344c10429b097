/* tool_bundle.c: the kernels that are compiled when the library is built.
 *
 * Every line of the list is an expression and the formats of its operands; each
 * is emitted for both value types and both index types. A text goes into a file
 * of its own, named by its content, which defines the two macros every text
 * expects; bundle.c names them all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../compiler/compile.h"
#include "tool.h"

typedef struct {
    const char *dir;
    sc_text extern_, table;
    char seen[512][65];
    int n;
} Bundle;

static int write_file(const char *dir, const char *name, const char *head, const char *text, sc_err *err)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f) return sc_error(err, SC_EVALUE, "cannot write %s", path);
    bool ok = fputs(head, f) >= 0 && fputs(text, f) >= 0;
    if (fclose(f) || !ok) return sc_error(err, SC_EVALUE, "cannot write %s", path);
    return SC_OK;
}

static int add_text(Bundle *b, const char *text, int width, sc_err *err)
{
    char hash[65], name[40], head[200];
    sc_sha256(text, strlen(text), hash);
    for (int i = 0; i < b->n; i++)
        if (!strcmp(b->seen[i], hash)) return SC_OK;
    if (b->n == SC_LEN(b->seen)) return sc_error(err, SC_EVALUE, "the list has more than %d texts", b->n);
    memcpy(b->seen[b->n++], hash, sizeof hash);
    snprintf(name, sizeof name, "bundle_%d_%.12s", width, hash);
    snprintf(head, sizeof head, "#define SC_OBJECT sc_%s\n#define SC_KEY \"%s\"\n", name, hash);
    sc_text_add(&b->extern_, "extern const sc_object sc_%s;\n", name);
    sc_text_add(&b->table, "    {\"%s\", %d, &sc_%s},\n", hash, width, name);
    strcat(name, ".c");
    return write_file(b->dir, name, head, text, err);
}

static int add_request(Bundle *b, const sc_request *rq, int width, sc_err *err)
{
    sc_text text = {0};
    Prog *p = sc_zalloc(sizeof *p);
    if (!p) return sc_error(err, SC_ENOMEM, "out of memory");
    int rc = sc_compile(p, rq, NULL, width, err);
    if (!rc && p->draft.converts)
        rc = sc_error(err, SC_EVALUE, "%s converts an operand; list the converted format", rq->text);
    if (!rc) rc = sc_compile_text(p, "c", &text, err);
    if (!rc) rc = add_text(b, text.s, width, err);
    sc_compile_free(p);
    free(p);
    sc_text_free(&text);
    return rc;
}

/* Number of dimensions of operand k: letters before the (k+1)-th comma. */
static int operand_rank(const char *einsum, int k)
{
    int n = 0;
    for (const char *s = einsum; *s && *s != '-'; s++) {
        if (*s == ',')
            k--;
        else if (k == 0)
            n++;
    }
    return n;
}

static int parse_line(char *line, sc_request *rq, sc_err *err)
{
    char *colon = strstr(line, " : ");
    if (!colon) return sc_error(err, SC_EVALUE, "expected 'expression : formats', got '%s'", line);
    *colon = 0;
    *rq = (sc_request){.text = line, .nofold = true};
    for (char *save = NULL, *f = strtok_r(colon + 3, " ", &save); f; f = strtok_r(NULL, " ", &save)) {
        sc_spec *s = &rq->in[rq->nin];
        int rank = operand_rank(line, rq->nin);
        if (sc_format_parse(&s->format, f, rank, err)) return err->code;
        s->unit = sc_format_is_dense(&s->format) ? rank - 1 : -1;
        for (int d = 0; d < rank; d++) rq->dim[rq->nin][d] = 1 << 20;
        rq->nin++;
    }
    return SC_OK;
}

static int add_line(Bundle *b, char *line, const int *width, int nwidth, sc_err *err)
{
    sc_request rq;
    if (!line[0] || line[0] == '#') return SC_OK;
    int rc = parse_line(line, &rq, err);
    for (int variant = 0; variant < 4 * nwidth && !rc; variant++) {
        for (int k = 0; k < rq.nin; k++) {
            rq.in[k].dtype = variant & 1 ? SC_F64 : SC_F32;
            rq.in[k].itype = variant & 2 ? SC_I64 : SC_I32;
        }
        rc = add_request(b, &rq, width[variant / 4], err);
    }
    return rc;
}

static const char index_head[] = "/* Written by scorchc --bundle. */\n#include \"jit/jit.h\"\n\n";

int sc_tool_bundle(const char *list, const int *width, int nwidth, const char *dir, sc_err *err)
{
    Bundle *b = sc_zalloc(sizeof *b);
    char *copy = strdup(list);
    int rc = b && copy ? SC_OK : sc_error(err, SC_ENOMEM, "out of memory");
    if (b) b->dir = dir;
    for (char *save = NULL, *line = rc ? NULL : strtok_r(copy, "\n", &save); line && !rc;
         line = strtok_r(NULL, "\n", &save))
        rc = add_line(b, line, width, nwidth, err);
    if (!rc) {
        sc_text_add(&b->extern_, "\nstatic const sc_bundle_entry table[] = {\n%s};\n",
                    b->table.s ? b->table.s : "");
        sc_text_add(&b->extern_,
                    "\nvoid sc_bundle_register(void)\n{\n"
                    "    sc_jit_register_bundle(table, (int)(sizeof table / sizeof *table));\n}\n");
        rc = write_file(dir, "bundle.c", index_head, b->extern_.s, err);
    }
    if (b) {
        sc_text_free(&b->extern_);
        sc_text_free(&b->table);
    }
    free(b);
    free(copy);
    return rc;
}
