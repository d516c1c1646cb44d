/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_SYMBOL_INDEX_H
#define KL_BACKEND_C_LINK_SYMBOL_INDEX_H

#include "backend/c/link/object.h"

/*
 * symbol_index - the global symbols that some objects define, to be found by name. It is sorted, so
 * that names chosen by a hostile source cannot make it slow.
 *
 * It borrows the objects. If several define a name, a strong definition comes before a weak one,
 * and otherwise the first counts.
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

/** Find the definition of a name; NULL: none of the objects defines it. */
const struct kl_symbol_entry *kl_symbol_index_find(const struct kl_symbol_index *index,
						   const char *name);
/** Find a name with two strong definitions; NULL: there is none. */
const char *kl_symbol_index_clash(const struct kl_symbol_index *index);

#endif
