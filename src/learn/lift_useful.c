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
#define MAX_FACTS 3 /* most facts in one condition */
#define MAX_SIZES 4
#define LEAST_POINTS 3 /* fewest points from which a bound of a profile figure is derived */
/* least factor between the two values nearest to the bound, one with a gain and one without */
#define WIDE 2

struct finder {
	struct kl_card *card;
	const struct kl_lifter *lifter;
	const struct kl_mechanism *mechanism; /* mechanism of the card, or NULL */
	const struct kl_lift_points *points;
	const char *language; /* consider only points in this language */
};

static const struct kl_contract *contract_at(const struct finder *finder, size_t i)
{
	return finder->points->v[i].t->from->contract;
}

static bool is_here(const struct finder *finder, size_t i)
{
	return kl_lift_is_in(finder->points->v[i].t, finder->language);
}

static bool is_faster(const struct finder *finder, size_t i)
{
	return finder->points->v[i].speed == KL_LIFT_FASTER;
}

static bool not_faster(const struct finder *finder, size_t i)
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

/* Of the slower points where the test is false, return the transition of the slowest, or NULL. */
static const struct kl_transition *test_witness(const struct kl_lift_points *points,
						const char *test)
{
	const struct kl_lift_point *best = NULL;

	for (size_t i = 0; i < points->n; i++) {
		const struct kl_lift_point *point = &points->v[i];
		int64_t more = best ? point->ppm - best->ppm : -1;

		if (point->speed != KL_LIFT_SLOWER || kl_lift_truth(points, i, test) != KL_FALSE)
			continue;
		if (more < 0 || (!more && strcmp(point->t->event->id, best->t->event->id) < 0))
			best = point;
	}
	return best ? best->t : NULL;
}

/* Add a condition for finder->language; the condition is true in the card's other languages. */
static bool add_clause(const struct finder *finder, const char *id, const char *of,
		       const char *test, const char *text)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s-%s", id, of);
	KL_AUTO(kl_freep) char *whole = finder->card->scope.languages.n < 2 ?
						kl_strdup(test) :
						kl_asprintf("language != '%s' || %s",
							    finder->language, test);
	const struct kl_transition *by;

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
		.by = by ? kl_strdup(by->event->id) : NULL,
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
static bool tells_apart(const struct finder *finder, const struct kl_strvec *all, const char *fact)
{
	KL_AUTO(kl_freep) char *test = test_of(fact);

	for (size_t i = 0; i < all->n; i++) {
		size_t n = strlen(all->v[i]);

		if (!strncmp(fact, all->v[i], n) && fact[n] == '.')
			return false;
	}
	for (size_t i = 0; i < finder->points->n; i++)
		if (is_here(finder, i) && not_faster(finder, i) &&
		    kl_lift_truth(finder->points, i, test) != KL_FALSE)
			return false;
	return true;
}

