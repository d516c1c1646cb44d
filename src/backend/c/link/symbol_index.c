/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/link/symbol_index.h"

#include <elf.h>
#include <string.h>

static bool is_definition(const struct kl_osym *symbol)
{
	return symbol->bind != STB_LOCAL && symbol->sec != KL_SYM_UNDEF && symbol->name[0];
}

static int by_name(const void *left, const void *right)
{
	const struct kl_symbol_entry *entry = left, *other = right;
	int order = strcmp(entry->name, other->name);

	if (order)
		return order;
	if (entry->weak != other->weak)
		return entry->weak ? 1 : -1;
	if (entry->obj != other->obj)
		return entry->obj < other->obj ? -1 : 1;
	return entry->sym < other->sym ? -1 : entry->sym > other->sym;
}

void kl_symbol_index_build(struct kl_symbol_index *out, const struct kl_object *const *objects,
			   size_t n)
{
	size_t all = 0;

	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < objects[k]->nsym; i++)
			all += is_definition(&objects[k]->sym[i]);
	out->entry = kl_calloc(all + 1, sizeof(*out->entry));
	out->n = 0;
	for (size_t k = 0; k < n; k++) {
		for (size_t i = 0; i < objects[k]->nsym; i++) {
			const struct kl_osym *symbol = &objects[k]->sym[i];

			if (is_definition(symbol))
				out->entry[out->n++] = (struct kl_symbol_entry){
					.name = symbol->name,
					.obj = (uint32_t)k,
					.sym = (uint32_t)i,
					.weak = symbol->bind == STB_WEAK ||
						symbol->sec == KL_SYM_COMMON,
				};
		}
	}
	qsort(out->entry, out->n, sizeof(*out->entry), by_name);
}

void kl_symbol_index_release(struct kl_symbol_index *index)
{
	free(index->entry);
	*index = (struct kl_symbol_index){ .entry = NULL };
}

const struct kl_symbol_entry *kl_symbol_index_find(const struct kl_symbol_index *index,
						   const char *name)
{
	size_t lo = 0, hi = index->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(index->entry[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < index->n && !strcmp(index->entry[lo].name, name) ? &index->entry[lo] : NULL;
}

const char *kl_symbol_index_clash(const struct kl_symbol_index *index)
{
	for (size_t i = 1; i < index->n; i++)
		if (!index->entry[i].weak && !index->entry[i - 1].weak &&
		    !strcmp(index->entry[i].name, index->entry[i - 1].name))
			return index->entry[i].name;
	return NULL;
}
