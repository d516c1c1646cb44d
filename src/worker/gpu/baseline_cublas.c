/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_cublas - baseline cublas.gemm, matrix multiplication */
#include "worker/gpu/baseline.h"

#include <stdio.h>

#include "base/error.h"
#include "job/job.h"

/* Values of cuBLAS's binary interface. */
enum { OP_N = 0, OP_T = 1, R_16F = 2, R_16BF = 14, COMPUTE_32F = 68, GEMM_DEFAULT = -1 };

/*
 * Size of the workspace in bytes: that of PyTorch on Hopper, with which published times were
 * measured.
 */
#define WORKSPACE ((uint64_t)32 << 20)

struct cublas {
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	int (*set_stream)(void *handle, struct kl_cu_stream *s);
	int (*set_workspace)(void *handle, void *at, size_t bytes);
	int (*get_version)(void *handle, int *version);
	int (*gemm)(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
		    const void *a, int at, int lda, const void *b, int bt, int ldb,
		    const void *beta, void *c, int ct, int ldc, int compute, int algo);
	void *handle;
	int type, m, n, k, a, b, c;
};

/*
 * Compute C = A B^T. For cuBLAS, which is column-major, this is C^T = B A^T; cuBLAS calls this case
 * "TN".
 */
static int run_gemm(struct kl_gpu_baseline *baseline, const uint64_t *at)
{
	const struct cublas *cublas = baseline->state;
	const float one = 1, zero = 0;

	return cublas->gemm(cublas->handle, OP_T, OP_N, cublas->n, cublas->m, cublas->k, &one,
			    (void *)(uintptr_t)at[cublas->b], cublas->type, cublas->k,
			    (void *)(uintptr_t)at[cublas->a], cublas->type, cublas->k, &zero,
			    (void *)(uintptr_t)at[cublas->c], cublas->type, cublas->n, COMPUTE_32F,
			    GEMM_DEFAULT);
}

static void close_cublas(struct kl_gpu_baseline *baseline)
{
	struct cublas *cublas = baseline->state;

	if (cublas->handle)
		cublas->destroy(cublas->handle);
	free(cublas);
}

static int fit_spec(struct cublas *cublas, const struct kl_gpu_baseline_spec *spec)
{
	const struct kl_gpu_baseline_arg *a, *b, *c;

	cublas->a = kl_gpu_baseline_tensor(spec, false, 0, 2);
	cublas->b = kl_gpu_baseline_tensor(spec, false, 1, 2);
	cublas->c = kl_gpu_baseline_tensor(spec, true, 0, 2);
	if (cublas->a < 0 || cublas->b < 0 || cublas->c < 0)
		return kl_error(KL_ECANNOT, "needs matrices: inputs A and B, output C");
	a = &spec->arg[cublas->a], b = &spec->arg[cublas->b], c = &spec->arg[cublas->c];
	if ((a->dtype != KL_BF16 && a->dtype != KL_F16) || b->dtype != a->dtype ||
	    c->dtype != a->dtype)
		return kl_error(KL_ECANNOT, "needs A, B and C all in bf16 or all in f16");
	if (a->extent[1] != b->extent[1] || c->extent[0] != a->extent[0] ||
	    c->extent[1] != b->extent[0] || a->extent[0] > INT32_MAX || a->extent[1] > INT32_MAX ||
	    b->extent[0] > INT32_MAX)
		return kl_error(KL_ECANNOT, "needs A [M,K], B [N,K], C [M,N]");
	cublas->type = a->dtype == KL_BF16 ? R_16BF : R_16F;
	cublas->m = (int)a->extent[0], cublas->n = (int)b->extent[0], cublas->k = (int)a->extent[1];
	return 0;
}

static int load_cublas(struct cublas *cublas)
{
	static const char *const names[] = { "libcublas.so.13", "libcublas.so.12", NULL };
	const struct kl_gpu_symbol symbols[] = {
		{ (void **)&cublas->create, "cublasCreate_v2" },
		{ (void **)&cublas->destroy, "cublasDestroy_v2" },
		{ (void **)&cublas->set_stream, "cublasSetStream_v2" },
		{ (void **)&cublas->set_workspace, "cublasSetWorkspace_v2" },
		{ (void **)&cublas->get_version, "cublasGetVersion_v2" },
		{ (void **)&cublas->gemm, "cublasGemmEx" },
	};
	void *lib;
	int err = kl_gpu_baseline_library(&lib, names);

	return err < 0 ? err : kl_gpu_baseline_symbols(lib, symbols, KL_ARRAY_SIZE(symbols));
}

int kl_gpu_baseline_cublas(struct kl_gpu_baseline *baseline,
			   const struct kl_gpu_baseline_spec *spec, const uint64_t *at)
{
	struct cublas *cublas = baseline->state = kl_calloc(1, sizeof(*cublas));
	uint64_t workspace;
	int err, version = 0, rc;

	baseline->close = close_cublas;
	baseline->run = run_gemm;
	if ((err = fit_spec(cublas, spec)) < 0 || (err = load_cublas(cublas)) < 0)
		return err;
	workspace = kl_gpu_baseline_memory(baseline->device, WORKSPACE);
	if ((rc = cublas->create(&cublas->handle)) ||
	    (rc = cublas->set_stream(cublas->handle, baseline->device->stream)) || !workspace ||
	    (rc = cublas->set_workspace(cublas->handle, (void *)(uintptr_t)workspace, WORKSPACE)))
		return kl_error(KL_ECANNOT, "cannot start cuBLAS: status %d", rc);
	cublas->get_version(cublas->handle, &version);
	snprintf(baseline->what, sizeof(baseline->what), "cuBLAS %d", version);
	if ((rc = run_gemm(baseline, at)))
		return kl_error(KL_ECANNOT, "cuBLAS refuses the multiplication: status %d", rc);
	return 0;
}
