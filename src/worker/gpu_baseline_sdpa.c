/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu_baseline.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "worker/job.h"

/*
 * Attention by cuDNN's graph interface: the graph softmax(scale Q K^T) V as it wants to see it - two
 * matrix products, and between them the softmax in its parts - for which it has one fused kernel.
 */

/* Its binary interface, as far as it is used. */
enum {
	D_POINTWISE = 0, D_ENGINECFG = 3, D_HEUR = 4, D_PLAN = 5, D_OP_POINTWISE = 13, D_GRAPH = 15,
	D_PACK = 16, D_TENSOR = 17, D_MATMUL = 18, D_OP_MATMUL = 19, D_REDUCTION = 21, D_OP_REDUCTION = 22,
};
enum {
	A_POINTWISE_MODE = 0, A_POINTWISE_PREC = 1,
	A_HEUR_MODE = 200, A_HEUR_GRAPH = 201, A_HEUR_RESULTS = 202,
	A_PLAN_HANDLE = 400, A_PLAN_CONFIG = 401, A_PLAN_WORKSPACE = 402,
	A_PW_DESC = 750, A_PW_X = 751, A_PW_B = 752, A_PW_Y = 753,
	A_GRAPH_HANDLE = 800, A_GRAPH_OPS = 801,
	A_T_ALIGN = 900, A_T_TYPE = 901, A_T_DIMS = 902, A_T_STRIDES = 903, A_T_UID = 906,
	A_T_VIRTUAL = 907, A_T_BY_VALUE = 908,
	A_PACK_UIDS = 1000, A_PACK_POINTERS = 1001, A_PACK_WORKSPACE = 1003,
	A_MATMUL_COMP = 1500, A_OP_MM_A = 1520, A_OP_MM_B = 1521, A_OP_MM_C = 1522, A_OP_MM_DESC = 1523,
	A_RED_OPERATOR = 1600, A_RED_COMP = 1601, A_OP_RED_X = 1610, A_OP_RED_Y = 1611, A_OP_RED_DESC = 1612,
};
enum {
	T_HANDLE = 0, T_DATA_TYPE = 1, T_BOOLEAN = 2, T_INT64 = 3, T_VOID_PTR = 6, T_HEUR_MODE = 8,
	T_POINTWISE_MODE = 14, T_DESCRIPTOR = 15, T_REDUCTION = 18,
};
enum {
	FLOAT = 0, HALF = 2, PW_MUL = 1, PW_DIV = 6, PW_SUB = 9, PW_EXP = 13, RED_ADD = 0, RED_MAX = 3,
	MODE_A = 3,
};

enum {
	UID_Q = 1, UID_K, UID_V, UID_O, UID_SCALE, UID_S, UID_SCALED, UID_MAX, UID_SUB, UID_EXP, UID_SUM,
	UID_P,
};

#define MAX_CONFIGS 8

struct sdpa {
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	int (*set_stream)(void *handle, struct kl_cu_stream *s);
	size_t (*version)(void);
	int (*make)(int type, void **d);
	int (*destroy_desc)(void *d);
	int (*set)(void *d, int attribute, int type, int64_t n, const void *v);
	int (*get)(void *d, int attribute, int type, int64_t asked, int64_t *got, void *v);
	int (*finalize)(void *d);
	int (*execute)(void *handle, void *plan, void *pack);
	void *handle, *plan;
	uint64_t room;
	int q, k, v, o;
	int64_t b, s, t, h, d;		/* batch, queries, keys, heads, head size */
	float scale;
	int rc;				/* the first status that was not 0 */
};

/* -- descriptors: every step does nothing once one has failed ---------------------- */

static void *make(struct sdpa *x, int type)
{
	void *d = NULL;

	if (!x->rc)
		x->rc = x->make(type, &d);
	return d;
}

static void set(struct sdpa *x, void *d, int attribute, int type, int64_t n, const void *v)
{
	if (!x->rc)
		x->rc = x->set(d, attribute, type, n, v);
}

static void set_int(struct sdpa *x, void *d, int attribute, int type, int v)
{
	set(x, d, attribute, type, 1, &v);
}

