/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_MAP_H
#define KL_BASE_MAP_H

#include <stddef.h>

/*
 * map - hash map from strings to pointers. Keys are copied. Values stay the caller's unless
 * `free_value` is set: it then frees every value that is replaced or left at release. Iteration is
 * in insertion order.
 */
struct kl_map_entry {
	char *key;
	void *value;
};

struct kl_map {
	struct kl_map_entry *e; /* in insertion order */
	size_t n, alloc;
	size_t *slot; /* open addressing: index into `e` plus 1; 0: free */
	size_t nslot;
	void (*free_value)(void *);
};

#define KL_MAP_INIT \
	{           \
		0   \
	}

/** The value, or NULL. */
void *kl_map_get(const struct kl_map *map, const char *key);
/** Insert or replace. Returns the old value or NULL; always NULL if `free_value` is set. */
void *kl_map_put(struct kl_map *map, const char *key, void *value);
void kl_map_release(struct kl_map *map);

#endif
