/* value.c: values -> C text.
 *
 * Vectors of truth values have no type of their own in C: they are integers of
 * -1 and 0, as wide as what was compared, and are converted where another width
 * is needed. In locals they have the width that fills a register. */
#include "private.h"

void emit_add(Emit *e, const char *s) { sc_text_add(e->out, "%s", s); }

void emit_type(Emit *e, Type t)
{
    need_type(&e->needs, t);
    c_type(e->out, t);
}

/* "sc_load_f32x8(" */
void emit_helper(Emit *e, Helper h, Type t)
{
    need_helper(&e->needs, h, t);
    sc_text_add(e->out, "sc_%s_", helper_name(h));
    if (t.lanes > 1)
        c_type(e->out, t);
    else
        emit_add(e, sc_dtype_name((sc_dtype)t.dtype));
    emit_add(e, "(");
}

void emit_below(Emit *e, const Val *v, int k)
{
    bool parens = val_parens(v->op, v->kid[k], k == 1);
    emit_add(e, parens ? "(" : "");
    emit_value(e, v->kid[k]);
    emit_add(e, parens ? ")" : "");
}

/* A value below a cast or a prefix operator. */
static void tight(Emit *e, const Val *v)
{
    bool parens = op_infix(v->op);
    emit_add(e, parens ? "(" : "");
    emit_value(e, v);
    emit_add(e, parens ? ")" : "");
}

static void args(Emit *e, const Val *v, int n)
{
    for (int k = 0; k < n; k++) {
        emit_add(e, k ? ", " : "");
        emit_value(e, v->kid[k]);
    }
    emit_add(e, ")");
}

/* ---- constants and places ---- */
static void number(Emit *e, const Val *v)
{
    sc_dtype t = (sc_dtype)v->type.dtype;
    bool f32 = t == SC_F32;
    if (!type_is_float(v->type)) {
        if (v->i == INT64_MIN || (t == SC_I32 && v->i == INT32_MIN))
            sc_text_add(e->out, "(%lld - 1)", (long long)(v->i + 1));
        else
            sc_text_add(e->out, "%lld", (long long)v->i);
    } else if (type_is_half(v->type)) {
        sc_text_add(e->out, "%u", sc_half_put(t, (float)v->f));
    } else if (v->f != v->f) {
        emit_add(e, f32 ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")");
    } else if (v->f - v->f != 0) {
        sc_text_add(e->out, "%s__builtin_inf%s()", v->f < 0 ? "-" : "", f32 ? "f" : "");
    } else {
        number_print(e->out, t, v->f);
        emit_add(e, f32 ? "f" : "");
    }
}

void emit_pointer(Emit *e, const Buf *b, const Val *index)
{
    if (val_is_int(index, 0)) {
        emit_add(e, b->name);
        return;
    }
    sc_text_add(e->out, "&%s[", b->name);
    emit_value(e, index);
    emit_add(e, "]");
}

static void load(Emit *e, const Val *v)
{
    if (v->type.lanes == 1) {
        sc_text_add(e->out, v->type.dtype == SC_BOOL ? "(%s[" : "%s[", v->buf->name);
        emit_value(e, v->kid[0]);
        emit_add(e, v->type.dtype == SC_BOOL ? "] != 0)" : "]");
        return;
    }
    emit_helper(e, v->kid[1] ? H_GATHER : H_LOAD, v->type);
    emit_pointer(e, v->buf, v->kid[0]);
    if (v->kid[1]) {
        emit_add(e, ", ");
        emit_value(e, v->kid[1]);
    }
    emit_add(e, ")");
}

static void pick(Emit *e, const Val *v)
{
    const Val *crd = v->kid[2];
    emit_helper(e, crd->buf->dtype == SC_I32 ? H_PICK : H_PICK_FAR, v->type);
    emit_pointer(e, v->buf, v->kid[0]);
    emit_add(e, ", ");
    if (v->kid[1])
        emit_value(e, v->kid[1]);
    else
        emit_add(e, "1");
    emit_add(e, ", ");
    emit_pointer(e, crd->buf, crd->kid[0]);
    emit_add(e, ")");
}