static void set_desc(struct sdpa *x, void *d, int attribute, void *v)
{
	set(x, d, attribute, T_DESCRIPTOR, 1, &v);
}

static void *done(struct sdpa *x, void *d)
{
	if (!x->rc)
		x->rc = x->finalize(d);
	return d;
}

static void *tensor(struct sdpa *x, int64_t uid, int type, const int64_t dim[4], const int64_t stride[4],
		    bool virtual, bool by_value)
{
	void *t = make(x, D_TENSOR);
	int64_t align = by_value ? 4 : 16;

	set_int(x, t, A_T_TYPE, T_DATA_TYPE, type);
	set(x, t, A_T_DIMS, T_INT64, 4, dim);
	set(x, t, A_T_STRIDES, T_INT64, 4, stride);
	set(x, t, A_T_UID, T_INT64, 1, &uid);
	set(x, t, A_T_ALIGN, T_INT64, 1, &align);
	set(x, t, A_T_VIRTUAL, T_BOOLEAN, 1, &virtual);
	set(x, t, A_T_BY_VALUE, T_BOOLEAN, 1, &by_value);
	return done(x, t);
}

/* The contract's [B,S,H,D], seen as [B,H,S,D]. */
static void *given(struct sdpa *x, int64_t uid, int64_t rows, bool transposed)
{
	int64_t dim[4] = { x->b, x->h, rows, x->d };
	int64_t stride[4] = { rows * x->h * x->d, x->d, x->h * x->d, 1 };

	if (transposed) {
		dim[2] = x->d, dim[3] = rows;
		stride[2] = 1, stride[3] = x->h * x->d;
	}
	return tensor(x, uid, HALF, dim, stride, false, false);
}

/* What exists only within the fused kernel: [B,H,S,columns]. */
static void *inner(struct sdpa *x, int64_t uid, int type, int64_t columns)
{
	const int64_t dim[4] = { x->b, x->h, x->s, columns };
	const int64_t stride[4] = { x->h * x->s * columns, x->s * columns, columns, 1 };

	return tensor(x, uid, type, dim, stride, true, false);
}

static void *matmul(struct sdpa *x, void *a, void *b, void *c)
{
	void *m = make(x, D_MATMUL), *op;

	set_int(x, m, A_MATMUL_COMP, T_DATA_TYPE, FLOAT);
	done(x, m);
	op = make(x, D_OP_MATMUL);
	set_desc(x, op, A_OP_MM_A, a);
	set_desc(x, op, A_OP_MM_B, b);
	set_desc(x, op, A_OP_MM_C, c);
	set_desc(x, op, A_OP_MM_DESC, m);
	return done(x, op);
}

static void *pointwise(struct sdpa *x, int mode, void *a, void *b, void *y)
{
	void *p = make(x, D_POINTWISE), *op;

	set_int(x, p, A_POINTWISE_MODE, T_POINTWISE_MODE, mode);
	set_int(x, p, A_POINTWISE_PREC, T_DATA_TYPE, FLOAT);
	done(x, p);
	op = make(x, D_OP_POINTWISE);
	set_desc(x, op, A_PW_DESC, p);
	set_desc(x, op, A_PW_X, a);
	if (b)
		set_desc(x, op, A_PW_B, b);
	set_desc(x, op, A_PW_Y, y);
	return done(x, op);
}

static void *reduce(struct sdpa *x, int operator, void *a, void *y)
{
	void *r = make(x, D_REDUCTION), *op;

	set_int(x, r, A_RED_OPERATOR, T_REDUCTION, operator);
	set_int(x, r, A_RED_COMP, T_DATA_TYPE, FLOAT);
	done(x, r);
	op = make(x, D_OP_REDUCTION);
	set_desc(x, op, A_OP_RED_X, a);
	set_desc(x, op, A_OP_RED_Y, y);
	set_desc(x, op, A_OP_RED_DESC, r);
	return done(x, op);
}

static void *graph_of(struct sdpa *x, void **ops, int64_t n)
{
	void *g = make(x, D_GRAPH);

	set(x, g, A_GRAPH_OPS, T_DESCRIPTOR, n, ops);
	set(x, g, A_GRAPH_HANDLE, T_HANDLE, 1, &x->handle);
	return done(x, g);
}

