/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/link/reached.h"

#include <string.h>

struct search {
	struct kl_reached *out;
	const struct kl_object *const *objects;
	const struct kl_symbol_index *defined;
	/* reached sections whose relocations are not followed yet */
	struct {
		size_t obj, sec;
	} * todo;
	size_t ntodo, alloc;
};

static void mark_section(struct search *search, size_t obj, size_t sec)
{
	if (search->out->sec[obj][sec])
		return;
	search->out->sec[obj][sec] = true;
	KL_GROW(search->todo, search->ntodo + 1, search->alloc);
	search->todo[search->ntodo].obj = obj;
	search->todo[search->ntodo++].sec = sec;
}

/* Mark the section that defines a symbol. The linker looks for the definition in the same way. */
static void mark_symbol(struct search *search, size_t obj, size_t sym)
{
	const struct kl_osym *symbol = &search->objects[obj]->sym[sym];
	const struct kl_symbol_entry *entry = NULL;

	search->out->sym[obj][sym] = true;
	if (symbol->sec == KL_SYM_UNDEF || symbol->bind != STB_LOCAL)
		entry = kl_symbol_index_find(search->defined, symbol->name);
	if (entry) {
		obj = entry->obj;
		symbol = &search->objects[obj]->sym[entry->sym];
	}
	if (symbol->sec >= 0)
		mark_section(search, obj, (size_t)symbol->sec);
}

static void follow_sections(struct search *search)
{
	while (search->ntodo) {
		size_t obj = search->todo[--search->ntodo].obj,
		       sec = search->todo[search->ntodo].sec;
		const struct kl_object *object = search->objects[obj];

		for (size_t i = kl_object_rel_at(object, sec, 0);
		     i < object->nrel && object->rel[i].sec == sec; i++)
			mark_symbol(search, obj, object->rel[i].sym);
	}
}

void kl_reached_find(struct kl_reached *out, const struct kl_object *const *objects, size_t n,
		     const struct kl_symbol_index *defined, const char *const *entries)
{
	const struct kl_symbol_entry *root = kl_symbol_index_find(defined, *entries);
	struct search search = { .out = out, .objects = objects, .defined = defined };

	*out = (struct kl_reached){ .n = n };
	out->sec = kl_calloc(n + 1, sizeof(*out->sec));
	out->sym = kl_calloc(n + 1, sizeof(*out->sym));
	for (size_t k = 0; k < n; k++) {
		out->sec[k] = kl_calloc(objects[k]->nsec + 1, sizeof(**out->sec));
		out->sym[k] = kl_calloc(objects[k]->nsym + 1, sizeof(**out->sym));
		if (root)
			continue;
		memset(out->sec[k], true, objects[k]->nsec);
		memset(out->sym[k], true, objects[k]->nsym);
	}
	for (; root && *entries; entries++) {
		const struct kl_symbol_entry *entry = kl_symbol_index_find(defined, *entries);

		if (entry)
			mark_symbol(&search, entry->obj, entry->sym);
	}
	follow_sections(&search);
	free(search.todo);
}

void kl_reached_release(struct kl_reached *reached)
{
	for (size_t k = 0; k < reached->n; k++) {
		free(reached->sec[k]);
		free(reached->sym[k]);
	}
	free(reached->sec);
	free(reached->sym);
	*reached = (struct kl_reached){ .sec = NULL };
}