/* ---- vectors of truth values ---- */
/* Bytes of an element where nothing else decides: what fills a register. */
int emit_width(const Emit *e, int lanes)
{
    int bytes = (e->p->vector_bytes ? e->p->vector_bytes : 16) / lanes;
    return bytes < 1 ? 1 : bytes > 8 ? 8 : bytes;
}

static int width_of(const Emit *e, const Val *v)
{
    switch (v->op) {
    case O_LOAD:
    case O_PICK: return 1;
    case O_AND:
    case O_OR: return width_of(e, v->kid[0]);
    case O_SELECT: return width_of(e, v->kid[1]);
    default: break;
    }
    if (!op_compares(v->op)) return emit_width(e, v->type.lanes);
    Type t = v->kid[0]->type;
    return t.dtype == SC_BOOL ? width_of(e, v->kid[0]) : (int)sc_dtype_size((sc_dtype)t.dtype);
}

static void mask_compare(Emit *e, const Val *v, int width)
{
    bool masks = v->kid[0]->type.dtype == SC_BOOL;
    emit_add(e, "(");
    emit_type(e, type_mask(width, v->type.lanes));
    emit_add(e, ")(");
    if (masks)
        emit_mask(e, v->kid[0], width);
    else
        emit_below(e, v, 0);
    sc_text_add(e->out, " %s ", op_info(v->op)->text);
    if (masks)
        emit_mask(e, v->kid[1], width);
    else
        emit_below(e, v, 1);
    emit_add(e, ")");
}

/* One lane of truth as a vector. */
static void mask_splat(Emit *e, const Val *v, int width)
{
    Type t = type_mask(width, v->type.lanes);
    emit_helper(e, H_SPLAT, t);
    if (v->op == O_CONST) {
        emit_add(e, v->i ? "-1)" : "0)");
        return;
    }
    emit_add(e, "-(");
    emit_value(e, v->kid[0]);
    emit_add(e, "))");
}

static void mask_load(Emit *e, const Val *v)
{
    emit_add(e, "(");
    emit_type(e, v->type);
    emit_add(e, ")(");
    if (v->op == O_PICK)
        pick(e, v);
    else
        load(e, v);
    emit_add(e, " != (");
    emit_type(e, v->type);
    emit_add(e, "){0})");
}

/* Prints v, truth values, as integers of so many bytes. */
void emit_mask(Emit *e, const Val *v, int width)
{
    Type t = type_mask(width, v->type.lanes);
    bool splat = v->op == O_CONST || v->op == O_CAST;
    if (splat) {
        mask_splat(e, v, width);
    } else if (v->op == O_AND || v->op == O_OR) {
        emit_add(e, "(");
        emit_mask(e, v->kid[0], width);
        emit_add(e, v->op == O_AND ? " & " : " | ");
        emit_mask(e, v->kid[1], width);
        emit_add(e, ")");
    } else if (v->op == O_FIRST || v->op == O_BITS) {
        emit_helper(e, v->op == O_FIRST ? H_FIRST : H_BITS, t);
        args(e, v, 1);
    } else if (v->op == O_SELECT) {
        emit_helper(e, H_SELECT, t);
        for (int k = 0; k < 3; k++) {
            emit_mask(e, v->kid[k], width);
            emit_add(e, k < 2 ? ", " : ")");
        }
    } else {
        int own = width_of(e, v);
        if (own != width) emit_add(e, "__builtin_convertvector(");
        if (op_compares(v->op))
            mask_compare(e, v, own);
        else if (v->op == O_LOAD || v->op == O_PICK)
            mask_load(e, v);
        else
            emit_add(e, v->local->name);
        if (own == width) return;
        emit_add(e, ", ");
        emit_type(e, t);
        emit_add(e, ")");
    }
}

