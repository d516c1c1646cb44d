/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/locus.h"

#include <string.h>

#include "base/prefix.h"
#include "retrieve/retrieve.h"

static void case_of(struct kl_case *out, const struct kl_target *target, const char *op)
{
	kl_case_init(out, target->tax, op, "");
}

/* Check that the card was learned from the target's operator or a related one. */
static bool knows_operator(const struct kl_target *target, const struct kl_card *card)
{
	for (size_t i = 0; i < card->scope.cases.n; i++) {
		struct kl_case known;

		case_of(&known, target, card->scope.cases.v[i]);
		if (kl_similarity_is_related(target->tax, &known, &target->point))
			return true;
	}
	return false;
}

/* Check that the card was learned from operators that are not related to each other. */
static bool is_general(const struct kl_target *target, const struct kl_card *card)
{
	struct kl_case first, other;

	for (size_t i = 1; i < card->scope.cases.n; i++) {
		case_of(&first, target, card->scope.cases.v[0]);
		case_of(&other, target, card->scope.cases.v[i]);
		if (!kl_similarity_is_related(target->tax, &first, &other))
			return true;
	}
	return false;
}

static char *why_useless(struct kl_target *target, const struct kl_card *card)
{
	for (size_t i = 0; i < card->useful.n; i++)
		if (card->useful.v[i].test && kl_card_pre_counts(&card->useful.v[i]) &&
		    kl_target_test(target, card->useful.v[i].test, false, NULL) == KL_FALSE)
			return kl_asprintf("the useful precondition '%s' is false",
					   card->useful.v[i].id);
	return NULL;
}

/*
 * Set *lacks to the first fact that the anchor has in the target's language and the target does not
 * have, or to NULL. The depth of a loop does not count, because it says nothing about the work of
 * the loop. Return the number of facts that count.
 */
static size_t find_lacking(const char **lacks, const struct kl_target *target,
			   const struct kl_card *card)
{
	size_t n = 0;

	*lacks = NULL;
	for (size_t i = 0; i < card->anchor.find.n; i++) {
		const struct kl_card_find *find = &card->anchor.find.v[i];

		if (strcmp(find->language, target->language))
			continue;
		for (size_t k = 0; k < find->facts.n; k++) {
			const char *fact = find->facts.v[k];

			if (*fact == '!' || kl_prefix_has(fact, "loop.depth."))
				continue;
			n++;
			if (!*lacks && !kl_target_has(target, fact))
				*lacks = fact;
		}
	}
	return n;
}

char *kl_locus_missing(struct kl_target *target, const struct kl_card *card,
		       const struct kl_surface *surface)
{
	char *why = why_useless(target, card);
	const char *lacks;

	/* nothing is known of an operator that the taxonomy lacks, so it is not unrelated either */
	if (why || kl_taxonomy_op(target->tax, target->op) < 0 || knows_operator(target, card) ||
	    kl_retrieve_fits_loop(card, surface))
		return why;
	if (!find_lacking(&lacks, target, card))
		return is_general(target, card) ?
			       NULL :
			       kl_asprintf("the card was learned from no operator like '%s', and "
					   "its anchor has no fact to find its code by",
					   target->op);
	if (!lacks)
		return NULL;
	return kl_asprintf("the card was learned from no operator like '%s', and the state does "
			   "not have '%s', which the card's anchor has",
			   target->op, lacks);
}
