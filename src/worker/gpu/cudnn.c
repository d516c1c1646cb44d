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
	uint64_t workspace, workspace_bytes;
	int rc; /* the library's first nonzero status; 0 if there is no failure so far */
};

/* -- creation and release --------------------------------------------------------- */

static int load_cudnn(struct kl_cudnn *cudnn)
{
	static const char *const names[] = { "libcudnn.so.9", NULL };
	static const char *const compiler[] = { "libnvrtc.so.13", "libnvrtc.so.12", NULL };
	const struct kl_gpu_symbol symbols[] = {
		{ (void **)&cudnn->create, "cudnnCreate" },
		{ (void **)&cudnn->destroy, "cudnnDestroy" },
		{ (void **)&cudnn->set_stream, "cudnnSetStream" },
		{ (void **)&cudnn->version, "cudnnGetVersion" },
		{ (void **)&cudnn->make, "cudnnBackendCreateDescriptor" },
		{ (void **)&cudnn->unmake, "cudnnBackendDestroyDescriptor" },
		{ (void **)&cudnn->set, "cudnnBackendSetAttribute" },
		{ (void **)&cudnn->get, "cudnnBackendGetAttribute" },
		{ (void **)&cudnn->finalize, "cudnnBackendFinalize" },
		{ (void **)&cudnn->execute, "cudnnBackendExecute" },
	};
	void *lib;
	int err;

	/*
	 * cuDNN opens NVRTC, which compiles fused kernels, by its name only. Open NVRTC first,
	 * since it can be in a directory that the loader does not search.
	 */
	if (kl_gpu_baseline_library(&lib, compiler) < 0)
		kl_error_clear();
	err = kl_gpu_baseline_library(&lib, names);
	return err < 0 ? err : kl_gpu_baseline_symbols(lib, symbols, KL_ARRAY_SIZE(symbols));
}

int kl_cudnn_open(struct kl_cudnn **out, const struct kl_gpu_device *device)
{
	struct kl_cudnn *cudnn = *out = kl_calloc(1, sizeof(*cudnn));
	int err, rc;

	cudnn->device = device;
	if ((err = load_cudnn(cudnn)) < 0)
		return err;
	if ((rc = cudnn->create(&cudnn->handle)) ||
	    (rc = cudnn->set_stream(cudnn->handle, device->stream)))
		return kl_error(KL_ECANNOT, "cannot start cuDNN: status %d", rc);
	return 0;
}

/* Free everything but the descriptors; the process ends soon anyway. */
void kl_cudnn_free(struct kl_cudnn *cudnn)
{
	if (cudnn && cudnn->handle)
		cudnn->destroy(cudnn->handle);
	free(cudnn);
}

size_t kl_cudnn_version(const struct kl_cudnn *cudnn)
{
	return cudnn->version();
}

/* -- descriptors ------------------------------------------------------------------- */

void *kl_cudnn_make(struct kl_cudnn *cudnn, enum kl_cudnn_kind kind)
{
	void *desc = NULL;

	if (!cudnn->rc)
		cudnn->rc = cudnn->make((int)kind, &desc);
	return desc;
}

void kl_cudnn_set(struct kl_cudnn *cudnn, void *desc, int attribute, enum kl_cudnn_type type,
		  int64_t n, const void *data)
{
	if (!cudnn->rc)
		cudnn->rc = cudnn->set(desc, attribute, (int)type, n, data);
}

void kl_cudnn_set_int(struct kl_cudnn *cudnn, void *desc, int attribute, enum kl_cudnn_type type,
		      int value)
{
	kl_cudnn_set(cudnn, desc, attribute, type, 1, &value);
}

void kl_cudnn_set_desc(struct kl_cudnn *cudnn, void *desc, int attribute, void *value)
{
	kl_cudnn_set(cudnn, desc, attribute, KL_CUDNN_T_DESCRIPTOR, 1, &value);
}

void *kl_cudnn_done(struct kl_cudnn *cudnn, void *desc)
{
	if (!cudnn->rc)
		cudnn->rc = cudnn->finalize(desc);
	return desc;
}

