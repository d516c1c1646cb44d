/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_cublas - baseline cublas.gemm */
#include "worker/gpu/baseline.h"

#include <stdio.h>

#include "base/error.h"
#include "job/job.h"

/* cuBLAS's binary interface, as far as it is used. */
enum { OP_N = 0, OP_T = 1, R_16F = 2, R_16BF = 14, COMPUTE_32F = 68, GEMM_DEFAULT = -1 };

/* What PyTorch gives it on Hopper, which is what published numbers were taken with. */
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

/* Row-major C = A B^T is column-major C^T = B A^T: their "TN". */
static int run_gemm(struct kl_gpu_baseline *b, const uint64_t *at)
{
	const struct cublas *x = b->state;
	const float one = 1, zero = 0;

	return x->gemm(x->handle, OP_T, OP_N, x->n, x->m, x->k, &one, (void *)(uintptr_t)at[x->b],
		       x->type, x->k, (void *)(uintptr_t)at[x->a], x->type, x->k, &zero,
		       (void *)(uintptr_t)at[x->c], x->type, x->n, COMPUTE_32F, GEMM_DEFAULT);
}

static void close_cublas(struct kl_gpu_baseline *b)
{
	struct cublas *x = b->state;

	if (x->handle)
		x->destroy(x->handle);
	free(x);
}

static int fit_spec(struct cublas *x, const struct kl_gpu_baseline_spec *s)
{
	const struct kl_gpu_baseline_arg *a, *b, *c;

	x->a = kl_gpu_baseline_tensor(s, false, 0, 2);
	x->b = kl_gpu_baseline_tensor(s, false, 1, 2);
	x->c = kl_gpu_baseline_tensor(s, true, 0, 2);
	if (x->a < 0 || x->b < 0 || x->c < 0)
		return kl_error(KL_ECANNOT, "needs matrices in A, B and out C");
	a = &s->arg[x->a], b = &s->arg[x->b], c = &s->arg[x->c];
	if ((a->dtype != KL_BF16 && a->dtype != KL_F16) || b->dtype != a->dtype ||
	    c->dtype != a->dtype)
		return kl_error(KL_ECANNOT, "needs A, B and C in bf16 or in f16");
	if (a->extent[1] != b->extent[1] || c->extent[0] != a->extent[0] ||
	    c->extent[1] != b->extent[0] || a->extent[0] > INT32_MAX || a->extent[1] > INT32_MAX ||
	    b->extent[0] > INT32_MAX)
		return kl_error(KL_ECANNOT, "needs A [M,K], B [N,K], C [M,N]");
	x->type = a->dtype == KL_BF16 ? R_16BF : R_16F;
	x->m = (int)a->extent[0], x->n = (int)b->extent[0], x->k = (int)a->extent[1];
	return 0;
}

static int load_cublas(struct cublas *x)
{
	static const char *const names[] = { "libcublas.so.13", "libcublas.so.12", NULL };
	const struct kl_gpu_symbol symbols[] = {
		{ (void **)&x->create, "cublasCreate_v2" },
		{ (void **)&x->destroy, "cublasDestroy_v2" },
		{ (void **)&x->set_stream, "cublasSetStream_v2" },
		{ (void **)&x->set_workspace, "cublasSetWorkspace_v2" },
		{ (void **)&x->get_version, "cublasGetVersion_v2" },
		{ (void **)&x->gemm, "cublasGemmEx" },
	};
	void *lib;
	int err = kl_gpu_baseline_library(&lib, names);

	return err < 0 ? err : kl_gpu_baseline_symbols(lib, symbols, KL_ARRAY_SIZE(symbols));
}

int kl_gpu_baseline_cublas(struct kl_gpu_baseline *b, const struct kl_gpu_baseline_spec *spec,
			   const uint64_t *at)
{
	struct cublas *x = b->state = kl_calloc(1, sizeof(*x));
	uint64_t room;
	int err, version = 0, rc;

	b->close = close_cublas;
	b->run = run_gemm;
	if ((err = fit_spec(x, spec)) < 0 || (err = load_cublas(x)) < 0)
		return err;
	room = kl_gpu_baseline_memory(b->device, WORKSPACE);
	if ((rc = x->create(&x->handle)) || (rc = x->set_stream(x->handle, b->device->stream)) ||
	    !room || (rc = x->set_workspace(x->handle, (void *)(uintptr_t)room, WORKSPACE)))
		return kl_error(KL_ECANNOT, "cuBLAS cannot start: status %d", rc);
	x->get_version(x->handle, &version);
	snprintf(b->what, sizeof(b->what), "cuBLAS %d", version);
	if ((rc = run_gemm(b, at)))
		return kl_error(KL_ECANNOT, "cuBLAS refuses it: status %d", rc);
	return 0;
}
