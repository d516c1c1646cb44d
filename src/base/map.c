/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/*
 * Compute the hash FNV-1a of a key. Keys are our own names or bounded input, so collision attacks
 * are no concern.
 */
static uint64_t hash_key(const char *text)
{
	uint64_t hash = 14695981039346656037u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash;
}

/* Return the index of the slot of `key` or, if the map lacks `key`, of the free slot for it. */
static size_t find_slot(const struct kl_map *map, const char *key)
{
	size_t i = hash_key(key) & (map->nslot - 1);

	while (map->slot[i] && strcmp(map->e[map->slot[i] - 1].key, key))
		i = (i + 1) & (map->nslot - 1);
	return i;
}

static void grow_table(struct kl_map *map)
{
	map->nslot = map->nslot ? 2 * map->nslot : 16;
	free(map->slot);
	map->slot = kl_calloc(map->nslot, sizeof(*map->slot));
	for (size_t i = 0; i < map->n; i++)
		map->slot[find_slot(map, map->e[i].key)] = i + 1;
}

void *kl_map_get(const struct kl_map *map, const char *key)
{
	size_t at;

	if (!map->nslot)
		return NULL;
	at = map->slot[find_slot(map, key)];
	return at ? map->e[at - 1].value : NULL;
}

void *kl_map_put(struct kl_map *map, const char *key, void *value)
{
	size_t at;

	if (2 * (map->n + 1) > map->nslot)
		grow_table(map);
	at = find_slot(map, key);
	if (map->slot[at]) {
		struct kl_map_entry *entry = &map->e[map->slot[at] - 1];
		void *old = entry->value;

		entry->value = value;
		if (!map->free_value)
			return old;
		map->free_value(old);
		return NULL;
	}
	KL_GROW(map->e, map->n + 1, map->alloc);
	map->e[map->n] = (struct kl_map_entry){ kl_strdup(key), value };
	map->slot[at] = ++map->n;
	return NULL;
}

void kl_map_release(struct kl_map *map)
{
	for (size_t i = 0; i < map->n; i++) {
		free(map->e[i].key);
		if (map->free_value)
			map->free_value(map->e[i].value);
	}
	free(map->e);
	free(map->slot);
	*map = (struct kl_map){ .free_value = map->free_value };
}
