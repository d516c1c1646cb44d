/* SPDX-License-Identifier: Apache-2.0 */
/* lift_useful - derives from measured points the conditions under which a card makes code faster */
#include <fnmatch.h>
#include <string.h>

#include "base/error.h"
#include "base/prefix.h"
#include "learn/lift_parts.h"

/*
 * A condition must be true at every point where the step was faster. It also needs support: a point
 * without a gain where the condition is false, a fact that the step replaced, or an order of steps
 * that several lineages share. An order of steps in one lineage alone is no support.
 */
/* prefix of the texts of conditions that this file adds; it changes no other conditions */
#define AS_MEASURED "as measured: "
#define MAX_FACTS 3 /* maximum number of facts in one condition */

bool kl_lift_is_here(const struct kl_lift_finder *finder, size_t i)
{
	return kl_lift_is_in(finder->points->v[i].t, finder->language);
}

bool kl_lift_is_faster(const struct kl_lift_finder *finder, size_t i)
{
	return finder->points->v[i].speed == KL_LIFT_FASTER;
}

bool kl_lift_not_faster(const struct kl_lift_finder *finder, size_t i)
{
	return finder->points->v[i].speed == KL_LIFT_NO_FASTER ||
	       finder->points->v[i].speed == KL_LIFT_SLOWER;
}

/* --- adding a condition ----------------------------------------------------------------- */

static bool test_holds(const struct kl_lift_points *points, const char *test)
{
	for (size_t i = 0; i < points->n; i++)
		if (points->v[i].speed == KL_LIFT_FASTER &&
		    kl_lift_truth(points, i, test) != KL_TRUE)
			return false;
	return true;
}

/* Of the slower points where the test is false, return the event of the slowest, or NULL. */
static const char *test_witness(const struct kl_lift_points *points, const char *test)
{
	const struct kl_lift_point *best = NULL;

	for (size_t i = 0; i < points->n; i++) {
		const struct kl_lift_point *point = &points->v[i];
		int64_t more = best ? point->ppm - best->ppm : -1;

		if (point->speed != KL_LIFT_SLOWER || kl_lift_truth(points, i, test) != KL_FALSE)
			continue;
		if (more < 0 || (!more && strcmp(point->event, best->event) < 0))
			best = point;
	}
	return best ? best->event : NULL;
}

bool kl_lift_add_clause(const struct kl_lift_finder *finder, const char *id, const char *of,
			const char *test, const char *text)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s-%s", id, of);
	KL_AUTO(kl_freep) char *whole = finder->card->scope.languages.n < 2 ?
						kl_strdup(test) :
						kl_asprintf("language != '%s' || %s",
							    finder->language, test);
	const char *by;

	if (strlen(whole) > KL_PREDICATE_MAX_TEXT || !kl_slug_ok(name) ||
	    kl_card_has_pre(finder->card, name) || !test_holds(finder->points, whole))
		return false;
	by = test_witness(finder->points, whole);
	KL_GROW(finder->card->useful.v, finder->card->useful.n + 1, finder->card->useful.alloc);
	finder->card->useful.v[finder->card->useful.n++] = (struct kl_card_pre){
		.id = kl_steal(&name),
		.test = kl_steal(&whole),
		.text = kl_asprintf(AS_MEASURED "%s", text),
		.state = by ? KL_PRE_WITNESSED : KL_PRE_ASSUMED,
		.by = by ? kl_strdup(by) : NULL,
		.class_ = by ? kl_strdup("slower") : NULL,
	};
	return true;
}

static void join_words(struct kl_buf *out, const struct kl_strvec *list, const char *between)
{
	for (size_t i = 0; i < list->n; i++)
		kl_buf_addf(out, "%s%s", i ? between : "", list->v[i]);
}

/*
 * Return the predicate that tests for a fact: "has('ldg.128')", "trait('tiled')"; the caller frees
 * it.
 */
static char *test_of(const char *fact)
{
	return strncmp(fact, "trait:", 6) ? kl_asprintf("has('%s')", fact) :
					    kl_asprintf("trait('%s')", fact + 6);
}

/* --- facts that the step replaces ------------------------------------------------------------- */

/*
 * List the facts that the step removes, except companions of the mechanism, which can change by
 * chance.
 */
static void replaced_by(struct kl_strvec *out, const struct kl_transition *transition,
			const struct kl_mechanism *mechanism)
{
	for (size_t i = 0; i < transition->lost.n; i++) {
		bool either = false;

		for (size_t k = 0; k < mechanism->companions.n; k++)
			either |= !fnmatch(mechanism->companions.v[k], transition->lost.v[i], 0);
		if (!either)
			kl_strvec_push(out, transition->lost.v[i]);
	}
}

