/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_UNTIMED_H
#define KL_WORKER_SUBJECT_UNTIMED_H

#include "job/job.h"

/*
 * untimed - calls the functions of an adapter that are not timed, without libffi.
 *
 * The kernel can write all data of its process that is not mapped read-only, including the function
 * addresses in libffi's linkage table. By replacing such an address, it would get control when
 * libffi is next called. In a timed call this gains nothing, but in an untimed call the kernel
 * could compute without being timed. So untimed calls use only the worker's own code, whose linkage
 * table is read-only.
 */
struct kl_untimed_args {
	uint32_t n;
	/* address and type of each value; pointers are passed as KL_U64 */
	const uint64_t *value[KL_MAX_ARGS + 1];
	enum kl_dtype dtype[KL_MAX_ARGS + 1];
};

/** Add an argument. */
void kl_untimed_add(struct kl_untimed_args *args, enum kl_dtype dtype, const uint64_t *value);
/** Call `fn` with the arguments; it returns nothing. Only on x86-64. */
void kl_untimed_call(void (*fn)(void), const struct kl_untimed_args *args);

#endif
