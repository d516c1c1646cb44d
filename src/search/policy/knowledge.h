/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_KNOWLEDGE_H
#define KL_SEARCH_POLICY_KNOWLEDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/json.h"

/*
 * knowledge - what KernelBlaster knows: how much a technique saved in kernels of a state.
 *
 * A state is a name for what limits a kernel. An entry predicts the share of cycles that a
 * technique saves, in percent, with a confidence from 0.1 to 1. Names of states and techniques come
 * from a model, and only slugs (text/name.h) count. The base owns its strings.
 */
struct kl_knowledge_entry {
	char *state, *technique;
	int64_t uses;
	double predicted; /* percent of cycles saved; the mean once the technique was used */
	double confidence;
};

struct kl_knowledge {
	struct kl_knowledge_entry *v; /* in the order in which they came */
	size_t n, alloc;
};

/** Return a member of what a model said that is a slug; else NULL. Borrowed. */
const char *kl_knowledge_name(const json_t *said, const char *key);
/** Return an entry, or NULL. Borrowed; valid until an entry is added. */
struct kl_knowledge_entry *kl_knowledge_find(const struct kl_knowledge *base, const char *state,
					     const char *technique);
/** Return an entry, which is added with this prediction if there is none. */
struct kl_knowledge_entry *kl_knowledge_have(struct kl_knowledge *base, const char *state,
					     const char *technique, double predicted);
/** Give a new state the entries of another, with 0.8 of their predictions and confidences. */
void kl_knowledge_inherit(struct kl_knowledge *base, const char *state, const char *from);
/** Return the entry of a state with the greatest prediction times confidence, or NULL. */
const struct kl_knowledge_entry *kl_knowledge_best(const struct kl_knowledge *base,
						   const char *state);
/** Book a use that saved `saved` percent. */
void kl_knowledge_learn(struct kl_knowledge_entry *entry, double saved);
/** True if `saved` is within 0.8 to 1.2 of a prediction. */
bool kl_knowledge_foretold(double saved, double predicted);
/**
 * Apply what an updater says: {"adjust": [{"state", "technique", "saved_ppm", "confidence_ppm"}],
 * "deprecate": [{"state", "technique"}]}. Rows without both names are left out.
 */
void kl_knowledge_update(struct kl_knowledge *base, const json_t *said);
/** Return all entries as JSON for the digest of a state; the caller owns it. */
json_t *kl_knowledge_write(const struct kl_knowledge *base);
/** Return all entries as JSON for a prompt, with rounded numbers; the caller owns it. */
json_t *kl_knowledge_tell(const struct kl_knowledge *base);
void kl_knowledge_release(struct kl_knowledge *base);

#endif
