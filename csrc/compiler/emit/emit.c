/* emit.c: statements -> C text.
 *
 * requires  a verified and simplified module
 * sets      nothing; the text depends on the module and the head alone
 *
 * The text stands by itself: the kernel ABI, typedefs of the vector types in
 * use, the functions of lib.c in use, one function per entry, and the
 * object that lists them. An entry loads the parameters and arrays that it uses
 * at its head. The functions come before the entries but are known only after
 * them, so entries are printed aside first. Lines come as long as they are and
 * are broken in the end (lines.c). Flags expected: -fno-math-errno,
 * and -fwrapv where integer values may overflow. */
#include "../expr/expr.h"
#include "../nest/nest.h"
#include "private.h"

#include <string.h>

static void block(Emit *, const Stmt *, int depth);

/* ---- statements ---- */
static void indent(Emit *e, int depth) { sc_text_add(e->out, "%*s", 4 * depth, ""); }

static void braces(Emit *e, const Stmt *s, int depth)
{
    emit_add(e, " {\n");
    block(e, s, depth + 1);
    indent(e, depth);
    emit_add(e, "}");
}

static Type local_type(const Emit *e, Type t)
{ return t.dtype == SC_BOOL && t.lanes > 1 ? type_mask(emit_width(e, t.lanes), t.lanes) : t; }

/* What a local of type t is set to. */
static void assigned(Emit *e, const Val *v, Type t)
{
    emit_add(e, " = ");
    if (t.dtype == SC_BOOL && t.lanes > 1)
        emit_mask(e, v, emit_width(e, t.lanes));
    else
        emit_value(e, v);
    emit_add(e, ";\n");
}

static void store(Emit *e, const Stmt *s)
{
    Type t = s->b->type;
    if (t.lanes == 1) {
        sc_text_add(e->out, "%s[", s->buf->name);
        emit_value(e, s->a);
        emit_add(e, "] = ");
        emit_value(e, s->b);
        emit_add(e, ";\n");
        return;
    }
    emit_helper(e, s->c ? H_SCATTER : H_STORE, t);
    emit_pointer(e, s->buf, s->a);
    emit_add(e, ", ");
    if (s->c) {
        emit_value(e, s->c);
        emit_add(e, ", ");
    }
    if (t.dtype == SC_BOOL) {
        emit_add(e, "-");
        emit_mask(e, s->b, 1);
    } else {
        emit_value(e, s->b);
    }
    emit_add(e, ");\n");
}

static void put(Emit *e, const Stmt *s)
{
    emit_helper(e, H_PUT, s->b->type);
    emit_pointer(e, s->buf, s->a);
    emit_add(e, ", ");
    emit_value(e, s->c);
    emit_add(e, ", ");
    emit_value(e, s->b);
    emit_add(e, ");\n");
}

static void turn(Emit *e, const Stmt *s)
{
    emit_helper(e, H_TURN, s->b->type);
    emit_pointer(e, s->buf, s->a);
    emit_add(e, ", ");
    emit_value(e, s->c);
    emit_add(e, ", ");
    emit_pointer(e, s->b->buf, s->b->kid[0]);
    emit_add(e, ", ");
    emit_value(e, s->b->kid[1]);
    emit_add(e, ");\n");
}

/* How wide a vector is decides how keys are sorted. */
static void unite(Emit *e, const Stmt *s)
{
    const int bytes = e->p->vector_bytes ? e->p->vector_bytes : 16;
    const uint8_t type = (uint8_t)s->spare->dtype;
    sc_text_add(e->out, "%s = ", s->local->name);
    emit_helper(e, H_UNITE, (Type){type, (uint8_t)(bytes / (int)sc_dtype_size(type))});
    sc_text_add(e->out, "%s, %s, %s, ", s->buf->name, s->spare->name, s->local->name);
    emit_value(e, s->a);
    emit_add(e, ");\n");
}