static void *graph(struct sdpa *x)
{
	const int64_t one[4] = { 1, 1, 1, 1 };
	void *q = given(x, UID_Q, x->s, false), *k = given(x, UID_K, x->t, true);
	void *v = given(x, UID_V, x->t, false), *o = given(x, UID_O, x->s, false);
	void *scale = tensor(x, UID_SCALE, FLOAT, one, one, false, true);
	void *s = inner(x, UID_S, FLOAT, x->t), *scaled = inner(x, UID_SCALED, FLOAT, x->t);
	void *max = inner(x, UID_MAX, FLOAT, 1), *sub = inner(x, UID_SUB, FLOAT, x->t);
	void *e = inner(x, UID_EXP, FLOAT, x->t), *sum = inner(x, UID_SUM, FLOAT, 1);
	void *p = inner(x, UID_P, HALF, x->t);
	void *ops[8];

	ops[0] = matmul(x, q, k, s);
	ops[1] = pointwise(x, PW_MUL, s, scale, scaled);
	ops[2] = reduce(x, RED_MAX, scaled, max);
	ops[3] = pointwise(x, PW_SUB, scaled, max, sub);
	ops[4] = pointwise(x, PW_EXP, sub, NULL, e);
	ops[5] = reduce(x, RED_ADD, e, sum);
	ops[6] = pointwise(x, PW_DIV, e, sum, p);
	ops[7] = matmul(x, p, v, o);
	return graph_of(x, ops, 8);
}

/* -- a plan ------------------------------------------------------------------------- */

static bool make_plan(struct sdpa *x, void *config, int64_t *workspace)
{
	int64_t got = 0;

	x->rc = 0;
	x->plan = make(x, D_PLAN);
	set(x, x->plan, A_PLAN_HANDLE, T_HANDLE, 1, &x->handle);
	set_desc(x, x->plan, A_PLAN_CONFIG, config);
	done(x, x->plan);
	return !x->rc && !x->get(x->plan, A_PLAN_WORKSPACE, T_INT64, 1, &got, workspace);
}

/* The best of the library's own heuristics that it can carry out. */
static int plan_of(struct sdpa *x, void *g, const struct kl_gpu_device *d)
{
	void *h = make(x, D_HEUR), *config[MAX_CONFIGS];
	int64_t n = 0, workspace = 0;

	set_desc(x, h, A_HEUR_GRAPH, g);
	set_int(x, h, A_HEUR_MODE, T_HEUR_MODE, MODE_A);
	done(x, h);
	for (int i = 0; i < MAX_CONFIGS; i++)
		config[i] = make(x, D_ENGINECFG);
	if (!x->rc)
		x->rc = x->get(h, A_HEUR_RESULTS, T_DESCRIPTOR, MAX_CONFIGS, &n, config);
	if (x->rc)
		return kl_error(KL_ECANNOT, "cuDNN takes no such graph: status %d", x->rc);
	for (int64_t i = 0; i < n; i++)
		if (make_plan(x, config[i], &workspace)) {
			x->room = kl_gpu_baseline_memory(d, workspace > 0 ? (uint64_t)workspace : 16);
			return x->room ? 0 : kl_error(KL_ECANNOT, "no memory for cuDNN");
		}
	return kl_error(KL_ECANNOT, "cuDNN has no kernel for it (%lld tried): status %d", (long long)n, x->rc);
}

static int run(struct kl_gpu_baseline *b, const uint64_t *at)
{
	struct sdpa *x = b->state;
	const int64_t uid[5] = { UID_Q, UID_K, UID_V, UID_O, UID_SCALE };
	void *p[5] = { (void *)(uintptr_t)at[x->q], (void *)(uintptr_t)at[x->k],
		       (void *)(uintptr_t)at[x->v], (void *)(uintptr_t)at[x->o], &x->scale };
	void *room = (void *)(uintptr_t)x->room, *pack;

	x->rc = 0;
	pack = make(x, D_PACK);
	set(x, pack, A_PACK_POINTERS, T_VOID_PTR, 5, p);
	set(x, pack, A_PACK_UIDS, T_INT64, 5, uid);
	set(x, pack, A_PACK_WORKSPACE, T_VOID_PTR, 1, &room);
	done(x, pack);
	if (!x->rc)
		x->rc = x->execute(x->handle, x->plan, pack);
	if (pack)
		x->destroy_desc(pack);
	return x->rc;
}