/* ---- operators ---- */
static void cast(Emit *e, const Val *v)
{
    Type to = v->type, from = v->kid[0]->type;
    if (from.lanes < to.lanes) {
        const Val *one = v->kid[0];
        const bool wide = one->op == O_CAST && one->kid[0]->type.dtype == SC_BF16 && to.dtype == SC_F32;
        emit_helper(e, wide ? H_WIDE : H_SPLAT, to);
        args(e, wide ? one : v, 1);
        return;
    }
    if (type_is_half(from) || type_is_half(to)) {
        Helper h = type_is_half(from) ? (from.dtype == SC_F16 ? H_FROM_F16 : H_FROM_BF16)
                                      : (to.dtype == SC_F16 ? H_TO_F16 : H_TO_BF16);
        emit_helper(e, h, (Type){SC_F32, to.lanes});
        args(e, v, 1);
        return;
    }
    if (to.lanes == 1) {
        emit_add(e, "(");
        emit_type(e, to);
        emit_add(e, ")");
        tight(e, v->kid[0]);
        return;
    }
    emit_add(e, "__builtin_convertvector(");
    if (from.dtype == SC_BOOL) {
        emit_add(e, "-");
        emit_mask(e, v->kid[0], (int)sc_dtype_size((sc_dtype)to.dtype));
    } else {
        emit_value(e, v->kid[0]);
    }
    emit_add(e, ", ");
    emit_type(e, to);
    emit_add(e, ")");
}

static bool is_leaf(const Val *v) { return v->op == O_CONST || v->op == O_VAR || v->op == O_PARAM; }

/* A choice reads only what it takes; between numbers that are there already no branch is wanted. */
static void choice(Emit *e, const Val *v)
{
    const bool known = is_leaf(v->kid[1]) && is_leaf(v->kid[2]);
    if (v->type.lanes == 1 && known && type_blends(v->type)) {
        emit_helper(e, H_SELECT, v->type);
        args(e, v, 3);
        return;
    }
    if (v->type.lanes > 1) {
        emit_helper(e, H_SELECT, v->type);
        emit_mask(e, v->kid[0], (int)sc_dtype_size((sc_dtype)v->type.dtype));
        emit_add(e, ", ");
        emit_value(e, v->kid[1]);
        emit_add(e, ", ");
        emit_value(e, v->kid[2]);
        emit_add(e, ")");
        return;
    }
    emit_add(e, "(");
    tight(e, v->kid[0]);
    emit_add(e, " ? ");
    if (v->type.dtype == SC_I64) emit_add(e, "(sc_i64)");
    tight(e, v->kid[1]);
    emit_add(e, " : ");
    tight(e, v->kid[2]);
    emit_add(e, ")");
}

static Helper helper_of(Op op)
{
    switch (op) {
    case O_MIN: return H_MIN;
    case O_MAX: return H_MAX;
    case O_RELU: return H_RELU;
    case O_ABS: return H_ABS;
    case O_SQRT: return H_SQRT;
    case O_EXP: return H_EXP;
    case O_LOG: return H_LOG;
    case O_TANH: return H_TANH;
    case O_SIGMOID: return H_SIGMOID;
    case O_EXTRACT: return H_EXTRACT;
    case O_COUNT: return H_ONES;
    case O_EVEN: return H_EVEN;
    case O_ODD: return H_ODD;
    default: return H_COUNT;
    }
}

static void ctz(Emit *e, const Val *v)
{
    static const char *const call[] = {[SC_I16] = "(short)__builtin_ctz((unsigned short)",
                                       [SC_I32] = "__builtin_ctz((unsigned)",
                                       [SC_I64] = "(sc_i64)__builtin_ctzll((unsigned long long)"};
    emit_add(e, call[v->type.dtype]);
    tight(e, v->kid[0]);
    emit_add(e, ")");
}

/* sum + v */
static void dot(Emit *e, const Val *sum, const Val *v)
{
    emit_helper(e, H_DOT, v->type);
    emit_value(e, sum);
    emit_add(e, ", ");
    emit_pointer(e, v->buf, v->kid[0]);
    for (int k = 1; k < 3; k++) {
        emit_add(e, ", ");
        emit_value(e, v->kid[k]);
    }
    emit_add(e, ")");
}

/* Short integers widen in C: bring the result back. */
static void arithmetic(Emit *e, const Val *v)
{
    if (v->op == O_ADD && v->kid[1]->op == O_DOT) {
        dot(e, v->kid[0], v->kid[1]);
        return;
    }
    bool narrow = v->type.dtype == SC_I16 && v->type.lanes == 1;
    emit_add(e, narrow ? "(short)(" : "");
    if (op_info(v->op)->form == F_PREFIX) {
        emit_add(e, "-");
        tight(e, v->kid[0]);
    } else {
        emit_below(e, v, 0);
        bool both = v->op == O_AND && v->type.dtype == SC_BOOL; /* the right side may rely on the left */
        sc_text_add(e->out, " %s ", both ? "&&" : op_info(v->op)->text);
        emit_below(e, v, 1);
    }
    emit_add(e, narrow ? ")" : "");
}

