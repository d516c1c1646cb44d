/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_LINK_H
#define KL_BACKEND_C_LINK_LINK_H

#include <stdbool.h>

#include "backend/c/link/libraries.h"
#include "backend/c/link/object.h"
#include "base/buf.h"
#include "base/vec.h"
#include "image/image.h"

/*
 * link - links audited objects to an image (image/image.h), in this process.
 *
 * The image contains the sections of code and data that the entry reaches, from the objects, the
 * gate's runtime and the system's static libraries, with every reference resolved. All other
 * sections (such as notes and tables for debuggers) are left out. A name that an object does not
 * define is looked up first in the other objects, then in the runtime and the libraries. A name
 * that the runtime or a library uses is never resolved to a definition in an object.
 *
 * As ld does, the linker replaces instructions that load an address from the linkage table by
 * instructions that compute the address.
 */
struct kl_link {
	const struct kl_object *const *object; /* objects of the kernel, already audited */
	size_t nobject;
	const struct kl_object *runtime;
	const struct kl_libraries *libraries;
	int level;         /* level of x86-64, 1 to 4; selects the form of library functions */
	const char *entry; /* name of the entry, which an object must define */
	/*
	 * names of two variables (arena, dims) and a function (start) whose offsets are stored in
	 * the image; NULL if there is none
	 */
	const char *arena, *dims, *start;
	/*
	 * names of the functions of an adapter, indexed by KL_IMAGE_PREPARE ...; NULL if there is
	 * none
	 */
	const char *adapter[KL_IMAGE_ADAPTER];
	bool whole; /* keep all sections of the objects, even if the entry does not reach them */
	/*
	 * store the offset of the exception tables in the image; `whole` must be set to keep them
	 */
	bool frames;
	/*
	 * return true if the image may import this name from the process; NULL if it imports
	 * nothing
	 */
	bool (*may_import)(const char *name);
	/*
	 * functions `f` whose calls are redirected to __wrap_f of the runtime; NULL-terminated;
	 * NULL if there is none
	 */
	const char *const *wrap;
	/*
	 * functions and streams that the kernel uses when it reports an error (NULL if there is
	 * none): unless an object defines the name, a function is replaced by kl_rt_trap of the
	 * runtime, a stream by kl_rt_stream
	 */
	const struct kl_strvec *traps;
	/*
	 * moves functions and segments apart, so that the distances between them change; 0 if there
	 * are no gaps
	 */
	unsigned shift;
};

/**
 * Link the objects and append the image to `out`. Return KL_ENO if the objects cannot be linked
 * with each other, or need something that an image cannot have. The message names the cause. Return
 * KL_ECANNOT if the system's libraries cannot be linked.
 */
int kl_link(struct kl_buf *out, const struct kl_link *link);

#endif
