/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/cudnn.h"

#include <math.h>

#include "base/error.h"

enum {
	A_HEUR_MODE = 200,
	A_HEUR_GRAPH = 201,
	A_HEUR_RESULTS = 202,
	A_ENGINECFG_ENGINE = 300,
	A_ENGINE_NOTES = 1303,
	A_PLAN_HANDLE = 400,
	A_PLAN_CONFIG = 401,
	A_PLAN_WORKSPACE = 402,
	A_GRAPH_HANDLE = 800,
	A_GRAPH_OPS = 801,
	A_T_ALIGN = 900,
	A_T_TYPE = 901,
	A_T_DIMS = 902,
	A_T_STRIDES = 903,
	A_T_UID = 906,
	A_T_BY_VALUE = 908,
	A_PACK_UIDS = 1000,
	A_PACK_POINTERS = 1001,
	A_PACK_WORKSPACE = 1003,
};
enum { HEUR_A = 3, NOTE_FFT = 3, NOTE_WINOGRAD = 5, NOTE_WINOGRAD_LAST = 8 };

#define MAX_ENGINES 12
#define MAX_NOTES 16
#define MAX_WORKSPACE ((int64_t)1 << 30)
#define TRIES 5

struct kl_cudnn {
	const struct kl_gpu_device *device;
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	int (*set_stream)(void *handle, struct kl_cu_stream *s);
	size_t (*version)(void);
	int (*make)(int type, void **d);
	int (*unmake)(void *d);
	int (*set)(void *d, int attribute, int type, int64_t n, const void *v);
	int (*get)(void *d, int attribute, int type, int64_t asked, int64_t *got, void *v);
	int (*finalize)(void *d);
	int (*execute)(void *handle, void *plan, void *pack);
	void *handle, *plan;
	uint64_t room, nroom;
	int rc; /* the first status that was not 0 */
};

/* -- life ------------------------------------------------------------------------- */

static int load_cudnn(struct kl_cudnn *x)
{
	static const char *const names[] = { "libcudnn.so.9", NULL };
	static const char *const compiler[] = { "libnvrtc.so.13", "libnvrtc.so.12", NULL };
	const struct kl_gpu_symbol symbols[] = {
		{ (void **)&x->create, "cudnnCreate" },
		{ (void **)&x->destroy, "cudnnDestroy" },
		{ (void **)&x->set_stream, "cudnnSetStream" },
		{ (void **)&x->version, "cudnnGetVersion" },
		{ (void **)&x->make, "cudnnBackendCreateDescriptor" },
		{ (void **)&x->unmake, "cudnnBackendDestroyDescriptor" },
		{ (void **)&x->set, "cudnnBackendSetAttribute" },
		{ (void **)&x->get, "cudnnBackendGetAttribute" },
		{ (void **)&x->finalize, "cudnnBackendFinalize" },
		{ (void **)&x->execute, "cudnnBackendExecute" },
	};
	void *lib;
	int err;

	/* its fused kernels are compiled by a library that it looks for by name only */
	if (kl_gpu_baseline_library(&lib, compiler) < 0)
		kl_error_clear();
	err = kl_gpu_baseline_library(&lib, names);
	return err < 0 ? err : kl_gpu_baseline_symbols(lib, symbols, KL_ARRAY_SIZE(symbols));
}

int kl_cudnn_open(struct kl_cudnn **out, const struct kl_gpu_device *d)
{
	struct kl_cudnn *x = *out = kl_calloc(1, sizeof(*x));
	int err, rc;

	x->device = d;
	if ((err = load_cudnn(x)) < 0)
		return err;
	if ((rc = x->create(&x->handle)) || (rc = x->set_stream(x->handle, d->stream)))
		return kl_error(KL_ECANNOT, "cuDNN cannot start: status %d", rc);
	return 0;
}

/* Descriptors are the process's, which ends soon. */
void kl_cudnn_free(struct kl_cudnn *x)
{
	if (x && x->handle)
		x->destroy(x->handle);
	free(x);
}