/* Whether a loop may look at its end every time: it cannot change. */
static bool steady(const Val *v)
{
    if (!v) return true;
    if (v->op == O_VAR) return !v->local->mut;
    const bool plain = v->op == O_CONST || v->op == O_PARAM || v->op == O_CAST;
    if (op_info(v->op)->leaf && !plain) return false;
    return steady(v->kid[0]) && steady(v->kid[1]) && steady(v->kid[2]);
}

static void loop(Emit *e, const Stmt *s, int depth)
{
    const char *i = s->local->name;
    bool fixed = steady(s->b);
    sc_text_add(e->out, "for (sc_i64 %s = ", i);
    emit_value(e, s->a);
    if (!fixed) {
        emit_add(e, ", sc_end = ");
        emit_value(e, s->b);
    }
    sc_text_add(e->out, "; %s < ", i);
    if (fixed)
        emit_value(e, s->b);
    else
        emit_add(e, "sc_end");
    if (s->step == 1)
        sc_text_add(e->out, "; %s++)", i);
    else
        sc_text_add(e->out, "; %s += %lld)", i, (long long)s->step);
    braces(e, s->body, depth);
    emit_add(e, "\n");
}

static void note(Emit *e, const char *s)
{
    emit_add(e, "/* ");
    for (; *s; s++) {
        sc_text_addn(e->out, s, 1);
        if ((s[0] == '*' && s[1] == '/') || (s[0] == '/' && s[1] == '*')) emit_add(e, " ");
    }
    emit_add(e, " */\n");
}

/* What always runs is a block of its own for the names that it declares. */
static bool is_scope(const Stmt *s) { return s->op == S_IF && val_is_int(s->a, 1); }

static void scope(Emit *e, const Stmt *s, int depth)
{
    emit_add(e, "{\n");
    block(e, s->body, depth + 1);
    indent(e, depth);
    emit_add(e, "}\n");
}

static void test(Emit *e, const Stmt *s, int depth)
{
    emit_add(e, s->op == S_IF ? "if (" : "while (");
    emit_value(e, s->a);
    emit_add(e, ")");
    braces(e, s->body, depth);
    if (s->other && stmt_only_if(s->other) && !is_scope(s->other)) {
        emit_add(e, " else ");
        test(e, s->other, depth);
        return;
    }
    if (s->other) {
        emit_add(e, " else");
        braces(e, s->other, depth);
    }
    emit_add(e, "\n");
}

static void statement(Emit *e, const Stmt *s, int depth)
{
    indent(e, depth);
    switch (s->op) {
    case S_LET:
        emit_add(e, s->local->mut ? "" : "const ");
        emit_type(e, local_type(e, s->local->type));
        sc_text_add(e->out, " %s", s->local->name);
        assigned(e, s->a, s->local->type);
        break;
    case S_SET:
        emit_add(e, s->local->name);
        assigned(e, s->a, s->local->type);
        break;
    case S_STORE: store(e, s); break;
    case S_PUT: put(e, s); break;
    case S_TURN: turn(e, s); break;
    case S_FOR: loop(e, s, depth); break;
    case S_RETURN: sc_text_add(e->out, "return %lld;\n", (long long)s->step); break;
    case S_SORT:
        emit_helper(e, H_SORT, (Type){(uint8_t)s->buf->dtype, 1});
        sc_text_add(e->out, "%s, %s, ", s->buf->name, s->spare->name);
        emit_value(e, s->a);
        emit_add(e, ");\n");
        break;
    case S_UNITE: unite(e, s); break;
    case S_FETCH:
        emit_add(e, "__builtin_prefetch(");
        emit_pointer(e, s->buf, s->a);
        emit_add(e, ");\n");
        break;
    case S_NOTE: note(e, s->text); break;
    default: is_scope(s) ? scope(e, s, depth) : test(e, s, depth);
    }
}

static void block(Emit *e, const Stmt *s, int depth)
{
    for (; s; s = s->next) statement(e, s, depth);
}

/* ---- what an entry uses ---- */
static void use_buf(Emit *, const Buf *);