void *kl_cudnn_tensor(struct kl_cudnn *cudnn, int64_t uid, int type, const int64_t dim[4],
		      const int64_t stride[4], enum kl_cudnn_use use)
{
	void *tensor = kl_cudnn_make(cudnn, KL_CUDNN_TENSOR);
	bool by_value = use == KL_CUDNN_BY_VALUE;
	int64_t align = by_value ? 4 : 16;

	kl_cudnn_set_int(cudnn, tensor, A_T_TYPE, KL_CUDNN_T_DATA_TYPE, type);
	kl_cudnn_set(cudnn, tensor, A_T_DIMS, KL_CUDNN_T_INT64, 4, dim);
	kl_cudnn_set(cudnn, tensor, A_T_STRIDES, KL_CUDNN_T_INT64, 4, stride);
	kl_cudnn_set(cudnn, tensor, A_T_UID, KL_CUDNN_T_INT64, 1, &uid);
	kl_cudnn_set(cudnn, tensor, A_T_ALIGN, KL_CUDNN_T_INT64, 1, &align);
	kl_cudnn_set(cudnn, tensor, A_T_BY_VALUE, KL_CUDNN_T_BOOLEAN, 1, &by_value);
	return kl_cudnn_done(cudnn, tensor);
}

/* -- running the plan ---------------------------------------------------------------- */

int kl_cudnn_run(struct kl_cudnn *cudnn, const struct kl_cudnn_pack *pack)
{
	void *workspace = (void *)(uintptr_t)cudnn->workspace, *desc;

	cudnn->rc = 0;
	desc = kl_cudnn_make(cudnn, KL_CUDNN_PACK);
	kl_cudnn_set(cudnn, desc, A_PACK_POINTERS, KL_CUDNN_T_VOID_PTR, pack->n, pack->at);
	kl_cudnn_set(cudnn, desc, A_PACK_UIDS, KL_CUDNN_T_INT64, pack->n, pack->uid);
	kl_cudnn_set(cudnn, desc, A_PACK_WORKSPACE, KL_CUDNN_T_VOID_PTR, 1, &workspace);
	kl_cudnn_done(cudnn, desc);
	if (!cudnn->rc)
		cudnn->rc = cudnn->execute(cudnn->handle, cudnn->plan, desc);
	if (desc)
		cudnn->unmake(desc);
	return cudnn->rc;
}

/* -- choosing an engine ---------------------------------------------------------------- */

/*
 * Return false if this engine is known to transform its inputs (Winograd, Fourier) instead of
 * summing products directly.
 */
static bool sums_products(struct kl_cudnn *cudnn, void *config)
{
	void *engine = kl_cudnn_make(cudnn, KL_CUDNN_ENGINE);
	int note[MAX_NOTES];
	int64_t n = 0;

	if (cudnn->rc ||
	    cudnn->get(config, A_ENGINECFG_ENGINE, KL_CUDNN_T_DESCRIPTOR, 1, &n, &engine) ||
	    cudnn->get(engine, A_ENGINE_NOTES, KL_CUDNN_T_NOTE, MAX_NOTES, &n, note))
		return true; /* not known, so keep the engine: its answers are judged */
	for (int64_t i = 0; i < n && i < MAX_NOTES; i++)
		if (note[i] == NOTE_FFT ||
		    (note[i] >= NOTE_WINOGRAD && note[i] <= NOTE_WINOGRAD_LAST))
			return false;
	return true;
}

