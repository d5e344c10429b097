/* test_derive.c: gradient programs against differences of the oracle.
 *
 * Every file below is a forward program. Its loss is the sum of its results, each times a random weight; the
 * weights are the incoming gradients. The gradient program is parsed, checked and evaluated by the oracle, and
 * compared with central differences of the loss over every stored value of every operand. Where it is smooth,
 * the gradient program is then a forward program itself: second derivatives. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compile.h"
#include "run/oracle.h"

#define MAXSIZE 4096

static const char *const cases[] = {
    "in A: f64 csr i32 (5, 4)\nin B: f64 dense (4, 3)\nC[i,k] = A[i,j] * B[j,k]\n",
    "in A: f64 csr i32 (5, 4)\nin B: f64 dense (4, 3)\nin b: f64 dense (3)\nC[i,k] = relu(A[i,j] * B[j,k] - "
    "b[k])\n",
    "in A: f64 csr i32 (4, 4)\nin B: f64 csc i32 (4, 4)\nC[i,k] = A[i,j] * B[j,k]\n",
    "in A: f64 dense (4, 4)\nC[i,k] = A[i,j] * A[j,k]\n",
    "in A: f64 dense (4, 4)\nC[i,k] = A[i,j] * A[k,j] * A[i,k]\n",
    "in A: f64 dense (4, 4)\nin b: f64 dense (4)\nC[i] = A[i,i] * b[i]\n",
    "in A: f64 dense (4, 4, 4)\nC[j] = A[i,i,j] * A[j,j,j]\n",
    "in a: f64 dense (4)\nin b: f64 dense (4)\nC[i,j] = a[i] + b[j]\nd[i] = C[i,i]\n",
    "in X: f64 dense (5, 4)\nin v: f64 dense (4)\nC[i] += X[i,j] + v[j]\n",
    "in X: f64 dense (5, 4)\nin v: f64 dense (3)\nC[i] += X[i,j] - v[k]\n",
    "in X: f64 dense (5, 4)\nin v: f64 csr i32 (5, 3)\nC[i] += X[i,j] - v[i,k]\n",
    "in X: f64 dense (5, 4)\nin v: f64 dense (4)\nm[i] max= X[i,j] + v[j]\n",
    "in X: f64 csr i32 (5, 4)\nin v: f64 dense (4)\nm[j] min= X[i,j] * v[j]\n",
    "in M: f64 csr i32 (5, 4)\nin Q: f64 dense (5, 3)\nin K: f64 dense (4, 3)\nS[i,j] = tanh(M[i,j] * Q[i,k] "
    "* K[j,k])\n",
    "in X: f64 dense (4, 3)\nin y: f64 dense (3)\nin z: f64 dense (4)\n"
    "C[i] = exp(X[i,j] * y[j]) * z[i] / (z[i] + tanh(y[j] * X[i,j]))\n",
    "in X: f64 dense (4, 3)\nin y: f64 dense (3)\nin z: f64 dense (4)\n"
    "C[i] = exp(X[i,j] * y[j]) * z[i] / (z[i] + sigmoid(y[k] * X[i,k]))\n",
    "in X: f64 dense (4, 3)\nin y: f64 dense (3)\nC[i] += X[i,j] * exp(y[k])\n",
    "in X: f64 dense (4, 3)\nin y: f64 dense (3)\nC = log(X[i,j] * y[j] + 3) * sqrt(X[i,j] + 2) / y[j]\n",
    "in A: f64 csr i32 (5, 4)\nskip\nm[i] max= A[i,j]\ns[i] += exp(A[i,j] - m[i])\n"
    "C[i,j] = exp(A[i,j] - m[i]) / s[i]\n",
    "in A: f64 csr i32 (5, 4)\nin B: f64 csr i32 (5, 4)\nC[i,j] = max(A[i,j], B[i,j]) - min(A[i,j], 0.25 * "
    "B[i,j])\n",
    "in A: f64 csr i32 (5, 4)\nin B: f64 coo i32 (5, 4)\nskip\nC[i] += exp(A[i,j]) + B[i,j]\n",
    "in A: f64 csr i32 (5, 4)\nin x: f64 dense (4)\nskip\nm[i] max= A[i,j] * x[j]\n",
    "in A: f64 csr i32 (5, 4)\nC[i,j] = relu(A[i,j]) - abs(0.5 * A[i,j]) + A[i,j] * (A[i,j] > 0.1)\n",
    "in A: f64 csr i32 (5, 4)\nin a: f64 dense ()\nC = a * A[i,j]\nD[j] = A[i,j]\n",
    "in A: f64 csr i32 (5, 4)\nin x: f64 dense (4)\nt[i] = A[i,j] * x[j]\nC[i] = tanh(t[i]) * t[i]\nD = "
    "exp(t[i])\n",
    "in T: f64 csf i32 (3, 4, 5)\nin U: f64 dense (4, 2)\nin V: f64 dense (5, 2)\nC[i,r] = T[i,j,k] * U[j,r] "
    "* V[k,r]\n",
    "in A: f64 \"bsr(2,2)\" i32 (4, 6)\nin B: f64 dense (6, 3)\nC[i,k] = A[i,j] * B[j,k]\n",
    "in g: f64 csr i32 (4, 3)\nin t: f64 dense (4, 2)\nin W: f64 dense (3, 2, 2)\nC[a,n] = g[a,e] * t[a,k] * "
    "W[e,k,n]\n",
    "in A: f64 csr i32 (5, 4)\nin d: f64 dense (5)\nC[i,j] = d[i] * A[i,j] / (d[i] * d[i] + 1)\n",
    "in A: f64 csr i32 (5, 4)\nin B: f64 dense (5, 4)\nC[i,j] = A[i,j] * B[i,j] / A[i,j]\n",
    "in A: f64 csr i32 (4, 4)\nin x: f64 dense (4)\nC[i] = A[i,i] * x[i]\n",
    "in A: f64 csr i32 (4, 4)\nC[i,k] = A[i,j] * A[j,k] + A[k,i]\n",
    /* sums with factors in common, of the same indices and of fewer; sums of one product along two dimensions */
    "in A: f64 csr i32 (5, 4)\nin x: f64 dense (4)\nin y: f64 dense (5)\nC[i] = A[i,j] * exp(x[j] - y[i]) * "
    "A[i,j]\n",
    "in A: f64 csr i32 (5, 4)\nin x: f64 dense (5, 2)\nin y: f64 dense (4, 2)\n"
    "C[i] = A[i,j] * (x[i,f] - y[j,f]) * (x[i,f] + 2 * y[j,f])\n",
    "in A: f64 csr i32 (5, 4)\nin x: f64 dense (4)\nin y: f64 dense (5)\nin z: f64 dense (4, 2)\n"
    "e[i] = A[i,j] * A[i,j] * exp(tanh(x[j] + y[i]) - 0.2 * (x[j] + y[i]))\n"
    "C[i,f] = A[i,j] * exp(tanh(x[j] + y[i]) - 0.2 * (x[j] + y[i])) * z[j,f] / (1 + e[i])\n",
};