size_t kl_cudnn_version(const struct kl_cudnn *x)
{
	return x->version();
}

/* -- descriptors ------------------------------------------------------------------- */

void *kl_cudnn_make(struct kl_cudnn *x, enum kl_cudnn_kind kind)
{
	void *d = NULL;

	if (!x->rc)
		x->rc = x->make((int)kind, &d);
	return d;
}

void kl_cudnn_set(struct kl_cudnn *x, void *d, int attribute, enum kl_cudnn_type type, int64_t n,
		  const void *v)
{
	if (!x->rc)
		x->rc = x->set(d, attribute, (int)type, n, v);
}

void kl_cudnn_set_int(struct kl_cudnn *x, void *d, int attribute, enum kl_cudnn_type type, int v)
{
	kl_cudnn_set(x, d, attribute, type, 1, &v);
}

void kl_cudnn_set_desc(struct kl_cudnn *x, void *d, int attribute, void *v)
{
	kl_cudnn_set(x, d, attribute, KL_CUDNN_T_DESCRIPTOR, 1, &v);
}

void *kl_cudnn_done(struct kl_cudnn *x, void *d)
{
	if (!x->rc)
		x->rc = x->finalize(d);
	return d;
}

void *kl_cudnn_tensor(struct kl_cudnn *x, int64_t uid, int type, const int64_t dim[4],
		      const int64_t stride[4], enum kl_cudnn_use use)
{
	void *t = kl_cudnn_make(x, KL_CUDNN_TENSOR);
	bool by_value = use == KL_CUDNN_BY_VALUE;
	int64_t align = by_value ? 4 : 16;

	kl_cudnn_set_int(x, t, A_T_TYPE, KL_CUDNN_T_DATA_TYPE, type);
	kl_cudnn_set(x, t, A_T_DIMS, KL_CUDNN_T_INT64, 4, dim);
	kl_cudnn_set(x, t, A_T_STRIDES, KL_CUDNN_T_INT64, 4, stride);
	kl_cudnn_set(x, t, A_T_UID, KL_CUDNN_T_INT64, 1, &uid);
	kl_cudnn_set(x, t, A_T_ALIGN, KL_CUDNN_T_INT64, 1, &align);
	kl_cudnn_set(x, t, A_T_BY_VALUE, KL_CUDNN_T_BOOLEAN, 1, &by_value);
	return kl_cudnn_done(x, t);
}

/* -- running ------------------------------------------------------------------------- */

int kl_cudnn_run(struct kl_cudnn *x, const struct kl_cudnn_pack *p)
{
	void *room = (void *)(uintptr_t)x->room, *pack;

	x->rc = 0;
	pack = kl_cudnn_make(x, KL_CUDNN_PACK);
	kl_cudnn_set(x, pack, A_PACK_POINTERS, KL_CUDNN_T_VOID_PTR, p->n, p->at);
	kl_cudnn_set(x, pack, A_PACK_UIDS, KL_CUDNN_T_INT64, p->n, p->uid);
	kl_cudnn_set(x, pack, A_PACK_WORKSPACE, KL_CUDNN_T_VOID_PTR, 1, &room);
	kl_cudnn_done(x, pack);
	if (!x->rc)
		x->rc = x->execute(x->handle, x->plan, pack);
	if (pack)
		x->unmake(pack);
	return x->rc;
}

/* -- choosing ------------------------------------------------------------------------- */

static bool sums_products(struct kl_cudnn *x, void *config)
{
	void *engine = kl_cudnn_make(x, KL_CUDNN_ENGINE);
	int note[MAX_NOTES];
	int64_t n = 0;

	if (x->rc || x->get(config, A_ENGINECFG_ENGINE, KL_CUDNN_T_DESCRIPTOR, 1, &n, &engine) ||
	    x->get(engine, A_ENGINE_NOTES, KL_CUDNN_T_NOTE, MAX_NOTES, &n, note))
		return true; /* it does not say: then what it answers will */
	for (int64_t i = 0; i < n && i < MAX_NOTES; i++)
		if (note[i] == NOTE_FFT ||
		    (note[i] >= NOTE_WINOGRAD && note[i] <= NOTE_WINOGRAD_LAST))
			return false;
	return true;
}

