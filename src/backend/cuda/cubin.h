/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_CUBIN_H
#define KL_BACKEND_CUDA_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "plan/plan.h"

/*
 * cubin - reads an ELF file of device code: kernels with their parameters and resources, symbols
 * and sections. The file is untrusted input: every index and length is checked here once, and every
 * name is plain ([A-Za-z0-9_.$@-]).
 *
 * The section .nv.info.<kernel> describes the parameters of a kernel as a list of attributes.
 * Unknown attributes are skipped.
 */
#define KL_CUBIN_MAX_BYTES ((size_t)64 << 20)
#define KL_CUBIN_MAX_ITEMS 50000

struct kl_cubin_param {
	int64_t offset, size;
};

struct kl_cubin_kernel {
	char *name;
	size_t sec; /* index of the section with its code */
	size_t nparam;
	struct kl_cubin_param param[KL_PLAN_MAX_ARGS]; /* in the order of the parameters */
	int64_t registers, frame; /* registers per thread; bytes of local memory per thread */
	/* bytes of static shared memory per block, without those that the system reserves */
	int64_t smem;
	int64_t barriers;
	/* maximum number of threads per block (__launch_bounds__); 0 if not set */
	int64_t max_threads;
	int64_t req_threads[3]; /* required dimensions of a block; 0 if not set */
	/* blocks per cluster along each axis (__cluster_dims__); 0 if not set */
	int64_t cluster[3];
	/* maximum number of blocks per cluster (__launch_bounds__); 0 if not set */
	int64_t max_cluster;
};

struct kl_cubin_section {
	char *name;
	uint32_t type;
	uint64_t flags, size;
	/* points into kl_cubin.bytes; NULL if the section has no bytes */
	const unsigned char *data;
};

struct kl_cubin_symbol {
	char *name;
	int sec; /* index of the section; 0 if undefined; -1 if it is in no section */
	uint64_t value, size;
	unsigned char type, bind, other;
};

struct kl_cubin {
	char *path;
	unsigned char *bytes;
	size_t len;
	int sm;        /* 90 for sm_90 and sm_90a */
	bool specific; /* runs on no other architecture, like code for sm_90a */
	struct kl_cubin_section *sec;
	size_t nsec;
	struct kl_cubin_symbol *sym;
	size_t nsym;
	struct kl_cubin_kernel *kernel;
	size_t nkernel;
};

/**
 * Read a cubin. Return KL_ENO if ptxas does not write such a file. The message says why. Return
 * KL_EIO if the file cannot be read.
 */
int kl_cubin_read(struct kl_cubin **out, const char *path);
/** Read a cubin from a copy of `data`. Errors are those of kl_cubin_read(). */
int kl_cubin_parse(struct kl_cubin **out, const void *data, size_t len);
void kl_cubin_free(struct kl_cubin *cubin);
KL_DEFINE_CLEANUP(struct kl_cubin *, kl_cubin_free)

/** Find a kernel or a section by its name; NULL if there is none. */
const struct kl_cubin_kernel *kl_cubin_kernel(const struct kl_cubin *cubin, const char *name);
const struct kl_cubin_section *kl_cubin_section(const struct kl_cubin *cubin, const char *name);

#endif