static void operation(Emit *e, const Val *v)
{
    Helper h = helper_of(v->op);
    if (v->op == O_SELECT) {
        choice(e, v);
    } else if (v->op == O_CTZ) {
        ctz(e, v);
    } else if (v->op == O_SHL && v->type.lanes == 1) {
        emit_helper(e, H_SHL, v->type);
        args(e, v, 2);
    } else if (h != H_COUNT) {
        emit_helper(e, h, v->type);
        args(e, v, op_info(v->op)->arity);
    } else if (op_info(v->op)->form == F_CALL) {
        fail((Prog *)e->p, SC_EINTERNAL, -1, "%s has no C text: add it to helper_of", op_info(v->op)->text);
    } else {
        arithmetic(e, v);
    }
}

static void constant(Emit *e, const Val *v)
{
    if (v->type.lanes == 1) {
        number(e, v);
    } else if (type_is_float(v->type) ? v->f == 0 && !__builtin_signbit(v->f) : v->i == 0) {
        emit_add(e, "(");
        emit_type(e, v->type);
        emit_add(e, "){0}");
    } else {
        emit_helper(e, H_SPLAT, v->type);
        number(e, v);
        emit_add(e, ")");
    }
}

void emit_value(Emit *e, const Val *v)
{
    if (v->type.dtype == SC_BOOL && v->type.lanes > 1) {
        emit_mask(e, v, width_of(e, v));
        return;
    }
    switch (v->op) {
    case O_CONST: constant(e, v); break;
    case O_VAR: emit_add(e, v->local->name); break;
    case O_PARAM: emit_add(e, v->param->name); break;
    case O_LOAD: load(e, v); break;
    case O_CAST: cast(e, v); break;
    case O_HRED:
        emit_helper(e, v->reduce == O_ADD ? H_HADD : v->reduce == O_MAX ? H_HMAX : H_HMIN, v->kid[0]->type);
        args(e, v, 1);
        break;
    case O_LANE:
        tight(e, v->kid[0]);
        sc_text_add(e->out, "[%lld]", (long long)v->i);
        break;
    case O_SEARCH:
        emit_helper(e, H_SEARCH, (Type){(uint8_t)v->buf->dtype, 1});
        sc_text_add(e->out, "%s, ", v->buf->name);
        args(e, v, 3);
        break;
    case O_MARKS:
        emit_helper(e, H_MARKS, (Type){SC_BOOL, e->p->vector_bytes >= 64 ? 64 : 1});
        emit_pointer(e, v->buf, v->kid[0]);
        emit_add(e, ")");
        break;
    case O_MEET:
        emit_helper(e, H_MEET, (Type){(uint8_t)v->kid[0]->buf->dtype, 1});
        args(e, v, 2);
        break;
    case O_PART:
        sc_text_add(e->out, "%s, ", v->buf->name);
        emit_value(e, v->kid[0]);
        emit_add(e, ", ");
        emit_value(e, v->kid[1]);
        break;
    case O_PAIR:
        emit_helper(e, H_PAIR, (Type){SC_I32, 1});
        emit_pointer(e, v->buf, v->kid[0]);
        emit_add(e, ")");
        break;
    case O_PICK: pick(e, v); break;
    case O_DOT: dot(e, val_const((Prog *)e->p, v->type, 0), v); break;
    case O_MASKED:
    case O_EXPAND:
    case O_SPREAD:
        emit_helper(e, v->op == O_MASKED ? H_MASKED : v->op == O_EXPAND ? H_EXPAND : H_SPREAD, v->type);
        emit_pointer(e, v->buf, v->kid[0]);
        for (int k = 1; k < op_info(v->op)->arity; k++) {
            emit_add(e, ", ");
            emit_value(e, v->kid[k]);
        }
        emit_add(e, ")");
        break;
    default: operation(e, v);
    }
}
