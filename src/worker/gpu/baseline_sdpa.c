/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_sdpa - baseline cudnn.sdpa, attention */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "job/job.h"
#include "worker/gpu/cudnn.h"

/*
 * Attention by cuDNN, as the one operation that versions from 9.13 on have for it.
 */
enum { A_Q = 2800, A_K = 2801, A_V = 2802, A_O = 2803, A_SCALE = 2805 };
enum { UID_Q = 1, UID_K, UID_V, UID_O, UID_SCALE };

struct sdpa {
	struct kl_cudnn *x;
	int q, k, v, o;
	int64_t b, s, t, h, d; /* batch, queries, keys, heads, head size */
	float scale;
};

/* The contract's [B,S,H,D], seen as [B,H,S,D]. */
static void *make_tensor(struct sdpa *a, int64_t uid, int64_t rows)
{
	const int64_t dim[4] = { a->b, a->h, rows, a->d };
	const int64_t stride[4] = { rows * a->h * a->d, a->d, a->h * a->d, 1 };

	return kl_cudnn_tensor(a->x, uid, KL_CUDNN_HALF, dim, stride, KL_CUDNN_GIVEN);
}

static void *make_operation(struct sdpa *a)
{
	const int64_t one[4] = { 1, 1, 1, 1 };
	struct kl_cudnn *x = a->x;
	void *q = make_tensor(a, UID_Q, a->s), *k = make_tensor(a, UID_K, a->t),
	     *v = make_tensor(a, UID_V, a->t);
	void *o = make_tensor(a, UID_O, a->s), *op;
	void *scale = kl_cudnn_tensor(x, UID_SCALE, KL_CUDNN_FLOAT, one, one, KL_CUDNN_BY_VALUE);

	op = kl_cudnn_make(x, KL_CUDNN_OP_SDPA);
	kl_cudnn_set_desc(x, op, A_Q, q);
	kl_cudnn_set_desc(x, op, A_K, k);
	kl_cudnn_set_desc(x, op, A_V, v);
	kl_cudnn_set_desc(x, op, A_O, o);
	kl_cudnn_set_desc(x, op, A_SCALE, scale);
	return kl_cudnn_done(x, op);
}

static struct kl_cudnn_pack pack_of(struct sdpa *a, const uint64_t *at)
{
	return (struct kl_cudnn_pack){
		.uid = { UID_Q, UID_K, UID_V, UID_O, UID_SCALE },
		.at = { (void *)(uintptr_t)at[a->q], (void *)(uintptr_t)at[a->k],
			(void *)(uintptr_t)at[a->v], (void *)(uintptr_t)at[a->o], &a->scale },
		.n = 5,
	};
}

static int run_sdpa(struct kl_gpu_baseline *b, const uint64_t *at)
{
	struct sdpa *a = b->state;
	struct kl_cudnn_pack p = pack_of(a, at);

	return kl_cudnn_run(a->x, &p);
}

/* -- opening -------------------------------------------------------------------------- */

static int fit_spec(struct sdpa *a, const struct kl_gpu_baseline_spec *s)
{
	const int64_t *q, *k, *v, *o;

	a->q = kl_gpu_baseline_tensor(s, false, 0, 4);
	a->k = kl_gpu_baseline_tensor(s, false, 1, 4);
	a->v = kl_gpu_baseline_tensor(s, false, 2, 4);
	a->o = kl_gpu_baseline_tensor(s, true, 0, 4);
	if (a->q < 0 || a->k < 0 || a->v < 0 || a->o < 0 || s->arg[a->q].dtype != KL_F16 ||
	    s->arg[a->k].dtype != KL_F16 || s->arg[a->v].dtype != KL_F16 ||
	    s->arg[a->o].dtype != KL_F16)
		return kl_error(KL_ECANNOT, "needs f16 in q, k, v and out o of four axes");
	q = s->arg[a->q].extent, k = s->arg[a->k].extent, v = s->arg[a->v].extent,
	o = s->arg[a->o].extent;
	a->b = q[0], a->s = q[1], a->t = k[1], a->h = q[2], a->d = q[3];
	for (int i = 0; i < 4; i++)
		if (k[i] != v[i] || o[i] != q[i] || (i != 1 && k[i] != q[i]))
			return kl_error(KL_ECANNOT, "needs q, o [B,S,H,D] and k, v [B,T,H,D]");
	a->scale = 1 / sqrtf((float)a->d);
	return 0;
}

static void close_sdpa(struct kl_gpu_baseline *b)
{
	struct sdpa *a = b->state;

	kl_cudnn_free(a->x);
	free(a);
}

int kl_gpu_baseline_sdpa(struct kl_gpu_baseline *b, const struct kl_gpu_baseline_spec *spec,
			 const uint64_t *at)
{
	struct sdpa *a = b->state = kl_calloc(1, sizeof(*a));
	struct kl_cudnn_pack p;
	void *op;
	int err;

	b->close = close_sdpa;
	b->run = run_sdpa;
	if ((err = fit_spec(a, spec)) < 0 || (err = kl_cudnn_open(&a->x, b->device)) < 0)
		return err;
	op = make_operation(a);
	p = pack_of(a, at);
	snprintf(b->what, sizeof(b->what), "cuDNN %zu", kl_cudnn_version(a->x));
	return kl_cudnn_choose(a->x, &op, 1, &p);
}