static uint64_t state;
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void *block[4096];
static int nblock;
static void *get(size_t n) { return block[nblock++] = calloc(n + 64, 1); }
static void *alloc(void *ctx, int what, int level, sc_dtype t, int64_t n)
{
    (void)ctx, (void)what, (void)level;
    return get((size_t)n * sc_dtype_size(t));
}
static void release(void)
{
    while (nblock) free(block[--nblock]);
}

static _Noreturn void stop(const char *text, const char *why)
{
    printf("%s: %s\n", text, why);
    exit(1);
}

static int64_t dense_view(sc_tensor *t, const Tensor *of)
{
    int64_t n = 1;
    sc_err err = {0};
    memset(t, 0, sizeof *t);
    sc_format_parse(&t->format, "dense", of->ndim, &err);
    t->dtype = SC_F64;
    t->itype = SC_I32;
    for (int d = of->ndim; d-- > 0; n *= of->extent[d]) {
        t->view.dim[d] = of->extent[d];
        t->view.stride[d] = n;
    }
    t->view.nval = n;
    return n;
}

/* The tensor of these dense values in the format of `of`; zeros are not stored. */
static sc_tensor pack(const char *text, const Tensor *of, double *values)
{
    sc_tensor dense, t;
    sc_err err = {0};
    dense_view(&dense, of);
    dense.view.val = values;
    if (sc_format_is_dense(&of->format)) return dense;
    t = (sc_tensor){.format = of->format, .dtype = SC_F64, .itype = of->itype};
    if (sc_convert(&dense, &t, alloc, NULL, NULL, &err)) stop(text, err.msg);
    return t;
}

static int64_t size_of(const Tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++) n *= t->extent[d];
    return n;
}

static double loss(const char *text, const Prog *p, const sc_tensor *in, double *const *weight,
                   double *const *out)
{
    sc_err err = {0};
    double sum = 0;
    if (sc_oracle_run(p, in, out, NULL, &err)) stop(text, err.msg);
    for (int r = 0; r < p->nout; r++)
        for (int64_t i = 0; i < sc_oracle_size(p, r); i++)
            if (isfinite(out[r][i])) sum += out[r][i] * weight[r][i];
    return sum;
}

typedef struct {
    const char *text;
    Prog *p;
    sc_tensor in[SC_MAXOP];
    double *value[SC_MAXOP], *weight[SC_MAXOP], *out[SC_MAXOP];
    sc_gradient g;
} Case;

static void make_data(Case *c)
{
    const Prog *p = c->p;
    for (int k = 0; k < p->nin; k++) {
        const int64_t n = size_of(p->tensor[k]);
        const bool sparse = !sc_format_is_dense(&p->tensor[k]->format);
        c->value[k] = get((size_t)n * sizeof(double));
        for (int64_t i = 0; i < n; i++)
            c->value[k][i] = sparse && uniform() < 0.5 ? 0 : 0.3 + uniform() - (uniform() < 0.3 ? 0.6 : 0);
        c->in[k] = pack(c->text, p->tensor[k], c->value[k]);
    }
    for (int r = 0; r < p->nout; r++) {
        const int64_t n = sc_oracle_size(p, r);
        c->weight[r] = get((size_t)n * sizeof(double));
        c->out[r] = get((size_t)n * sizeof(double));
        for (int64_t i = 0; i < n; i++) c->weight[r][i] = uniform() - 0.5;
    }
    loss(c->text, p, c->in, c->weight, c->out);
}

