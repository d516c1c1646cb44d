/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_REACHED_H
#define KL_BACKEND_C_LINK_REACHED_H

#include "backend/c/link/object.h"
#include "backend/c/link/symbol_index.h"

/*
 * reached - finds the sections and symbols that a kernel's entries reach along relocations. The
 * linker (link.h) takes the same sections into the image and leaves the others out, so only the
 * reached sections need to be audited.
 */
struct kl_reached {
	bool **sec; /* sec[object][section] is true if the entries reach the section */
	bool **sym; /* sym[object][symbol] is true if a reached section refers to the symbol */
	size_t n;   /* number of objects */
};

/**
 * Find the sections and symbols that `entries` reach. `entries` has names of global symbols of the
 * objects and is NULL-terminated. `defined` is the index of the objects' symbols. If no object
 * defines the first entry, everything counts as reached; other entries may be missing.
 */
void kl_reached_find(struct kl_reached *out, const struct kl_object *const *objects, size_t n,
		     const struct kl_symbol_index *defined, const char *const *entries);
void kl_reached_release(struct kl_reached *reached);

#endif
