/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* FNV-1a; the keys are our own names or bounded input, never a flood. */
static uint64_t hash_key(const char *s)
{
	uint64_t h = 14695981039346656037u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return h;
}

/* The slot of `key`, or the free one where it belongs. */
static size_t find_slot(const struct kl_map *m, const char *key)
{
	size_t i = hash_key(key) & (m->nslot - 1);

	while (m->slot[i] && strcmp(m->e[m->slot[i] - 1].key, key))
		i = (i + 1) & (m->nslot - 1);
	return i;
}

static void grow_table(struct kl_map *m)
{
	m->nslot = m->nslot ? 2 * m->nslot : 16;
	free(m->slot);
	m->slot = kl_calloc(m->nslot, sizeof(*m->slot));
	for (size_t i = 0; i < m->n; i++)
		m->slot[find_slot(m, m->e[i].key)] = i + 1;
}

void *kl_map_get(const struct kl_map *m, const char *key)
{
	size_t at;

	if (!m->nslot)
		return NULL;
	at = m->slot[find_slot(m, key)];
	return at ? m->e[at - 1].value : NULL;
}

void *kl_map_put(struct kl_map *m, const char *key, void *value)
{
	size_t at;

	if (2 * (m->n + 1) > m->nslot)
		grow_table(m);
	at = find_slot(m, key);
	if (m->slot[at]) {
		struct kl_map_entry *e = &m->e[m->slot[at] - 1];
		void *old = e->value;

		e->value = value;
		if (!m->free_value)
			return old;
		m->free_value(old);
		return NULL;
	}
	KL_GROW(m->e, m->n + 1, m->alloc);
	m->e[m->n] = (struct kl_map_entry){ kl_strdup(key), value };
	m->slot[at] = ++m->n;
	return NULL;
}

void kl_map_release(struct kl_map *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->e[i].key);
		if (m->free_value)
			m->free_value(m->e[i].value);
	}
	free(m->e);
	free(m->slot);
	*m = (struct kl_map){ .free_value = m->free_value };
}
