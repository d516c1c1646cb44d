/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_SYMBOL_INDEX_H
#define KL_BACKEND_C_LINK_SYMBOL_INDEX_H

#include "backend/c/link/object.h"

/*
 * symbol_index - an index, by name, of the global symbols that a list of objects defines. It is
 * sorted instead of hashed, so that a hostile source cannot choose names that make lookups slow.
 *
 * The objects are borrowed. If a name has several definitions, a lookup finds the first strong
 * definition or, if all are weak, the first weak one. Common symbols count as weak.
 */
struct kl_symbol_entry {
	const char *name;
	uint32_t obj, sym;
	bool weak;
};

struct kl_symbol_index {
	struct kl_symbol_entry *entry;
	size_t n;
};

void kl_symbol_index_build(struct kl_symbol_index *out, const struct kl_object *const *objects,
			   size_t n);
void kl_symbol_index_release(struct kl_symbol_index *index);

/** Find the definition of a name; NULL if no object defines it. */
const struct kl_symbol_entry *kl_symbol_index_find(const struct kl_symbol_index *index,
						   const char *name);
/** Return a name that has two strong definitions; NULL if there is no such name. */
const char *kl_symbol_index_clash(const struct kl_symbol_index *index);

#endif
