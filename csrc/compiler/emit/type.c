/* type.c: types as C text. */
#include "private.h"

const char *c_scalar(int dtype)
{
    static const char *const c[] = {"signed char",    "short",          "int",   "sc_i64",
                                    "unsigned short", "unsigned short", "float", "double"};
    return c[dtype];
}

void c_type(sc_text *out, Type t)
{
    const char *name = t.dtype == SC_BOOL ? "i8" : sc_dtype_name((sc_dtype)t.dtype);
    if (t.lanes > 1)
        sc_text_add(out, "%sx%d", name, t.lanes);
    else
        sc_text_add(out, "%s", t.dtype == SC_BOOL ? "_Bool" : c_scalar(t.dtype));
}

Type type_mask(int bytes, int lanes)
{
    sc_dtype t = bytes == 1 ? SC_BOOL : bytes == 2 ? SC_I16 : bytes == 4 ? SC_I32 : SC_I64;
    return (Type){(uint8_t)t, (uint8_t)lanes};
}
