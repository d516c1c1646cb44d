/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_CUDNN_H
#define KL_WORKER_GPU_CUDNN_H

#include "worker/gpu/baseline.h"

/*
 * cudnn - calls the part of cuDNN's graph interface that baselines use.
 *
 * Tensors and operations become a graph, the library's heuristics propose engines for it, and the
 * fastest engine is kept. After a failure, the functions that make, set and finish descriptors do
 * nothing more, so callers need only check the result of kl_cudnn_choose().
 *
 *	kl_cudnn_open(&x, device);
 *	x.t = kl_cudnn_tensor(x, ...);
 *	op = kl_cudnn_make(x, D_OP...); kl_cudnn_set...; kl_cudnn_done(x, op);
 *	kl_cudnn_choose(x, ops, n, &pack);		tries engines on these pointers
 *	kl_cudnn_run(x, &pack);
 */

/* Values of cuDNN's binary interface: kinds of descriptors, types of attributes, data types. */
enum kl_cudnn_kind {
	KL_CUDNN_CONV = 1,
	KL_CUDNN_ENGINE = 2,
	KL_CUDNN_ENGINECFG = 3,
	KL_CUDNN_HEUR = 4,
	KL_CUDNN_PLAN = 5,
	KL_CUDNN_OP_CONV = 10,
	KL_CUDNN_GRAPH = 15,
	KL_CUDNN_PACK = 16,
	KL_CUDNN_TENSOR = 17,
	KL_CUDNN_OP_SDPA = 41,
};
enum kl_cudnn_type {
	KL_CUDNN_T_HANDLE = 0,
	KL_CUDNN_T_DATA_TYPE = 1,
	KL_CUDNN_T_BOOLEAN = 2,
	KL_CUDNN_T_INT64 = 3,
	KL_CUDNN_T_FLOAT = 4,
	KL_CUDNN_T_VOID_PTR = 6,
	KL_CUDNN_T_CONV_MODE = 7,
	KL_CUDNN_T_HEUR_MODE = 8,
	KL_CUDNN_T_NOTE = 11,
	KL_CUDNN_T_DESCRIPTOR = 15,
};
enum { KL_CUDNN_FLOAT = 0, KL_CUDNN_HALF = 2 };

struct kl_cudnn;

int kl_cudnn_open(struct kl_cudnn **out, const struct kl_gpu_device *device);
void kl_cudnn_free(struct kl_cudnn *cudnn);
size_t kl_cudnn_version(const struct kl_cudnn *cudnn);

void *kl_cudnn_make(struct kl_cudnn *cudnn, enum kl_cudnn_kind kind);
void kl_cudnn_set(struct kl_cudnn *cudnn, void *desc, int attribute, enum kl_cudnn_type type,
		  int64_t n, const void *data);
void kl_cudnn_set_int(struct kl_cudnn *cudnn, void *desc, int attribute, enum kl_cudnn_type type,
		      int value);
void kl_cudnn_set_desc(struct kl_cudnn *cudnn, void *desc, int attribute, void *value);
void *kl_cudnn_done(struct kl_cudnn *cudnn, void *desc);

enum kl_cudnn_use { KL_CUDNN_GIVEN, KL_CUDNN_BY_VALUE };
/**
 * Make the descriptor of a tensor with four axes. `uid` identifies the tensor in a struct
 * kl_cudnn_pack.
 */
void *kl_cudnn_tensor(struct kl_cudnn *cudnn, int64_t uid, int type, const int64_t dim[4],
		      const int64_t stride[4], enum kl_cudnn_use use);

/* The pointers of one call: at[i] is the address of the tensor with number uid[i]. */
struct kl_cudnn_pack {
	int64_t uid[8];
	void *at[8];
	int n;
};
/**
 * Try the proposed engines on `pack` and keep the fastest. Skip engines that transform their inputs
 * (Winograd, Fourier) instead of summing products directly. Return KL_ECANNOT if no engine works.
 */
int kl_cudnn_choose(struct kl_cudnn *cudnn, void **ops, int64_t nops,
		    const struct kl_cudnn_pack *pack);
/** Run the chosen engine. Return 0 or the library's status. */
int kl_cudnn_run(struct kl_cudnn *cudnn, const struct kl_cudnn_pack *pack);

#endif