static void use_value(Emit *e, const Val *v)
{
    if (!v) return;
    for (int k = 0; v->op == O_PARAM && k < e->m->nparam; k++) e->param[k] |= e->m->param[k] == v->param;
    if (v->buf) use_buf(e, v->buf);
    for (int k = 0; k < 3; k++) use_value(e, v->kid[k]);
}

static void use_buf(Emit *e, const Buf *b)
{
    for (int k = 0; k < e->m->nbuf; k++) e->buf[k] |= e->m->buf[k] == b;
    use_value(e, b->offset);
}

static void use_block(Emit *e, const Stmt *s)
{
    for (; s; s = s->next) {
        if (s->buf) use_buf(e, s->buf);
        if (s->spare) use_buf(e, s->spare);
        use_value(e, s->a);
        use_value(e, s->b);
        use_value(e, s->c);
        use_block(e, s->body);
        use_block(e, s->other);
    }
}

/* ---- the head of an entry ---- */
static void param(Emit *e, const Param *q)
{
    if (q->origin == P_BEGIN && !strcmp(q->name, "begin")) return;
    if (q->origin == P_END && !strcmp(q->name, "end")) return;
    sc_text_add(e->out, "    const sc_i64 %s = ", q->name);
    switch (q->origin) {
    case P_DIM: sc_text_add(e->out, "call->dim[%d];\n", q->a); break;
    case P_STRIDE: sc_text_add(e->out, "call->view[%d].stride[%d];\n", q->a, q->b); break;
    case P_NPOS: sc_text_add(e->out, "call->view[%d].level[%d].npos;\n", q->a, q->b); break;
    case P_SIZE: sc_text_add(e->out, "call->view[%d].level[%d].size;\n", q->a, q->b); break;
    case P_NVAL: sc_text_add(e->out, "call->view[%d].nval;\n", q->a); break;
    case P_CURSOR: sc_text_add(e->out, "lane->cursor[%d];\n", q->a); break;
    case P_COPIES: sc_text_add(e->out, "call->copies[%d];\n", q->a); break;
    case P_SLOTS: emit_add(e, "lane->slots;\n"); break;
    case P_BEGIN: emit_add(e, "begin;\n"); break;
    case P_END: emit_add(e, "end;\n"); break;
    }
}

static bool same(const Val *a, const Val *b)
{
    if (a == b || !a || !b) return a == b;
    if (a->op != b->op || !type_same(a->type, b->type) || a->i != b->i || a->param != b->param) return false;
    return same(a->kid[0], b->kid[0]) && same(a->kid[1], b->kid[1]);
}

/* The array in front of b that has this offset. */
static const Buf *at_offset(const Emit *e, const Buf *b, const Val *v)
{
    for (int k = 0; k < e->m->nbuf && e->m->buf[k] != b; k++) {
        const Buf *c = e->m->buf[k];
        if (e->buf[k] && buf_names_offset(c) && same(c->offset, v)) return c;
    }
    return NULL;
}

/* The offset of b, as what lies between the array in front of it and b. */
static void offset(Emit *e, const Buf *b, const Val *v)
{
    const Buf *there = at_offset(e, b, v);
    if (there) {
        sc_text_add(e->out, "%s_at", there->name);
    } else if (v->op == O_ADD) {
        offset(e, b, v->kid[0]);
        emit_add(e, " + ");
        emit_below(e, v, 1);
    } else if (v != b->offset && val_parens(O_ADD, v, false)) {
        emit_add(e, "(");
        emit_value(e, v);
        emit_add(e, ")");
    } else {
        emit_value(e, v);
    }
}

static void placed(Emit *e, const Buf *b)
{
    const char *from = b->origin == B_SCRATCH   ? "lane->scratch"
                       : b->origin == B_CURSORS ? "lane->cursor"
                                                : "lane->partial";
    if (buf_names_offset(b)) {
        sc_text_add(e->out, "(void *)((char *)%s + %s_at);\n", from, b->name);
    } else if (!b->offset || val_is_int(b->offset, 0)) {
        sc_text_add(e->out, "%s;\n", from);
    } else {
        sc_text_add(e->out, "(void *)((char *)%s + ", from);
        emit_value(e, b->offset);
        emit_add(e, ");\n");
    }
}

