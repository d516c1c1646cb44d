/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_LIBRARIES_H
#define KL_BACKEND_C_LINK_LIBRARIES_H

#include "backend/c/link/archive.h"

/*
 * libraries - the static libraries of the system that kernels are linked with: libm, libmvec, libc
 * and libgcc. Their code is trusted; which functions of them a kernel can use is decided by its
 * audit (audit.h). Several threads can read them.
 */
struct kl_libraries {
	struct kl_archive *archive[6]; /* in the order of search */
	size_t n;
	/* their version and digest, which are part of a verdict's key: "glibc 2.36 0123456789ab" */
	char id[64];
};

/** Find and open the libraries of this machine's gcc. KL_ECANNOT: one is not installed. */
int kl_libraries_open(struct kl_libraries **out);
void kl_libraries_free(struct kl_libraries *libraries);
KL_DEFINE_CLEANUP(struct kl_libraries *, kl_libraries_free)

/** Read the member that defines a symbol. KL_ENOTFOUND (no message): none does. */
int kl_libraries_find(struct kl_object **out, const struct kl_libraries *libraries,
		      const char *symbol);

#endif