/* Make a plan for an engine and allocate its workspace; NULL if that is not possible. */
static void *make_plan(struct kl_cudnn *cudnn, void *config)
{
	int64_t got = 0, bytes = 0;
	void *plan;

	cudnn->rc = 0;
	plan = kl_cudnn_make(cudnn, KL_CUDNN_PLAN);
	kl_cudnn_set(cudnn, plan, A_PLAN_HANDLE, KL_CUDNN_T_HANDLE, 1, &cudnn->handle);
	kl_cudnn_set_desc(cudnn, plan, A_PLAN_CONFIG, config);
	kl_cudnn_done(cudnn, plan);
	if (cudnn->rc || cudnn->get(plan, A_PLAN_WORKSPACE, KL_CUDNN_T_INT64, 1, &got, &bytes) ||
	    bytes > MAX_WORKSPACE)
		return NULL;
	if (cudnn->workspace && (uint64_t)bytes <= cudnn->workspace_bytes)
		return plan;
	cudnn->workspace_bytes = bytes > 16 ? (uint64_t)bytes : 16;
	cudnn->workspace = kl_gpu_baseline_memory(cudnn->device, cudnn->workspace_bytes);
	return cudnn->workspace ? plan : NULL;
}

/*
 * Run the plan a few times. Return the least time of a run in ms; INFINITY if the first run fails.
 */
static double try_engine(struct kl_cudnn *cudnn, const struct kl_cudnn_pack *pack)
{
	const struct kl_gpu_driver *cu = cudnn->device->cu;
	struct kl_cu_event *from = NULL, *to = NULL;
	double least = INFINITY;
	float ms;

	if (cu->event_create(&from, 0) || cu->event_create(&to, 0))
		return least;
	for (int i = 0; i < TRIES; i++) {
		cu->event_record(from, cudnn->device->stream);
		if (kl_cudnn_run(cudnn, pack))
			break;
		cu->event_record(to, cudnn->device->stream);
		if (cu->stream_sync(cudnn->device->stream) || cu->event_ms(&ms, from, to))
			break;
		least = fmin(least, ms);
	}
	cu->event_destroy(from);
	cu->event_destroy(to);
	return least;
}

int kl_cudnn_choose(struct kl_cudnn *cudnn, void **ops, int64_t nops,
		    const struct kl_cudnn_pack *pack)
{
	void *graph = kl_cudnn_make(cudnn, KL_CUDNN_GRAPH), *heuristics, *config[MAX_ENGINES],
	     *best = NULL;
	double least = INFINITY;
	int64_t n = 0;

	kl_cudnn_set(cudnn, graph, A_GRAPH_OPS, KL_CUDNN_T_DESCRIPTOR, nops, ops);
	kl_cudnn_set(cudnn, graph, A_GRAPH_HANDLE, KL_CUDNN_T_HANDLE, 1, &cudnn->handle);
	kl_cudnn_done(cudnn, graph);
	heuristics = kl_cudnn_make(cudnn, KL_CUDNN_HEUR);
	kl_cudnn_set_desc(cudnn, heuristics, A_HEUR_GRAPH, graph);
	kl_cudnn_set_int(cudnn, heuristics, A_HEUR_MODE, KL_CUDNN_T_HEUR_MODE, HEUR_A);
	kl_cudnn_done(cudnn, heuristics);
	for (int i = 0; i < MAX_ENGINES; i++)
		config[i] = kl_cudnn_make(cudnn, KL_CUDNN_ENGINECFG);
	if (!cudnn->rc)
		cudnn->rc = cudnn->get(heuristics, A_HEUR_RESULTS, KL_CUDNN_T_DESCRIPTOR,
				       MAX_ENGINES, &n, config);
	if (cudnn->rc)
		return kl_error(KL_ECANNOT, "cuDNN refuses the graph: status %d", cudnn->rc);
	for (int64_t i = 0; i < n && i < MAX_ENGINES; i++) {
		double ms;

		if (!sums_products(cudnn, config[i]) ||
		    !(cudnn->plan = make_plan(cudnn, config[i])))
			continue;
		ms = try_engine(cudnn, pack);
		if (ms < least)
			best = cudnn->plan;
		least = fmin(least, ms);
	}
	cudnn->plan = best;
	if (!best)
		return kl_error(KL_ECANNOT,
				"cuDNN has no kernel for the operation (%lld tried): status %d",
				(long long)n, cudnn->rc);
	return 0;
}