static void buffer(Emit *e, const Buf *b)
{
    if (buf_names_offset(b)) {
        sc_text_add(e->out, "    const sc_i64 %s_at = ", b->name);
        offset(e, b, b->offset);
        emit_add(e, ";\n");
    }
    const char *type = c_scalar((int)b->dtype), *keep = b->mut ? "" : "const ";
    sc_text_add(e->out, "    %s%s *restrict const %s = ", keep, type, b->name);
    if (b->origin == B_POS || b->origin == B_CRD) {
        if (b->mut) sc_text_add(e->out, "(%s *)", type);
        sc_text_add(e->out, "call->view[%d].level[%d].%s;\n", b->arg, b->level,
                    b->origin == B_POS ? "pos" : "crd");
    } else if (b->origin == B_VAL) {
        sc_text_add(e->out, "call->view[%d].val;\n", b->arg);
    } else if (b->origin == B_PERM) {
        sc_text_add(e->out, "call->view[%d].perm;\n", b->arg);
    } else if (b->origin == B_SHARED) {
        sc_text_add(e->out, "call->shared[%d];\n", b->arg);
    } else {
        placed(e, b);
    }
}

/* Arguments that nothing above reads. */
static void unused(Emit *e)
{
    bool call = false, lane = false, begin = false, end = false;
    for (int k = 0; k < e->m->nparam; k++) {
        if (!e->param[k]) continue;
        ParamOrigin o = e->m->param[k]->origin;
        begin |= o == P_BEGIN;
        end |= o == P_END;
        lane |= o == P_CURSOR || o == P_SLOTS;
        call |= o != P_BEGIN && o != P_END && o != P_CURSOR && o != P_SLOTS;
    }
    for (int k = 0; k < e->m->nbuf; k++) {
        if (!e->buf[k]) continue;
        BufOrigin o = e->m->buf[k]->origin;
        bool own = o == B_SCRATCH || o == B_PARTIAL || o == B_CURSORS;
        lane |= own;
        call |= !own;
    }
    if (!call) emit_add(e, "    (void)call;\n");
    if (!lane) emit_add(e, "    (void)lane;\n");
    if (!begin) emit_add(e, "    (void)begin;\n");
    if (!end) emit_add(e, "    (void)end;\n");
}

static bool returns(const Stmt *s)
{
    while (s && s->next) s = s->next;
    return s && s->op == S_RETURN;
}

static void entry(Emit *e, const Entry *n)
{
    memset(e->param, 0, sizeof e->param);
    memset(e->buf, 0, sizeof e->buf);
    use_block(e, n->body);
    sc_text_add(e->out, "static int %s(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)\n{\n",
                n->name);
    for (int k = 0; k < e->m->nparam; k++)
        if (e->param[k]) param(e, e->m->param[k]);
    for (int k = 0; k < e->m->nbuf; k++)
        if (e->buf[k]) buffer(e, e->m->buf[k]);
    unused(e);
    emit_add(e, "\n");
    block(e, n->body, 1);
    emit_add(e, returns(n->body) ? "}\n\n" : "    return 0;\n}\n\n");
}

/* ---- the file ---- */
/* The kernel ABI as it was compiled into the library, broken into lines. */
static void abi(sc_text *out)
{
    int depth = 0;
    for (const char *s = sc_abi_text; *s; s++) {
        sc_text_addn(out, s, 1);
        depth += (*s == '{') - (*s == '}');
        if (*s != '{' && *s != ';') continue;
        while (s[1] == ' ') s++;
        sc_text_add(out, "\n%*s", s[1] == '}' ? 0 : 4 * depth, "");
    }
    sc_text_add(out, "\n");
}

