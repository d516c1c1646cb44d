/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_sdpa - baseline cudnn.sdpa, attention */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "job/job.h"
#include "worker/gpu/cudnn.h"

/* cuDNN from 9.13 on has attention as a single operation; these are its attributes. */
enum { A_Q = 2800, A_K = 2801, A_V = 2802, A_O = 2803, A_SCALE = 2805 };
enum { UID_Q = 1, UID_K, UID_V, UID_O, UID_SCALE };

struct sdpa {
	struct kl_cudnn *cudnn;
	int q, k, v, o;
	int64_t b, s, t, h, d; /* batch, queries, keys, heads, head size */
	float scale;
};

/* Describe a tensor, which is [B,S,H,D] in the contract, as cuDNN's [B,H,S,D]. */
static void *make_tensor(struct sdpa *sdpa, int64_t uid, int64_t rows)
{
	const int64_t dim[4] = { sdpa->b, sdpa->h, rows, sdpa->d };
	const int64_t stride[4] = { rows * sdpa->h * sdpa->d, sdpa->d, sdpa->h * sdpa->d, 1 };

	return kl_cudnn_tensor(sdpa->cudnn, uid, KL_CUDNN_HALF, dim, stride, KL_CUDNN_GIVEN);
}

static void *make_operation(struct sdpa *sdpa)
{
	const int64_t one[4] = { 1, 1, 1, 1 };
	struct kl_cudnn *cudnn = sdpa->cudnn;
	void *q = make_tensor(sdpa, UID_Q, sdpa->s), *k = make_tensor(sdpa, UID_K, sdpa->t),
	     *v = make_tensor(sdpa, UID_V, sdpa->t);
	void *o = make_tensor(sdpa, UID_O, sdpa->s), *op;
	void *scale = kl_cudnn_tensor(cudnn, UID_SCALE, KL_CUDNN_FLOAT, one, one,
				      KL_CUDNN_BY_VALUE);

	op = kl_cudnn_make(cudnn, KL_CUDNN_OP_SDPA);
	kl_cudnn_set_desc(cudnn, op, A_Q, q);
	kl_cudnn_set_desc(cudnn, op, A_K, k);
	kl_cudnn_set_desc(cudnn, op, A_V, v);
	kl_cudnn_set_desc(cudnn, op, A_O, o);
	kl_cudnn_set_desc(cudnn, op, A_SCALE, scale);
	return kl_cudnn_done(cudnn, op);
}

static struct kl_cudnn_pack pack_of(struct sdpa *sdpa, const uint64_t *at)
{
	return (struct kl_cudnn_pack){
		.uid = { UID_Q, UID_K, UID_V, UID_O, UID_SCALE },
		.at = { (void *)(uintptr_t)at[sdpa->q], (void *)(uintptr_t)at[sdpa->k],
			(void *)(uintptr_t)at[sdpa->v], (void *)(uintptr_t)at[sdpa->o],
			&sdpa->scale },
		.n = 5,
	};
}

static int run_sdpa(struct kl_gpu_baseline *baseline, const uint64_t *at)
{
	struct sdpa *sdpa = baseline->state;
	struct kl_cudnn_pack pack = pack_of(sdpa, at);

	return kl_cudnn_run(sdpa->cudnn, &pack);
}

/* -- opening and closing --------------------------------------------------------------- */

static int fit_spec(struct sdpa *sdpa, const struct kl_gpu_baseline_spec *spec)
{
	const int64_t *q, *k, *v, *o;

	sdpa->q = kl_gpu_baseline_tensor(spec, false, 0, 4);
	sdpa->k = kl_gpu_baseline_tensor(spec, false, 1, 4);
	sdpa->v = kl_gpu_baseline_tensor(spec, false, 2, 4);
	sdpa->o = kl_gpu_baseline_tensor(spec, true, 0, 4);
	if (sdpa->q < 0 || sdpa->k < 0 || sdpa->v < 0 || sdpa->o < 0 ||
	    spec->arg[sdpa->q].dtype != KL_F16 || spec->arg[sdpa->k].dtype != KL_F16 ||
	    spec->arg[sdpa->v].dtype != KL_F16 || spec->arg[sdpa->o].dtype != KL_F16)
		return kl_error(KL_ECANNOT,
				"needs tensors of f16 with four axes: inputs q, k and v, output o");
	q = spec->arg[sdpa->q].extent, k = spec->arg[sdpa->k].extent, v = spec->arg[sdpa->v].extent,
	o = spec->arg[sdpa->o].extent;
	sdpa->b = q[0], sdpa->s = q[1], sdpa->t = k[1], sdpa->h = q[2], sdpa->d = q[3];
	for (int i = 0; i < 4; i++)
		if (k[i] != v[i] || o[i] != q[i] || (i != 1 && k[i] != q[i]))
			return kl_error(KL_ECANNOT, "needs q, o [B,S,H,D] and k, v [B,T,H,D]");
	sdpa->scale = 1 / sqrtf((float)sdpa->d);
	return 0;
}

static void close_sdpa(struct kl_gpu_baseline *baseline)
{
	struct sdpa *sdpa = baseline->state;

	kl_cudnn_free(sdpa->cudnn);
	free(sdpa);
}

int kl_gpu_baseline_sdpa(struct kl_gpu_baseline *baseline, const struct kl_gpu_baseline_spec *spec,
			 const uint64_t *at)
{
	struct sdpa *sdpa = baseline->state = kl_calloc(1, sizeof(*sdpa));
	struct kl_cudnn_pack pack;
	void *op;
	int err;

	baseline->close = close_sdpa;
	baseline->run = run_sdpa;
	if ((err = fit_spec(sdpa, spec)) < 0 ||
	    (err = kl_cudnn_open(&sdpa->cudnn, baseline->device)) < 0)
		return err;
	op = make_operation(sdpa);
	pack = pack_of(sdpa, at);
	snprintf(baseline->what, sizeof(baseline->what), "cuDNN %zu",
		 kl_cudnn_version(sdpa->cudnn));
	return kl_cudnn_choose(sdpa->cudnn, &op, 1, &pack);
}