/*
 * Check that the fact was absent at every point without a gain. Return false if `all` has a prefix
 * of the fact, such as "mma" of "mma.bf16", because the fact then adds nothing.
 */
static bool tells_apart(const struct kl_lift_finder *finder, const struct kl_strvec *all,
			const char *fact)
{
	KL_AUTO(kl_freep) char *test = test_of(fact);

	for (size_t i = 0; i < all->n; i++) {
		size_t n = strlen(all->v[i]);

		if (!strncmp(fact, all->v[i], n) && fact[n] == '.')
			return false;
	}
	for (size_t i = 0; i < finder->points->n; i++)
		if (kl_lift_is_here(finder, i) && kl_lift_not_faster(finder, i) &&
		    kl_lift_truth(finder->points, i, test) != KL_FALSE)
			return false;
	return true;
}

static void find_replaced(const struct kl_lift_finder *finder)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec all = KL_STRVEC_INIT, facts = KL_STRVEC_INIT,
						    tests = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf test = KL_BUF_INIT, text = KL_BUF_INIT;
	bool first = true;

	for (size_t i = 0; i < finder->points->n; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec one = KL_STRVEC_INIT;

		if (!kl_lift_is_here(finder, i) || !kl_lift_is_faster(finder, i) ||
		    finder->points->v[i].trial)
			continue;
		replaced_by(&one, finder->points->v[i].t, finder->mechanism);
		if (first)
			kl_strvec_copy(&all, &one);
		else
			kl_lift_keep(&all, &one);
		first = false;
	}
	for (size_t i = 0; i < all.n && facts.n < MAX_FACTS; i++)
		if (tells_apart(finder, &all, all.v[i])) {
			kl_strvec_push(&facts, all.v[i]);
			kl_strvec_take(&tests, test_of(all.v[i]));
		}
	if (!facts.n)
		return;
	join_words(&test, &tests, " || ");
	kl_buf_adds(&text, "wherever it was faster it took the place of ");
	join_words(&text, &facts, ", ");
	kl_lift_add_clause(finder, "replaces", finder->language, test.ptr, text.ptr);
}

/* --- facts that earlier steps must have provided ---------------------------------------------- */

/* Check that an earlier step of the lineage has the mechanism. */
static bool came_after(const struct kl_lifter *lifter, const struct kl_transition *transition,
		       const char *mechanism)
{
	for (const struct kl_transition *earlier = lifter->t->v; earlier < transition; earlier++)
		if (!strcmp(earlier->lineage, transition->lineage) && earlier->step.mechanism &&
		    !strcmp(earlier->step.mechanism, mechanism))
			return true;
	return false;
}

static bool same_case(const struct kl_lift_finder *finder, size_t left_point, size_t right_point)
{
	const struct kl_contract *left = finder->points->v[left_point].t->from->contract,
				 *right = finder->points->v[right_point].t->from->contract;
	const struct kl_dims *left_dims = kl_contract_point(
		left, finder->points->v[left_point].point - 1, NULL);
	const struct kl_dims *right_dims = kl_contract_point(
		right, finder->points->v[right_point].point - 1, NULL);

	for (size_t i = 0; i < left_dims->n; i++)
		if (i >= right_dims->n || strcmp(left->dim_name[i], right->dim_name[i]) != 0)
			return false;
	return !strcmp(left->op, right->op) &&
	       !strcmp(finder->points->v[left_point].t->dtype,
		       finder->points->v[right_point].t->dtype) &&
	       !strcmp(finder->points->v[left_point].t->platform,
		       finder->points->v[right_point].t->platform) &&
	       left_dims->n == right_dims->n &&
	       !memcmp(left_dims->v, right_dims->v, left_dims->n * sizeof(*left_dims->v));
}

/* Check that two points of one case differ: one lacks the fact and has no gain, one is faster. */
static bool has_contrast(const struct kl_lift_finder *finder, const char *test)
{
	for (size_t i = 0; i < finder->points->n; i++) {
		if (!kl_lift_is_here(finder, i) || !kl_lift_not_faster(finder, i) ||
		    kl_lift_truth(finder->points, i, test) != KL_FALSE)
			continue;
		for (size_t k = 0; k < finder->points->n; k++)
			if (kl_lift_is_here(finder, k) && kl_lift_is_faster(finder, k) &&
			    same_case(finder, i, k))
				return true;
	}
	return false;
}

/*
 * Check that steps of several lineages had a gain, and that the fact was absent at every point
 * without a gain.
 */