static void find_replaced(const struct finder *finder)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec all = KL_STRVEC_INIT, facts = KL_STRVEC_INIT,
						    tests = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf test = KL_BUF_INIT, text = KL_BUF_INIT;
	bool first = true;

	for (size_t i = 0; i < finder->points->n; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec one = KL_STRVEC_INIT;

		if (!is_here(finder, i) || !is_faster(finder, i))
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
	add_clause(finder, "replaces", finder->language, test.ptr, text.ptr);
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

static bool same_case(const struct finder *finder, size_t left_point, size_t right_point)
{
	const struct kl_contract *left = contract_at(finder, left_point),
				 *right = contract_at(finder, right_point);
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
static bool has_contrast(const struct finder *finder, const char *test)
{
	for (size_t i = 0; i < finder->points->n; i++) {
		if (!is_here(finder, i) || !not_faster(finder, i) ||
		    kl_lift_truth(finder->points, i, test) != KL_FALSE)
			continue;
		for (size_t k = 0; k < finder->points->n; k++)
			if (is_here(finder, k) && is_faster(finder, k) && same_case(finder, i, k))
				return true;
	}
	return false;
}

/*
 * Check that steps of several lineages had a gain, and that the fact was absent at every point
 * without a gain.
 */
static bool has_order(const struct finder *finder, const char *fact, const char *test)
{
	const char *lineage = NULL;
	bool several = false;

	if (kl_strvec_has(&finder->card->scope.requires, fact))
		return false; /* the card already requires the fact */
	for (size_t i = 0; i < finder->points->n; i++) {
		if (!is_here(finder, i))
			continue;
		if (not_faster(finder, i) && kl_lift_truth(finder->points, i, test) != KL_FALSE)
			return false;
		if (is_faster(finder, i)) {
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
static const char *fact_before(const struct finder *finder, const struct kl_mechanism *mechanism)
{
	for (size_t i = 0; i < finder->points->n; i++)
		if (is_here(finder, i) && is_faster(finder, i) &&
		    !came_after(finder->lifter, finder->points->v[i].t, mechanism->name))
			return NULL;
	for (size_t k = 0; k < mechanism->primary.n; k++) {
		KL_AUTO(kl_freep) char *test = test_of(mechanism->primary.v[k]);
		bool all = true;

		for (size_t i = 0; all && i < finder->points->n; i++)
			all = !is_here(finder, i) || !is_faster(finder, i) ||
			      kl_lift_truth(finder->points, i, test) == KL_TRUE;
		if (all)
			return mechanism->primary.v[k];
	}
	return NULL;
}

static bool find_before(const struct finder *finder)
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
	return add_clause(finder, "after", finder->language, test.ptr, text.ptr);
}

/* --- bounds of sizes and profile figures ------------------------------------------------------ */

/* Only points with these values are compared; NULL: any value. */
struct frame {
	const char *op, *dtype, *platform;
};

/* A bound of `key` that separates points with a gain from points without one. */
struct parting {
	const char *key;
	bool above; /* points with a gain have the greater values */
	/* values of `key` nearest to the bound, in millionths: with a gain; without one */
	int64_t gain, none;
};

static bool is_in(const struct finder *finder, const struct frame *frame, size_t i)
{
	const struct kl_lift_point *point = &finder->points->v[i];

	return is_here(finder, i) && (is_faster(finder, i) || not_faster(finder, i)) &&
	       (!frame->op || !strcmp(contract_at(finder, i)->op, frame->op)) &&
	       (!frame->dtype || !strcmp(point->t->dtype, frame->dtype)) &&
	       !strcmp(point->t->platform, frame->platform);
}

/*
 * Check that the values of `key` separate the points of a frame: `key` has a value at each point,
 * and all values with a gain lie on one side of all values without. Sets *out to the bound.
 */
static bool parts_points(struct parting *out, const struct finder *finder,
			 const struct frame *frame, const char *key)
{
	int64_t least[2] = { INT64_MAX, INT64_MAX }, most[2] = { INT64_MIN, INT64_MIN }, value;

	for (size_t i = 0; i < finder->points->n; i++) {
		int side = is_faster(finder, i);

		if (!is_in(finder, frame, i))
			continue;
		if (!kl_known_number(&value, &kl_lift_stand(finder->points, i)->known, key))
			return false;
		least[side] = value < least[side] ? value : least[side];
		most[side] = value > most[side] ? value : most[side];
	}
	if (least[0] > most[0] || least[1] > most[1] ||
	    (least[1] <= most[0] && most[1] >= least[0]))
		return false;
	*out = least[1] > most[0] ? (struct parting){ key, true, least[1], most[0] } :
				    (struct parting){ key, false, most[1], least[0] };
	return true;
}

static bool is_wide(const struct parting *parting)
{
	int64_t small = parting->above ? parting->none : parting->gain,
		large = parting->above ? parting->gain : parting->none;

	return small <= large / WIDE;
}

/* Write a condition such as "K > 64 || N > 64": true if any key is beyond its bound `none`. */
static void write_test(struct kl_buf *out, const struct parting *parting, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		kl_buf_addf(out, "%s%s %c ", i ? " || " : "", parting[i].key,
			    parting[i].above ? '>' : '<');
		kl_buf_add_decimal(out, parting[i].none);
	}
}

static void write_side(struct kl_buf *out, const struct parting *parting, size_t n, bool gain)
{
	for (size_t i = 0; i < n; i++) {
		kl_buf_addf(out, "%s%s %s ", i ? ", " : "", parting[i].key,
			    parting[i].above == gain ? ">=" : "<=");
		kl_buf_add_decimal(out, gain ? parting[i].gain : parting[i].none);
	}
}

static bool add_parting(const struct finder *finder, const char *id, const char *of, const char *op,
			const struct parting *parting, size_t n)
{
	KL_AUTO(kl_buf_release) struct kl_buf test = KL_BUF_INIT, text = KL_BUF_INIT;

	if (op)
		kl_buf_addf(&test, "op != '%s' || ", op);
	write_test(&test, parting, n);
	if (op)
		kl_buf_addf(&text, "in %s ", op);
	kl_buf_adds(&text, "faster at ");
	write_side(&text, parting, n, true);
	kl_buf_adds(&text, ", not at ");
	write_side(&text, parting, n, false);
	return add_clause(finder, id, of, test.ptr, text.ptr);
}

/*
 * Derive bounds of dims within one operator, because kernels of different operators differ in more
 * than size.
 */
static bool find_dims(const struct finder *finder, size_t at)
{
	const struct kl_contract *contract = contract_at(finder, at);
	const struct frame frame = { contract->op, finder->points->v[at].t->dtype,
				     finder->points->v[at].t->platform };
	struct parting partings[MAX_SIZES];
	size_t n = 0;

	for (size_t i = 0; i < contract->dims.n; i++) {
		if (!parts_points(&partings[n], finder, &frame, contract->dim_name[i]))
			continue;
		if (++n == MAX_SIZES)
			break;
	}
	return n && add_parting(finder, "sizes", contract->op, contract->op, partings, n);
}

static bool has_several_ops(const struct finder *finder, const struct frame *frame)
{
	const char *op = NULL;

	for (size_t i = 0; i < finder->points->n; i++) {
		if (!is_in(finder, frame, i))
			continue;
		if (op && strcmp(op, contract_at(finder, i)->op))
			return true;
		op = contract_at(finder, i)->op;
	}
	return false;
}

/*
 * Derive a bound of an extent from the points of all operators. Derive none if the extents of
 * several roles separate the points, or if the two values at the bound are close.
 */
static bool find_extent(const struct finder *finder, size_t at)
{
	const struct frame frame = { NULL, finder->points->v[at].t->dtype,
				     finder->points->v[at].t->platform };
	const struct kl_strvec *roles = &finder->lifter->tax->roles;
	KL_AUTO(kl_freep) char *found = NULL;
	struct parting best = { 0 };

	if (!has_several_ops(finder, &frame))
		return false;
	for (size_t i = 0; i < roles->n; i++) {
		KL_AUTO(kl_freep) char *key = kl_asprintf("extent(%s)", roles->v[i]);
		struct parting parting;

		if (!parts_points(&parting, finder, &frame, key))
			continue;
		if (found)
			return false;
		found = kl_steal(&key);
		best = parting;
		best.key = found;
	}
	return found && is_wide(&best) &&
	       add_parting(finder, "extent", finder->language, NULL, &best, 1);
}

/* Derive a bound of a profile figure of K_{i-1}. Such a figure tells how busy the device was. */
static bool find_figure(const struct finder *finder, size_t at)
{
	static const char *const figure[] = { "sol.dram", "sol.compute", "occupancy" };
	const struct frame frame = { NULL, NULL, finder->points->v[at].t->platform };
	struct parting parting, best = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < finder->points->n; i++)
		n += is_in(finder, &frame, i);
	for (size_t i = 0; n >= LEAST_POINTS && i < KL_ARRAY_SIZE(figure); i++) {
		if (!parts_points(&parting, finder, &frame, figure[i]))
			continue;
		if (best.key)
			return false;
		best = parting;
	}
	return best.key && is_wide(&best) &&
	       add_parting(finder, "figure", finder->language, NULL, &best, 1);
}

typedef bool find_fn(const struct finder *f, size_t at);

static bool at_each_gain(const struct finder *finder, find_fn *find)
{
	bool some = false;

	for (size_t i = 0; i < finder->points->n; i++)
		if (is_here(finder, i) && is_faster(finder, i))
			some |= find(finder, i);
	return some;
}

/* --- deriving all conditions ------------------------------------------------------------------ */

static void find_in_language(const struct finder *finder)
{
	bool some = false;

	for (size_t i = 0; i < finder->points->n; i++)
		some |= is_here(finder, i) && is_faster(finder, i);
	if (!some)
		return;
	if (finder->mechanism)
		find_replaced(finder);
	some = find_before(finder);
	if (!at_each_gain(finder, find_dims) && !at_each_gain(finder, find_extent) && !some)
		at_each_gain(finder, find_figure);
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
	struct finder finder = {
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