/* Every line of s behind " * ". */
static void comment_lines(sc_text *out, const sc_text *s)
{
    bool start = true;
    for (size_t k = 0; s->s && k < s->n; k++) {
        char c = s->s[k], next = k + 1 < s->n ? s->s[k + 1] : 0;
        if (start && c != '\n')
            sc_text_add(out, " *   ");
        else if (start)
            sc_text_add(out, " *");
        sc_text_addn(out, &c, 1);
        if ((c == '*' && next == '/') || (c == '/' && next == '*')) sc_text_add(out, " ");
        start = c == '\n';
    }
    if (!start) sc_text_add(out, "\n");
    out->failed |= s->failed;
}

static void formats(const Prog *p, sc_text *out)
{
    char format[256];
    for (int k = 0; k < p->ntensor; k++) {
        const Tensor *t = p->tensor[k];
        if (t->role == T_WORK) continue;
        sc_format_print(&t->format, format, sizeof format);
        sc_text_add(out, "%s: %s %s", t->name, format, sc_dtype_name(t->dtype));
        if (!sc_format_is_dense(&t->format)) sc_text_add(out, ", indices %s", sc_dtype_name(t->itype));
        sc_text_add(out, "\n");
    }
}

static bool is_compared(const Expr *e)
{
    if (e->op == O_EQ || (e->op == O_REDUCE && e->reduce != O_ADD && e->kid[0]->op != O_ACCESS)) return true;
    return (e->kid[0] && is_compared(e->kid[0])) || (e->kid[1] && is_compared(e->kid[1]));
}

/* Gradients compare terms with the extremum of them, and where these cannot be stored (expr/derive.c: terms_of), two
 * kernels that compute them must agree to the last bit. */
static bool is_exact(const Prog *p)
{
    bool compares = false;
    for (int a = 0; a < p->nassign; a++) compares |= is_compared(p->assign[a].rhs);
    return compares && !prog_has_one_type(p);
}

/* What the kernel computes and how, for the reader. */
static void head(const Prog *p, sc_text *out)
{
    sc_text s = {0};
    if (!p->nassign || !p->draft.nest) return;
    prog_print(p, &s);
    sc_text_add(out, "/* Computes\n");
    comment_lines(out, &s);
    s.n = 0;
    formats(p, &s);
    sc_text_add(out, " * with\n");
    comment_lines(out, &s);
    s.n = 0;
    nest_print(p, p->draft.nest, &s);
    sc_text_add(out, " * by\n");
    comment_lines(out, &s);
    if (p->draft.why.n) {
        sc_text_add(out, " * because\n");
        comment_lines(out, &p->draft.why);
    }
    sc_text_add(out, " */\n");
    sc_text_free(&s);
}

static void object(const Module *m, sc_text *out)
{
    sc_text_add(out,
                "#ifndef SC_KEY\n#define SC_KEY \"\"\n#endif\n"
                "#ifndef SC_OBJECT\n#define SC_OBJECT sc_kernels\n#endif\n"
                "__attribute__((visibility(\"default\"))) const sc_object SC_OBJECT = {%d, "
                "sizeof(sc_object), SC_KEY,\n    %d, {",
                SC_ABI, m->nentry);
    for (int k = 0; k < m->nentry; k++) sc_text_add(out, k ? ", %s" : "%s", m->entry[k].name);
    sc_text_add(out, m->nentry ? "}};\n" : "0}};\n");
}

void emit_module(const Prog *p, const Module *m, sc_text *out)
{
    sc_text entries = {0}, all = {0};
    Emit e = {.p = p, .m = m, .out = &entries};
    for (int k = 0; k < m->nentry; k++) entry(&e, &m->entry[k]);
    if (is_exact(p)) sc_text_add(&all, SC_EXACT);
    head(p, &all);
    abi(&all);
    needs_emit(&e.needs, &all);
    if (entries.s) sc_text_addn(&all, entries.s, entries.n);
    object(m, &all);
    lines_wrap(&all, out);
    out->failed |= entries.failed;
    sc_text_free(&entries);
    sc_text_free(&all);
}
