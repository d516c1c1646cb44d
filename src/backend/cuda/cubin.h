/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_CUBIN_H
#define KL_BACKEND_CUDA_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "plan/plan.h"

/*
 * cubin - device code as an ELF file, as the audit and the facts need it: kernels with their
 * parameters and needs, symbols, sections. Input like any other: every index and length is
 * checked here once, every name is plain.
 *
 * What a kernel wants passed stands in .nv.info.<kernel> as a list of attributes; those that are
 * not known here are passed over by their length.
 */
#define KL_CUBIN_MAX_BYTES ((size_t)64 << 20)
#define KL_CUBIN_MAX_ITEMS 50000

struct kl_cubin_param {
	int64_t offset, size;
};

struct kl_cubin_kernel {
	char *name;
	size_t sec; /* its code */
	size_t nparam;
	struct kl_cubin_param param[KL_PLAN_MAX_ARGS]; /* by ordinal */
	int64_t registers, frame; /* a thread's registers; its local memory in bytes */
	/* static shared memory of a block, without the system's own */
	int64_t smem;
	int64_t barriers;
	int64_t max_threads;    /* of __launch_bounds__; 0: not said */
	int64_t req_threads[3]; /* 0: not said */
	int64_t cluster[3];     /* of __cluster_dims__; 0: not said */
};

struct kl_cubin_section {
	char *name;
	uint32_t type;
	uint64_t flags, size;
	const unsigned char *data; /* NULL: no bytes */
};

struct kl_cubin_symbol {
	char *name;
	int sec; /* 0: undefined; -1: no section's */
	uint64_t value, size;
	unsigned char type, bind, other;
};

struct kl_cubin {
	char *path;
	unsigned char *bytes;
	size_t len;
	int sm;        /* 90; the letter of sm_90a is in `specific` */
	bool specific; /* runs on exactly that architecture: sm_90a */
	struct kl_cubin_section *sec;
	size_t nsec;
	struct kl_cubin_symbol *sym;
	size_t nsym;
	struct kl_cubin_kernel *kernel;
	size_t nkernel;
};

/** KL_ENO: not what ptxas writes, said in the message; KL_EIO: unreadable. */
int kl_cubin_read(struct kl_cubin **out, const char *path);
/** From a copy of these bytes. */
int kl_cubin_parse(struct kl_cubin **out, const void *data, size_t len);
void kl_cubin_free(struct kl_cubin *cubin);
KL_DEFINE_CLEANUP(struct kl_cubin *, kl_cubin_free)

/** NULL: there is none. */
const struct kl_cubin_kernel *kl_cubin_kernel(const struct kl_cubin *cubin, const char *name);
const struct kl_cubin_section *kl_cubin_section(const struct kl_cubin *cubin, const char *name);

#endif
