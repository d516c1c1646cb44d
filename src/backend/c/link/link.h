/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_LINK_H
#define KL_BACKEND_C_LINK_LINK_H

#include <stdbool.h>

#include "backend/c/link/libraries.h"
#include "backend/c/link/object.h"
#include "base/buf.h"

/*
 * link - makes an image (image/image.h) of audited objects, in this process.
 *
 * The image has what the entry reaches: sections of code and data of the objects, of the gate's
 * runtime and of the system's static libraries, with every reference resolved. All other sections
 * (notes, tables for debuggers, whatever their names) are left out. Names that an object does not
 * define are sought in the other objects first, then in the runtime and the libraries; the runtime
 * and the libraries never see a name that an object defines.
 *
 * Instructions that load an address from the linkage table are changed into ones that compute it,
 * as ld does.
 */
struct kl_link {
	const struct kl_object *const *object; /* audited */
	size_t nobject;
	const struct kl_object *runtime;
	const struct kl_libraries *libraries;
	int level;         /* of x86-64: 1 to 4 */
	const char *entry; /* defined by an object */
	/* names of variables whose offsets the image states, and of a function; NULL: none */
	const char *arena, *dims, *start;
	bool whole;  /* keep all sections of the objects, not only those that the entry reaches */
	bool frames; /* state the offset of the tables for exceptions, which `whole` keeps */
	/* can the image import this name from the process? NULL: it imports nothing */
	bool (*may_import)(const char *name);
	/* functions `f` whose calls go to the runtime's __wrap_f; NULL-terminated; NULL: none */
	const char *const *wrap;
	/* 0, or how far to move functions and segments apart, so that their distances change */
	unsigned shift;
};

/**
 * Link and write the image. KL_ENO: the objects do not fit together, or they need what an image
 * cannot have; the message says what. KL_ECANNOT: the system's libraries cannot be linked.
 */
int kl_link(struct kl_buf *out, const struct kl_link *link);

#endif
