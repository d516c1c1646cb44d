/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_MAP_H
#define KL_BASE_MAP_H

#include <stddef.h>

/*
 * map - a hash map from strings to pointers. Keys are copied. The caller owns the values unless
 * `free_value` is set; then it is called for each value that is replaced, and for all values when
 * the map is released. Iterate over `e` to get the entries in insertion order.
 */
struct kl_map_entry {
	char *key;
	void *value;
};

struct kl_map {
	struct kl_map_entry *e; /* in insertion order */
	size_t n, alloc;
	size_t *slot; /* hash table with open addressing: 1 + index into `e`; 0 if free */
	size_t nslot;
	void (*free_value)(void *);
};

#define KL_MAP_INIT \
	{           \
		0   \
	}

/** Return the value of `key`, or NULL if there is none. */
void *kl_map_get(const struct kl_map *map, const char *key);
/**
 * Insert a value or replace it. Return the replaced value, which the caller owns again, or NULL if
 * there was none or `free_value` is set.
 */
void *kl_map_put(struct kl_map *map, const char *key, void *value);
void kl_map_release(struct kl_map *map);

#endif
