/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_CUBIN_H
#define KL_BACKEND_CUDA_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "plan/plan.h"

/*
 * cubin - an ELF file of device code, read for the audit and the facts: kernels with their
 * parameters and resources, symbols, sections. The file is untrusted input: every index and length
 * is checked here once, and every name is plain.
 *
 * The section .nv.info.<kernel> describes a kernel's parameters as a list of attributes; unknown
 * attributes are skipped by their length.
 */
#define KL_CUBIN_MAX_BYTES ((size_t)64 << 20)
#define KL_CUBIN_MAX_ITEMS 50000

struct kl_cubin_param {
	int64_t offset, size;
};

struct kl_cubin_kernel {
	char *name;
	size_t sec; /* the section of its code */
	size_t nparam;
	struct kl_cubin_param param[KL_PLAN_MAX_ARGS]; /* by ordinal */
	int64_t registers, frame; /* per thread: registers; bytes of local memory */
	/* bytes of static shared memory per block, without the system's own */
	int64_t smem;
	int64_t barriers;
	int64_t max_threads;    /* of __launch_bounds__; 0: not set */
	int64_t req_threads[3]; /* of a block; 0: not set */
	int64_t cluster[3];     /* of __cluster_dims__; 0: not set */
	int64_t max_cluster;    /* most blocks a cluster, of __launch_bounds__; 0: not set */
};

struct kl_cubin_section {
	char *name;
	uint32_t type;
	uint64_t flags, size;
	const unsigned char *data; /* NULL: no bytes */
};

struct kl_cubin_symbol {
	char *name;
	int sec; /* 0: undefined; -1: in no section */
	uint64_t value, size;
	unsigned char type, bind, other;
};

struct kl_cubin {
	char *path;
	unsigned char *bytes;
	size_t len;
	int sm;        /* 90 for sm_90 and sm_90a */
	bool specific; /* runs on exactly that architecture, as sm_90a */
	struct kl_cubin_section *sec;
	size_t nsec;
	struct kl_cubin_symbol *sym;
	size_t nsym;
	struct kl_cubin_kernel *kernel;
	size_t nkernel;
};

/** KL_ENO: ptxas does not write such a file; the message says why. KL_EIO: unreadable. */
int kl_cubin_read(struct kl_cubin **out, const char *path);
/** As kl_cubin_read(), from a copy of `data`. */
int kl_cubin_parse(struct kl_cubin **out, const void *data, size_t len);
void kl_cubin_free(struct kl_cubin *cubin);
KL_DEFINE_CLEANUP(struct kl_cubin *, kl_cubin_free)

/** NULL if there is none. */
const struct kl_cubin_kernel *kl_cubin_kernel(const struct kl_cubin *cubin, const char *name);
const struct kl_cubin_section *kl_cubin_section(const struct kl_cubin *cubin, const char *name);

#endif