static bool has_order(const struct kl_lift_finder *finder, const char *fact, const char *test)
{
	const char *lineage = NULL;
	bool several = false;

	if (kl_strvec_has(&finder->card->scope.requires, fact))
		return false; /* the card already requires the fact */
	for (size_t i = 0; i < finder->points->n; i++) {
		if (!kl_lift_is_here(finder, i))
			continue;
		if (kl_lift_not_faster(finder, i) &&
		    kl_lift_truth(finder->points, i, test) != KL_FALSE)
			return false;
		if (kl_lift_is_faster(finder, i)) {
			several |= lineage && strcmp(lineage, finder->points->v[i].t->lineage) != 0;
			lineage = finder->points->v[i].t->lineage;
		}
	}
	return several;
}

/*
 * Return the mechanism's first primary fact that was present at every faster point. Return NULL if
 * there is no such fact, or if the step of one of these points has no earlier step of the mechanism
 * in its lineage.
 */
static const char *fact_before(const struct kl_lift_finder *finder,
			       const struct kl_mechanism *mechanism)
{
	for (size_t i = 0; i < finder->points->n; i++)
		if (kl_lift_is_here(finder, i) && kl_lift_is_faster(finder, i) &&
		    !came_after(finder->lifter, finder->points->v[i].t, mechanism->name))
			return NULL;
	for (size_t k = 0; k < mechanism->primary.n; k++) {
		KL_AUTO(kl_freep) char *test = test_of(mechanism->primary.v[k]);
		bool all = true;

		for (size_t i = 0; all && i < finder->points->n; i++)
			all = !kl_lift_is_here(finder, i) || !kl_lift_is_faster(finder, i) ||
			      kl_lift_truth(finder->points, i, test) == KL_TRUE;
		if (all)
			return mechanism->primary.v[k];
	}
	return NULL;
}

static bool find_before(const struct kl_lift_finder *finder)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec facts = KL_STRVEC_INIT, tests = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf test = KL_BUF_INIT, text = KL_BUF_INIT;

	for (size_t i = 0; i < finder->lifter->mechanisms.n && facts.n < MAX_FACTS; i++) {
		const struct kl_mechanism *mechanism = &finder->lifter->mechanisms.m[i];
		const char *fact = mechanism == finder->mechanism ? NULL :
								    fact_before(finder, mechanism);
		KL_AUTO(kl_freep) char *one = fact ? test_of(fact) : NULL;

		if (fact && !kl_strvec_has(&facts, fact) &&
		    (has_contrast(finder, one) || has_order(finder, fact, one))) {
			kl_strvec_push(&facts, fact);
			kl_strvec_take(&tests, kl_steal(&one));
		}
	}
	if (!facts.n)
		return false;
	join_words(&test, &tests, " && ");
	kl_buf_adds(&text, "wherever it was faster there was before: ");
	join_words(&text, &facts, ", ");
	return kl_lift_add_clause(finder, "after", finder->language, test.ptr, text.ptr);
}

/* --- deriving all conditions ------------------------------------------------------------------ */

static void find_in_language(const struct kl_lift_finder *finder)
{
	bool some = false;

	for (size_t i = 0; i < finder->points->n; i++)
		some |= kl_lift_is_here(finder, i) && kl_lift_is_faster(finder, i);
	if (!some)
		return;
	if (finder->mechanism)
		find_replaced(finder);
	some = find_before(finder);
	kl_lift_bounds(finder, some);
}

/*
 * Drop the measured conditions of an earlier lift. If all evidence is loaded, drop all of them,
 * because they are derived again; otherwise drop those that a point contradicts.
 */
static void drop_measured(struct kl_card *card, const struct kl_lift_points *points)
{
	size_t n = 0;

	for (size_t i = 0; i < card->useful.n; i++) {
		struct kl_card_pre *pre = &card->useful.v[i];
		bool ours = kl_prefix_has(pre->text, AS_MEASURED), gone = points->all;

		for (size_t k = 0; ours && pre->test && !gone && k < points->n; k++)
			gone = points->v[k].speed == KL_LIFT_FASTER &&
			       kl_lift_truth(points, k, pre->test) == KL_FALSE;
		if (ours && gone)
			kl_card_pre_release(pre);
		else
			card->useful.v[n++] = *pre;
	}
	card->useful.n = n;
}

void kl_lift_useful(struct kl_card *card, const struct kl_lifter *lifter)
{
	KL_AUTO(kl_lift_points_release) struct kl_lift_points points = { 0 };
	struct kl_lift_finder finder = {
		.card = card,
		.lifter = lifter,
		.points = &points,
		.mechanism = card->mechanism ?
				     kl_mechanisms_find(&lifter->mechanisms, card->mechanism) :
				     NULL,
	};

	if (kl_lift_points(&points, lifter, card) < 0) {
		kl_strvec_pushf(lifter->notes, "%s: %s", card->id, kl_error_last());
		kl_error_clear();
		return;
	}
	drop_measured(card, &points);
	for (size_t i = 0; points.all && i < card->scope.languages.n; i++) {
		finder.language = card->scope.languages.v[i];
		find_in_language(&finder);
	}
}
