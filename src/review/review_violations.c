/* SPDX-License-Identifier: Apache-2.0 */
/* review_violations - cards in use whose preconditions a change violates */
#include "base/error.h"
#include "repo/refs.h"
#include "retrieve/index.h"
#include "retrieve/target.h"
#include "review/review_parts.h"

/* One kernel before and after, and the cards of this clone. */
struct violating {
	struct kl_findings *out;
	const struct kl_index *ix;
	struct kl_target old, now;
};

static void release_violating(struct violating *x)
{
	kl_target_release(&x->old);
	kl_target_release(&x->now);
}

/* A card is in use if a commit says so, or if all that it provides is there. */
static bool is_used(const struct violating *x, const struct kl_index_card *c)
{
	const struct kl_index_list provides = kl_index_prior(x->ix, c->prior)->provides;
	const uint32_t *item = kl_index_items(x->ix, provides);

	if (kl_target_has(&x->now, kl_index_string(x->ix, c->id)))
		return true;
	for (uint32_t i = 0; i < provides.n; i++)
		if (!kl_target_has(&x->now, kl_index_string(x->ix, item[i])))
			return false;
	return provides.n;
}

static void check_card(struct violating *x, const struct kl_index_card *c)
{
	const uint32_t *item = kl_index_items(x->ix, c->sound);

	for (uint32_t i = 0; i + 1 < c->sound.n; i += 2) {
		KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
		const char *test = kl_index_string(x->ix, item[i + 1]);

		if (*test && kl_target_test(&x->now, test, true, &why) == KL_FALSE &&
		    kl_target_test(&x->old, test, true, NULL) != KL_FALSE)
			kl_findings_add(x->out, KL_ANSWER, "card-violated",
					"the card %s is in use here and asks for %s "
					"(%s), which no longer holds: %s",
					kl_index_string(x->ix, c->id),
					kl_index_string(x->ix, item[i]), test, why.ptr);
	}
}

/* The library of this clone; where there is none, what it knows of that of `origin`. */
static int open_cards(struct kl_index **out, struct kl_repo *r, const struct kl_taxonomy *tax)
{
	static const char *const refs[] = {
		"refs/klineage-remotes/origin/heads/skills",
		"refs/remotes/origin/klineage/skills",
	};
	KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
	int err = kl_index_open(&ix, r, tax);

	for (size_t i = 0; i < KL_ARRAY_SIZE(refs) && !err && !kl_index_count(ix); i++) {
		KL_AUTO(kl_library_freep) struct kl_library *lib = NULL;
		git_oid tip;

		if (kl_refs_get(&tip, r, refs[i]) < 0) {
			kl_error_clear();
			continue;
		}
		kl_index_free(kl_steal(&ix));
		if (!(err = kl_library_open_at(&lib, r, &tip)))
			err = kl_index_of(&ix, r, lib, tax);
	}
	if (!err)
		*out = kl_steal(&ix);
	return err;
}

int kl_review_violations(struct kl_findings *out, struct kl_review_work *w,
			 const struct kl_surface *old, const struct kl_surface *now)
{
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
	KL_AUTO(release_violating)
	struct violating x = {
		.out = out,
		.old = { .known = KL_KNOWN_INIT },
		.now = { .known = KL_KNOWN_INIT },
	};
	int err = kl_taxonomy_load(&tax);

	if (!err)
		err = open_cards(&ix, w->r, tax);
	if (err < 0 || !kl_index_count(ix))
		return err;
	x.ix = ix;
	err = kl_target_of_commit(&x.now, tax, w->r, now, &w->v->head, NULL);
	if (!err)
		err = kl_target_of_commit(&x.old, tax, w->r, old, &w->v->base, x.now.platform);
	if (err == KL_ECANNOT || err == KL_EINVALID) {
		kl_findings_add(out, KL_NOTE, "cards-not-asked", "its cards were not asked: %s",
				kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	for (size_t i = 0; i < kl_index_count(ix); i++) {
		const struct kl_index_card *c = kl_index_card(ix, i);

		if (c->status != KL_CARD_RETRACTED && is_used(&x, c))
			check_card(&x, c);
	}
	return 0;
}