/* -- opening -------------------------------------------------------------------------- */

static int fit(struct sdpa *x, const struct kl_gpu_baseline_spec *s)
{
	const int64_t *q, *k, *v, *o;

	x->q = kl_gpu_baseline_tensor(s, false, 0, 4);
	x->k = kl_gpu_baseline_tensor(s, false, 1, 4);
	x->v = kl_gpu_baseline_tensor(s, false, 2, 4);
	x->o = kl_gpu_baseline_tensor(s, true, 0, 4);
	if (x->q < 0 || x->k < 0 || x->v < 0 || x->o < 0 || s->arg[x->q].dtype != KL_F16 ||
	    s->arg[x->k].dtype != KL_F16 || s->arg[x->v].dtype != KL_F16 || s->arg[x->o].dtype != KL_F16)
		return kl_error(KL_ECANNOT, "needs f16 in q, k, v and out o of four axes");
	q = s->arg[x->q].extent, k = s->arg[x->k].extent, v = s->arg[x->v].extent, o = s->arg[x->o].extent;
	x->b = q[0], x->s = q[1], x->t = k[1], x->h = q[2], x->d = q[3];
	for (int i = 0; i < 4; i++)
		if (k[i] != v[i] || o[i] != q[i] || (i != 1 && k[i] != q[i]))
			return kl_error(KL_ECANNOT, "needs q, o [B,S,H,D] and k, v [B,T,H,D]");
	x->scale = 1 / sqrtf((float)x->d);
	return 0;
}

static int load(struct sdpa *x)
{
	static const char *const names[] = { "libcudnn.so.9", NULL };
	static const char *const compiler[] = { "libnvrtc.so.13", "libnvrtc.so.12", NULL };
	const struct kl_gpu_symbol symbols[] = {
		{ (void **)&x->create, "cudnnCreate" },
		{ (void **)&x->destroy, "cudnnDestroy" },
		{ (void **)&x->set_stream, "cudnnSetStream" },
		{ (void **)&x->version, "cudnnGetVersion" },
		{ (void **)&x->make, "cudnnBackendCreateDescriptor" },
		{ (void **)&x->destroy_desc, "cudnnBackendDestroyDescriptor" },
		{ (void **)&x->set, "cudnnBackendSetAttribute" },
		{ (void **)&x->get, "cudnnBackendGetAttribute" },
		{ (void **)&x->finalize, "cudnnBackendFinalize" },
		{ (void **)&x->execute, "cudnnBackendExecute" },
	};
	void *lib;
	int err;

	/* its fused kernels are compiled by a library that it looks for by name only */
	kl_gpu_baseline_library(&lib, compiler);
	err = kl_gpu_baseline_library(&lib, names);
	return err < 0 ? err : kl_gpu_baseline_symbols(lib, symbols, KL_ARRAY_SIZE(symbols));
}

static void close_sdpa(struct kl_gpu_baseline *b)
{
	struct sdpa *x = b->state;

	if (x->handle)
		x->destroy(x->handle);
	free(x);
}

int kl_gpu_baseline_sdpa(struct kl_gpu_baseline *b, const struct kl_gpu_baseline_spec *spec,
			 const uint64_t *at)
{
	struct sdpa *x = b->state = kl_calloc(1, sizeof(*x));
	int err, rc;

	b->close = close_sdpa;
	b->run = run;
	if ((err = fit(x, spec)) < 0 || (err = load(x)) < 0)
		return err;
	if ((rc = x->create(&x->handle)) || (rc = x->set_stream(x->handle, b->device->stream)))
		return kl_error(KL_ECANNOT, "cuDNN cannot start: status %d", rc);
	if ((err = plan_of(x, graph(x), b->device)) < 0)
		return err;
	snprintf(b->what, sizeof(b->what), "cuDNN %zu, graph", x->version());
	if ((rc = run(b, at)))
		return kl_error(KL_ECANNOT, "cuDNN refuses it: status %d", rc);
	return 0;
}