/* Evaluates the gradient program; grad[r] takes result r, elements of its own. */
static void run_gradient(Case *c, double **grad)
{
    sc_err err = {0};
    sc_tensor in[SC_MAXOP];
    Prog *q = calloc(1, sizeof *q);
    if (sc_compile_gradient(q, &c->g.request, NULL, 0, 0, NULL, &err)) stop(c->g.request.text, err.msg);
    for (int k = 0; k < q->nin; k++) {
        const int from = c->g.source[k].from, index = c->g.source[k].index;
        const int64_t n = size_of(q->tensor[k]);
        if (from == SC_FROM_OPERAND) {
            in[k] = c->in[index];
            continue;
        }
        double *v = from == SC_FROM_RESULT     ? c->out[index]
                    : from == SC_FROM_GRADIENT ? c->weight[index]
                                               : get((size_t)n * sizeof(double));
        for (int64_t i = 0; from == SC_FROM_IDENTITY && i < n; i += q->tensor[k]->extent[0] + 1) v[i] = 1;
        in[k] = pack(c->text, q->tensor[k], v);
    }
    for (int r = 0; r < q->nout; r++) grad[r] = get((size_t)sc_oracle_size(q, r) * sizeof(double));
    if (sc_oracle_run(q, in, grad, NULL, &err)) stop(c->g.request.text, err.msg);
    sc_compile_free(q);
    free(q);
}

/* The element of a gradient that belongs to element i of operand k. */
static double element(const Case *c, double *const *grad, int k, int64_t i)
{
    for (int r = 0; r < c->g.nresult; r++) {
        if (c->g.result[r].operand != k) continue;
        const Tensor *t = c->p->tensor[k];
        int64_t at = 0, stride = 1, rest = i;
        for (int d = t->ndim; d-- > 0; rest /= t->extent[d]) {
            if (c->g.result[r].lacks >> d & 1) continue;
            at += rest % t->extent[d] * stride;
            stride *= t->extent[d];
        }
        return grad[c->g.result[r].number][at];
    }
    return 0;
}

/* Central differences, through stored values, which move the packed tensor. */
static void compare(Case *c, double *const *grad)
{
    const double h = 1e-6;
    char message[256];
    for (int k = 0; k < c->p->nin; k++)
        for (int64_t i = 0; i < size_of(c->p->tensor[k]); i++) {
            const double v = c->value[k][i];
            if (v == 0) continue;
            double side[2];
            for (int s = 0; s < 2; s++) {
                c->value[k][i] = s ? v + h : v - h;
                c->in[k] = pack(c->text, c->p->tensor[k], c->value[k]);
                side[s] = loss(c->text, c->p, c->in, c->weight, c->out);
            }
            c->value[k][i] = v;
            c->in[k] = pack(c->text, c->p->tensor[k], c->value[k]);
            const double want = (side[1] - side[0]) / (2 * h), got = element(c, grad, k, i);
            if (fabs(want - got) <= 1e-6 * (1 + fabs(want))) continue;
            snprintf(message, sizeof message, "%s, element %lld: expected %g, got %g\n",
                     c->p->tensor[k]->name, (long long)i, want, got);
            stop(c->g.request.text, message);
        }
}

static bool is_smooth(const char *text)
{
    static const char *const kinks[] = {"max", "min", "relu", "abs", "==", ">", "<"};
    for (int i = 0; i < SC_LEN(kinks); i++)
        if (strstr(text, kinks[i])) return false;
    return true;
}

/* A file, or the program of its gradients. */
static void check_case(const char *file, const sc_request *rq, uint64_t seed)
{
    sc_err err = {0};
    double *grad[SC_MAXOP];
    Case *c = calloc(1, sizeof *c);
    c->text = file ? file : rq->text;
    c->p = calloc(1, sizeof *c->p);
    state = seed;
    const int rc = sc_compile_gradient(c->p, rq, file, UINT32_MAX, UINT32_MAX, &c->g, &err);
    if (!rc) {
        make_data(c);
        run_gradient(c, grad);
        compare(c, grad);
        release();
        if (file && is_smooth(file)) check_case(NULL, &c->g.request, seed);
        sc_gradient_free(&c->g);
    } else if (file || rc != SC_ENOTIMPL) /* second derivatives may need too many index names */
        stop(c->text, err.msg);
    sc_compile_free(c->p);
    free(c->p);
    free(c);
}

int main(void)
{
    for (int i = 0; i < SC_LEN(cases); i++)
        for (uint64_t seed = 1; seed <= 3; seed++) check_case(cases[i], NULL, seed);
    return 0;
}
