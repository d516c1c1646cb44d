/* SPDX-License-Identifier: Apache-2.0 */
/* review_violations - finds cards in use whose preconditions a change violates */
#include "base/error.h"
#include "repo/refs.h"
#include "retrieve/index.h"
#include "retrieve/target.h"
#include "review/review_parts.h"

/* A kernel before and after a change, the cards to check it with, and where to add findings. */
struct violating {
	struct kl_findings *out;
	const struct kl_index *ix;
	struct kl_target old, now;
};

static void release_violating(struct violating *violating)
{
	kl_target_release(&violating->old);
	kl_target_release(&violating->now);
}

/*
 * Return true if the card is in use: a commit names the card, or the kernel has all facts that the
 * card provides.
 */
static bool is_used(const struct violating *violating, const struct kl_index_card *card)
{
	const struct kl_index_list provides = kl_index_prior(violating->ix, card->prior)->provides;
	const uint32_t *item = kl_index_items(violating->ix, provides);

	if (kl_target_has(&violating->now, kl_index_string(violating->ix, card->id)))
		return true;
	for (uint32_t i = 0; i < provides.n; i++)
		if (!kl_target_has(&violating->now, kl_index_string(violating->ix, item[i])))
			return false;
	return provides.n;
}

static void check_card(struct violating *violating, const struct kl_index_card *card)
{
	const uint32_t *item = kl_index_items(violating->ix, card->sound);

	for (uint32_t i = 0; i + 1 < card->sound.n; i += 2) {
		KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
		const char *test = kl_index_string(violating->ix, item[i + 1]);

		if (*test && kl_target_test(&violating->now, test, true, &why) == KL_FALSE &&
		    kl_target_test(&violating->old, test, true, NULL) != KL_FALSE)
			kl_findings_add(violating->out, KL_ANSWER, "card-violated",
					"the card %s is in use here and requires %s "
					"(%s), which no longer holds: %s",
					kl_index_string(violating->ix, card->id),
					kl_index_string(violating->ix, item[i]), test, why.ptr);
	}
}

/*
 * Open the index of this clone's library. If that library is empty, open the index of the library
 * fetched from origin.
 */
static int open_cards(struct kl_index **out, struct kl_repo *repo, const struct kl_taxonomy *tax)
{
	static const char *const refs[] = {
		"refs/klineage-remotes/origin/heads/skills",
		"refs/remotes/origin/klineage/skills",
	};
	KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
	int err = kl_index_open(&ix, repo, tax);

	for (size_t i = 0; i < KL_ARRAY_SIZE(refs) && !err && !kl_index_count(ix); i++) {
		KL_AUTO(kl_library_freep) struct kl_library *lib = NULL;
		git_oid tip;

		if (kl_refs_get(&tip, repo, refs[i]) < 0) {
			kl_error_clear();
			continue;
		}
		kl_index_free(kl_steal(&ix));
		if (!(err = kl_library_open_at(&lib, repo, &tip)))
			err = kl_index_of(&ix, repo, lib, tax);
	}
	if (!err)
		*out = kl_steal(&ix);
	return err;
}

int kl_review_violations(struct kl_findings *out, struct kl_review_work *work,
			 const struct kl_surface *old, const struct kl_surface *now)
{
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
	KL_AUTO(release_violating)
	struct violating violating = {
		.out = out,
		.old = { .known = KL_KNOWN_INIT },
		.now = { .known = KL_KNOWN_INIT },
	};
	int err = kl_taxonomy_load(&tax);

	if (!err)
		err = open_cards(&ix, work->r, tax);
	if (err < 0 || !kl_index_count(ix))
		return err;
	violating.ix = ix;
	err = kl_target_of_commit(&violating.now, tax, work->r, now, &work->v->head, NULL);
	if (!err)
		err = kl_target_of_commit(&violating.old, tax, work->r, old, &work->v->base,
					  violating.now.platform);
	if (err == KL_ECANNOT || err == KL_EINVALID) {
		kl_findings_add(out, KL_NOTE, "cards-not-asked",
				"preconditions of cards were not checked: %s", kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	for (size_t i = 0; i < kl_index_count(ix); i++) {
		const struct kl_index_card *card = kl_index_card(ix, i);

		if (card->status != KL_CARD_RETRACTED && is_used(&violating, card))
			check_card(&violating, card);
	}
	return 0;
}
