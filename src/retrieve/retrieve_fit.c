/* SPDX-License-Identifier: Apache-2.0 */
/* retrieve_fit - finds the retrieved cards that have anything in common with the target */
#include <string.h>

#include "base/error.h"
#include "base/prefix.h"
#include "retrieve/retrieve_parts.h"
#include "rewrite/transform/transform_surface.h"

/* The target that the cards are compared with, and where the cards are. */
struct fit_query {
	const struct kl_index *ix;
	struct kl_repo *library;
	const struct kl_target *target;
	const struct kl_surface *surface;
};

/* Check that a point of the card has the target's operator or a related one. */
static bool is_related(const struct fit_query *query, size_t card)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);

	for (uint32_t i = 0; i < entry->nrows; i++) {
		const struct kl_index_row *row = kl_index_row(query->ix, entry->rows + i);

		if (kl_similarity_is_related(query->target->tax,
					     kl_index_point(query->ix, row->point),
					     &query->target->point))
			return true;
	}
	return false;
}

/*
 * Check that the target has at least one of the facts by which the card's anchor is found, not
 * counting the depth of a loop, and none of the facts that the anchor must lack. A target that was
 * measured and has no fact at all is plain: it is like the first states of lineages, which have few
 * facts or none, so every anchor in its language counts.
 */
static bool has_facts(const struct fit_query *query, const struct kl_card *card)
{
	const struct kl_strvec *facts = NULL;
	bool found = false;

	for (size_t i = 0; i < card->anchor.find.n; i++)
		if (!strcmp(card->anchor.find.v[i].language, query->target->language))
			facts = &card->anchor.find.v[i].facts;
	if (facts && query->target->measured && !query->target->prior.n)
		return true;
	for (size_t i = 0; facts && i < facts->n; i++) {
		bool absent = facts->v[i][0] == '!';

		if (!kl_target_has(query->target, facts->v[i] + absent) ||
		    kl_prefix_has(facts->v[i], "loop.depth."))
			continue;
		if (absent)
			return false;
		found = true;
	}
	return found;
}

bool kl_retrieve_fits_loop(const struct kl_card *card, const struct kl_surface *surface)
{
	for (size_t i = 0; i < card->carriers.n; i++)
		if (card->carriers.v[i].form == KL_CARRIER_TRANSFORM &&
		    !strcmp(card->carriers.v[i].language, surface->contract->language->name) &&
		    kl_transform_surface_fits(card->carriers.v[i].text, surface))
			return true;
	return false;
}

static int check_card(bool *out, const struct fit_query *query, size_t card)
{
	KL_AUTO(kl_card_freep) struct kl_card *whole = NULL;
	int err = 0;

	*out = is_related(query, card);
	if (*out || (err = kl_index_load(&whole, query->ix, query->library, card)) < 0)
		return err;
	*out = has_facts(query, whole) || kl_retrieve_fits_loop(whole, query->surface);
	return 0;
}

/* Also mark as fitting each card that a fitting card requires. */
static void keep_required(struct kl_retrieval *retrieval)
{
	for (size_t i = 0; i < retrieval->n; i++)
		for (size_t k = 0; retrieval->v[i].fits && k < retrieval->n; k++)
			if (kl_strvec_has(&retrieval->v[i].needs, retrieval->v[k].id))
				retrieval->v[k].fits = true;
}

int kl_retrieve_mark_fit(struct kl_retrieval *retrieval, const struct kl_index *ix,
			 struct kl_repo *library, const struct kl_target *target,
			 const struct kl_surface *surface)
{
	const struct fit_query query = { ix, library, target, surface };

	retrieval->fit = 0;
	for (size_t i = 0; i < retrieval->n; i++) {
		int err = check_card(&retrieval->v[i].fits, &query, retrieval->v[i].card);

		if (err < 0)
			return err;
	}
	keep_required(retrieval);
	for (size_t i = 0; i < retrieval->n; i++)
		retrieval->fit += retrieval->v[i].fits;
	return 0;
}

/* --- leaving out the others ------------------------------------------------------------------- */

static bool is_listed(const struct kl_retrieval *retrieval, const char *id)
{
	for (size_t i = 0; i < retrieval->n; i++)
		if (!strcmp(retrieval->v[i].id, id))
			return true;
	return false;
}

/* Remove the steps of cards that are no longer listed, and lineages that have none left. */
static void drop_paths(struct kl_retrieval *retrieval)
{
	size_t npath = 0;

	for (size_t i = 0; i < retrieval->npath; i++) {
		struct kl_retrieved_path path = retrieval->path[i];
		size_t n = 0;

		for (size_t k = 0; k < path.n; k++)
			if (is_listed(retrieval, path.v[k].id))
				path.v[n++] = path.v[k];
			else
				free(path.v[k].id);
		path.n = n;
		if (n) {
			retrieval->path[npath++] = path;
			continue;
		}
		free(path.v);
		free(path.lineage);
	}
	retrieval->npath = npath;
}

void kl_retrieve_drop_unfit(struct kl_retrieval *retrieval)
{
	size_t n = 0;

	for (size_t i = 0; i < retrieval->n; i++) {
		if (retrieval->v[i].fits) {
			retrieval->v[n++] = retrieval->v[i];
			continue;
		}
		retrieval->v[i].why = kl_strdup(
			"nothing in common: the card's operators are unrelated, the kernel has no "
			"fact of the card's anchor, and no transformation of the card fits a loop "
			"of the sources");
		KL_GROW(retrieval->dropped, retrieval->ndropped + 1, retrieval->dropped_alloc);
		retrieval->dropped[retrieval->ndropped++] = retrieval->v[i];
	}
	retrieval->n = n;
	drop_paths(retrieval);
}

void kl_retrieve_cut(struct kl_retrieval *retrieval, size_t limit)
{
	size_t kept = 0, own = 0;

	if (!limit)
		return;
	for (size_t i = 0; i < retrieval->n && own < limit; i++)
		if (!retrieval->v[i].needed_by) {
			own++;
			kept = i + 1;
		}
	while (retrieval->n > kept)
		kl_retrieved_release(&retrieval->v[--retrieval->n]);
	drop_paths(retrieval);
}
