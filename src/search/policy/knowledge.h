/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_KNOWLEDGE_H
#define KL_SEARCH_POLICY_KNOWLEDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/json.h"

/*
 * knowledge - KernelBlaster's knowledge base: how much a technique saves in kernels of a state.
 *
 * A state is a name for what limits a kernel. An entry predicts the share of cycles that a
 * technique saves, in percent, with a confidence from 0.1 to 1. Names of states and techniques come
 * from a model; names that are not slugs (text/name.h) are ignored. The base owns its strings.
 */
struct kl_knowledge_entry {
	char *state, *technique;
	int64_t uses;
	/*
	 * percent of cycles saved: predicted by a model, or the mean of the uses if there are any
	 */
	double predicted;
	double confidence;
};

struct kl_knowledge {
	struct kl_knowledge_entry *v; /* in the order in which they were added */
	size_t n, alloc;
};

/** Return member `key` of a model's note, borrowed; NULL if the note has no such slug. */
const char *kl_knowledge_name(const json_t *said, const char *key);
/**
 * Find the entry of a technique in a state. Return NULL if there is none. The base owns the entry;
 * the pointer is valid until an entry is added.
 */
struct kl_knowledge_entry *kl_knowledge_find(const struct kl_knowledge *base, const char *state,
					     const char *technique);
/** Find an entry as kl_knowledge_find() does; if there is none, add one with this prediction. */
struct kl_knowledge_entry *kl_knowledge_have(struct kl_knowledge *base, const char *state,
					     const char *technique, double predicted);
/**
 * Copy the entries of state `from` to the new state `state`, with predictions and confidences
 * multiplied by 0.8.
 */
void kl_knowledge_inherit(struct kl_knowledge *base, const char *state, const char *from);
/**
 * Return the entry of a state whose prediction times confidence is greatest, or NULL if the state
 * has no entry.
 */
const struct kl_knowledge_entry *kl_knowledge_best(const struct kl_knowledge *base,
						   const char *state);
/** Update an entry after a use of its technique that saved `saved` percent of the cycles. */
void kl_knowledge_learn(struct kl_knowledge_entry *entry, double saved);
/** Return true if `saved` is between 0.8 and 1.2 times the prediction. */
bool kl_knowledge_foretold(double saved, double predicted);
/**
 * Apply the note of an updater: {"adjust": [{"state", "technique", "saved_ppm", "confidence_ppm"}],
 * "deprecate": [{"state", "technique"}]}. Ignore rows that do not have both names.
 */
void kl_knowledge_update(struct kl_knowledge *base, const json_t *said);
/** Return all entries as JSON for the digest of a state; the caller owns it. */
json_t *kl_knowledge_write(const struct kl_knowledge *base);
/** Return all entries as JSON for a prompt, with rounded numbers; the caller owns it. */
json_t *kl_knowledge_tell(const struct kl_knowledge *base);
void kl_knowledge_release(struct kl_knowledge *base);

#endif
