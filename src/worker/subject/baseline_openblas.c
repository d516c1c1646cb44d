/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_openblas - the baseline openblas.sgemm */
#include "worker/subject/baseline.h"

#include <dlfcn.h>
#include <limits.h>

#include "base/error.h"

/*
 * The part of CBLAS that we use. It is declared here, so that no header is needed. This is safe,
 * because its ABI has not changed since 1998.
 */
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };
typedef void (*sgemm_fn)(int order, int ta, int tb, int m, int n, int k, float alpha,
			 const float *a, int lda, const float *b, int ldb, float beta, float *c,
			 int ldc);

struct sgemm {
	sgemm_fn fn;
	int m, n, k;
	const float *a, *b;
	float *c;
};

static void run_gemm(void *state)
{
	struct sgemm *sgemm = state;

	sgemm->fn(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, sgemm->m, sgemm->n, sgemm->k, 1.0f,
		  sgemm->a, sgemm->k, sgemm->b, sgemm->n, 0.0f, sgemm->c, sgemm->n);
}

static int load_openblas(sgemm_fn *out)
{
	void *lib = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		lib = dlopen("libopenblas.so", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return kl_error(KL_ECANNOT,
				"OpenBLAS is not installed (libopenblas.so.0); run `make deps`");
	*(void **)out = dlsym(lib, "cblas_sgemm");
	if (!*out)
		return kl_error(KL_ECANNOT, "the installed OpenBLAS has no function cblas_sgemm");
	return 0;
}

int kl_baseline_openblas_sgemm(struct kl_baseline_call *out, const struct kl_wire *wire,
			       void *const *data)
{
	struct sgemm *sgemm = kl_calloc(1, sizeof(*sgemm)); /* lives as long as the process */
	int64_t dim[3];
	int a = kl_baseline_arg(wire, KL_ARG_IN, 0), b = kl_baseline_arg(wire, KL_ARG_IN, 1);
	int c = kl_baseline_arg(wire, KL_ARG_OUT, 0), err;

	for (int i = 0; i < 3; i++) {
		int at = kl_baseline_arg(wire, KL_ARG_DIM, i);

		if (at < 0)
			return kl_error(KL_ECANNOT, "needs three dims, in the order M N K");
		dim[i] = wire->arg[KL_WIRE_MAIN][at].extent[0];
		if (dim[i] < 1 || dim[i] > INT_MAX)
			return kl_error(KL_ECANNOT, "every dim must be from 1 to %d", INT_MAX);
	}
	if (wire->nargs != 6 || !kl_baseline_f32(wire, a, (int64_t[]){ dim[0], dim[2] }, 2) ||
	    !kl_baseline_f32(wire, b, (int64_t[]){ dim[2], dim[1] }, 2) ||
	    !kl_baseline_f32(wire, c, (int64_t[]){ dim[0], dim[1] }, 2))
		return kl_error(KL_ECANNOT,
				"needs two inputs, f32 [M,K] and [K,N], an output, f32 [M,N], "
				"and no other argument");
	if ((err = load_openblas(&sgemm->fn)) < 0)
		return err;
	sgemm->m = (int)dim[0];
	sgemm->n = (int)dim[1];
	sgemm->k = (int)dim[2];
	sgemm->a = data[a];
	sgemm->b = data[b];
	sgemm->c = data[c];
	*out = (struct kl_baseline_call){ .run = run_gemm, .state = sgemm };
	return 0;
}
