/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_MEMORY_H
#define KL_SEARCH_POLICY_MEMORY_H

#include <stdint.h>

#include "text/json.h"

/*
 * memory - what earlier searches learnt, as a set of entries: a JSON object from the path of each
 * entry to the entry (docs/formats.md, "Memories").
 *
 * An entry is a "rule", which says what a kernel must not do, or a "technique", which says how much
 * it saved in kernels of a state. Its path is made of what it says, so the same entry of two
 * memories has the same path.
 */

/** Return KL_EINVALID if an entry is malformed; the message names the member. */
int kl_memory_check(const json_t *entry);
/** Return the path of an entry, such as "rules/0123456789ab.json"; the caller frees it. */
char *kl_memory_path(const json_t *entry);
/** Add an entry to a set, which takes ownership. Merge it with the same entry of the set. */
void kl_memory_add(json_t *entries, json_t *entry);
/** Check all entries of a set and their paths. */
int kl_memory_check_all(const json_t *entries);
/** Return true if this is an entry of the kind that is not retracted. `entries` can be NULL. */
bool kl_memory_is(const json_t *entry, const char *kind);
/**
 * Return what the rules say that were counted at least `least` times, as an array for a prompt, or
 * NULL if there is none; the caller owns it. `entries` can be NULL.
 */
json_t *kl_memory_rules(const json_t *entries, int64_t least);

#endif
