/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_MAP_H
#define KL_BASE_MAP_H

#include <stddef.h>

/*
 * map - string keys to pointers. Keys are copied; values stay the caller's,
 * unless `free_value` is set, which then gets every value that is replaced
 * or still there at release. Iteration is in insertion order.
 */
struct kl_map_entry {
	char *key;
	void *value;
};

struct kl_map {
	struct kl_map_entry *e; /* in insertion order */
	size_t n, alloc;
	size_t *slot; /* open addressing; index + 1, 0 is free */
	size_t nslot;
	void (*free_value)(void *);
};

#define KL_MAP_INIT \
	{           \
		0   \
	}

void *kl_map_get(const struct kl_map *map, const char *key);
/** Insert or replace; returns the value kept before, or NULL (always NULL with free_value). */
void *kl_map_put(struct kl_map *map, const char *key, void *value);
void kl_map_release(struct kl_map *map);

#endif
