/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_CARD_TYPES_H
#define KL_CARD_CARD_TYPES_H

#include "text/schema.h"

/*
 * card_types - the types of a card's texts and values, and the tables of its fields for
 * text/schema.h. The tables are public, so that other code can compare rows of cards.
 */
extern const struct kl_string_type kl_card_commit_id; /* 40 hex digits */
extern const struct kl_string_type kl_card_event_id;  /* 64 hex digits */
extern const struct kl_string_type kl_card_fact;      /* "cp.async", "!trait:tiled" */
extern const struct kl_string_type kl_card_predicate; /* predicate.h */

extern const struct kl_value_type kl_card_dims_value; /* struct kl_card_dims: {K: 64} */
/**
 * Value of type struct kl_strvec: ids of the cards that a card enables. The empty list is "win" in
 * YAML, any other list {enabler: [...]}.
 */
extern const struct kl_value_type kl_card_kind_value;

/**
 * Compare two struct kl_card_dims pair by pair, by name and then value; if one is the beginning of
 * the other, the one with fewer dims is less.
 */
int kl_card_dims_compare(const void *left, const void *right);

extern const struct kl_schema kl_card_schema, kl_card_evidence_schema, kl_card_row_schema,
	kl_card_trial_schema, kl_card_risk_schema, kl_card_pre_schema;

#endif
