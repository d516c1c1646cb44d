/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_LIBRARIES_H
#define KL_BACKEND_C_LINK_LIBRARIES_H

#include "backend/c/link/archive.h"

/*
 * libraries - the static libraries of the system that kernels are linked with: libm, libmvec, libc
 * and libgcc. Their code is trusted. The audit (audit.h) decides which of their functions a kernel
 * may use. Several threads can read the libraries.
 */
struct kl_libraries {
	struct kl_archive *archive[6]; /* in the order in which they are searched */
	size_t n;
	/*
	 * version of the C library and digest of all files, for a verdict's key:
	 * "glibc 2.36 0123456789ab"
	 */
	char id[64];
};

/**
 * Find and open the libraries that gcc uses on this machine. Return KL_ECANNOT if a library is not
 * installed.
 */
int kl_libraries_open(struct kl_libraries **out);
void kl_libraries_free(struct kl_libraries *libraries);
KL_DEFINE_CLEANUP(struct kl_libraries *, kl_libraries_free)

/**
 * Read the member that defines a symbol. The caller frees the object. Return KL_ENOTFOUND (no
 * message set) if no member does.
 */
int kl_libraries_find(struct kl_object **out, const struct kl_libraries *libraries,
		      const char *symbol);

#endif