/* A plan and the memory it works in; NULL: not for this one. */
static void *make_plan(struct kl_cudnn *x, void *config)
{
	int64_t got = 0, bytes = 0;
	void *plan;

	x->rc = 0;
	plan = kl_cudnn_make(x, KL_CUDNN_PLAN);
	kl_cudnn_set(x, plan, A_PLAN_HANDLE, KL_CUDNN_T_HANDLE, 1, &x->handle);
	kl_cudnn_set_desc(x, plan, A_PLAN_CONFIG, config);
	kl_cudnn_done(x, plan);
	if (x->rc || x->get(plan, A_PLAN_WORKSPACE, KL_CUDNN_T_INT64, 1, &got, &bytes) ||
	    bytes > MAX_WORKSPACE)
		return NULL;
	if (x->room && (uint64_t)bytes <= x->nroom)
		return plan;
	x->nroom = bytes > 16 ? (uint64_t)bytes : 16;
	x->room = kl_gpu_baseline_memory(x->device, x->nroom);
	return x->room ? plan : NULL;
}

/* The least of a few times between events, in ms. */
static double try_engine(struct kl_cudnn *x, const struct kl_cudnn_pack *p)
{
	const struct kl_gpu_driver *cu = x->device->cu;
	struct kl_cu_event *from = NULL, *to = NULL;
	double least = INFINITY;
	float ms;

	if (cu->event_create(&from, 0) || cu->event_create(&to, 0))
		return least;
	for (int i = 0; i < TRIES; i++) {
		cu->event_record(from, x->device->stream);
		if (kl_cudnn_run(x, p))
			break;
		cu->event_record(to, x->device->stream);
		if (cu->stream_sync(x->device->stream) || cu->event_ms(&ms, from, to))
			break;
		least = fmin(least, ms);
	}
	cu->event_destroy(from);
	cu->event_destroy(to);
	return least;
}

int kl_cudnn_choose(struct kl_cudnn *x, void **ops, int64_t nops, const struct kl_cudnn_pack *p)
{
	void *g = kl_cudnn_make(x, KL_CUDNN_GRAPH), *h, *config[MAX_ENGINES], *best = NULL;
	double least = INFINITY;
	int64_t n = 0;

	kl_cudnn_set(x, g, A_GRAPH_OPS, KL_CUDNN_T_DESCRIPTOR, nops, ops);
	kl_cudnn_set(x, g, A_GRAPH_HANDLE, KL_CUDNN_T_HANDLE, 1, &x->handle);
	kl_cudnn_done(x, g);
	h = kl_cudnn_make(x, KL_CUDNN_HEUR);
	kl_cudnn_set_desc(x, h, A_HEUR_GRAPH, g);
	kl_cudnn_set_int(x, h, A_HEUR_MODE, KL_CUDNN_T_HEUR_MODE, HEUR_A);
	kl_cudnn_done(x, h);
	for (int i = 0; i < MAX_ENGINES; i++)
		config[i] = kl_cudnn_make(x, KL_CUDNN_ENGINECFG);
	if (!x->rc)
		x->rc = x->get(h, A_HEUR_RESULTS, KL_CUDNN_T_DESCRIPTOR, MAX_ENGINES, &n, config);
	if (x->rc)
		return kl_error(KL_ECANNOT, "cuDNN takes no such graph: status %d", x->rc);
	for (int64_t i = 0; i < n && i < MAX_ENGINES; i++) {
		double ms;

		if (!sums_products(x, config[i]) || !(x->plan = make_plan(x, config[i])))
			continue;
		ms = try_engine(x, p);
		if (ms < least)
			best = x->plan;
		least = fmin(least, ms);
	}
	x->plan = best;
	if (!best)
		return kl_error(KL_ECANNOT, "cuDNN has no kernel for it (%lld tried): status %d",
				(long long)n, x->rc);
	return 0;
}
