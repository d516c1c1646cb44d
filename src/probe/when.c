/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/when.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "event/speed.h"
#include "probe/when_parts.h"
#include "retrieve/roles.h"

#define LEAST_PPM 10000 /* least noise to assume, even if less was measured */
#define SAME_PPM 30000  /* kernels whose ratio is this near to 1 are equally fast */

void kl_when_release(struct kl_when *when)
{
	for (size_t i = 0; i < when->n; i++)
		free(when->point[i].why);
	free(when->point);
	free(when->platform);
	free(when->device);
	free(when->name_a);
	free(when->name_b);
	free(when->digest_a);
	free(when->digest_b);
	*when = (struct kl_when){ 0 };
}

/* --- outcomes --------------------------------------------------------------------------------- */

static void take_side(struct kl_when_side *side, const struct kl_event *event)
{
	*side = (struct kl_when_side){ .end = KL_WHEN_PASS };
	snprintf(side->event, sizeof(side->event), "%s", event->id);
	/* A kernel that is slower does not fail here; the ratio says how much slower it is. */
	if (kl_event_is_fail(event)) {
		side->end = KL_WHEN_FAIL;
		snprintf(side->class_, sizeof(side->class_), "%s", kl_event_class(event));
	} else if (event->verdict == KL_VERDICT_NOT_RUN || !event->correct) {
		side->end = KL_WHEN_UNTESTED;
	}
}

/*
 * Return what the interval shows: faster or slower if all of it is beyond 1 by more than the noise,
 * which is the distance of the A/A interval from 1; the same if interval and noise are within
 * SAME_PPM.
 */
static enum kl_speed speed_of(const struct kl_ratio *ratio, int64_t aa_ppm)
{
	double noise = 1 + (double)(aa_ppm > LEAST_PPM ? aa_ppm : LEAST_PPM) / 1e6;
	double lo = (double)ratio->lo / 1e6, hi = (double)ratio->hi / 1e6;

	if (kl_speed_is_useless(ratio))
		return KL_SPEED_AMBIGUOUS;
	if (lo > noise)
		return KL_SPEED_FAST;
	if (hi * noise < 1)
		return KL_SPEED_SLOW;
	return aa_ppm <= SAME_PPM && hi < 1 + SAME_PPM / 1e6 && lo > 1 - SAME_PPM / 1e6 ?
		       KL_SPEED_SAME :
		       KL_SPEED_AMBIGUOUS;
}

/* Keep the reason why a kernel fails, which is the first line of its event's message. */
static void keep_reason(struct kl_when_point *point, const struct kl_event *event)
{
	free(point->why);
	point->why = NULL;
	if (event && kl_event_is_fail(event) && *event->message)
		point->why = kl_strndup(event->message, strcspn(event->message, "\n"));
}

void kl_when_take(struct kl_when_point *point, const struct kl_event *a, const struct kl_event *b)
{
	const struct kl_comparison *parent = b ? kl_comparisons_parent(&b->profile.vs) : NULL;

	take_side(&point->a, a);
	if (b)
		take_side(&point->b, b);
	keep_reason(point, point->a.end == KL_WHEN_FAIL ? a : b);
	if (!b || point->b.end != KL_WHEN_PASS || !parent || parent->ratio.ppm <= 0 ||
	    strcmp(parent->surface, a->surface) != 0)
		return;
	point->ratio = parent->ratio;
	point->speed = speed_of(&parent->ratio, b->profile.aa_ppm);
	point->ns = b->profile.ns;
}

void kl_when_measure_point(struct kl_when_point *point, const struct kl_contract *contract)
{
	point->elements = kl_grid_elements(&point->dims);
	if (kl_grid_bytes(&point->bytes, contract, &point->dims) < 0) {
		point->bytes = 0;
		kl_error_clear();
	}
}

static bool is_timed(const struct kl_when_point *point)
{
	return point->a.end == KL_WHEN_PASS && point->b.end == KL_WHEN_PASS && point->ratio.ppm > 0;
}

bool kl_when_gains(const struct kl_when_point *point)
{
	return is_timed(point) && point->speed == KL_SPEED_FAST;
}

bool kl_when_counts(const struct kl_when_point *point)
{
	return !point->unsound &&
	       (is_timed(point) || (point->a.end == KL_WHEN_PASS && point->b.end == KL_WHEN_FAIL));
}

bool kl_when_is_unclear(const struct kl_when_point *point)
{
	return is_timed(point) && point->speed == KL_SPEED_AMBIGUOUS;
}

/* --- the condition ---------------------------------------------------------------------------- */

/* the figures are the extents of all dims, then the product of all dims, then the bytes */
int64_t kl_when_figure(const struct kl_when *when, const struct kl_when_point *point, size_t figure)
{
	if (figure < when->contract->dims.n)
		return point->dims.v[figure];
	return figure == when->contract->dims.n ? point->elements : point->bytes;
}

void kl_when_figure_name(char out[96], const struct kl_when *when, size_t figure)
{
	size_t n = when->contract->dims.n;

	if (figure < n)
		snprintf(out, 96, "%s", when->contract->dim_name[figure]);
	else
		snprintf(out, 96, "%s",
			 figure == n ? "product of all dims" : "bytes of all tensors");
}

void kl_when_fit(struct kl_when *when)
{
	size_t nfigure = when->contract->dims.n + 2, n = 0;
	KL_AUTO(kl_freep) int64_t *value = kl_calloc(when->n * nfigure + 1, sizeof(*value));
	KL_AUTO(kl_freep) bool *gain = kl_calloc(when->n + 1, sizeof(*gain));

	for (size_t i = 0; i < when->n; i++) {
		if (!kl_when_counts(&when->point[i]))
			continue;
		for (size_t figure = 0; figure < nfigure; figure++)
			value[n * nfigure + figure] = kl_when_figure(when, &when->point[i], figure);
		gain[n++] = kl_when_gains(&when->point[i]);
	}
	kl_useful_fit(&when->useful, &(struct kl_useful_data){
					     .npoint = n,
					     .nfigure = nfigure,
					     .value = value,
					     .gain = gain,
				     });
}

static size_t count_points(const struct kl_when *when)
{
	size_t n = 0;

	for (size_t i = 0; i < when->n; i++)
		n += kl_when_counts(&when->point[i]);
	return n;
}

/*
 * Append the number of points whose interval decides nothing, so that noise on a busy machine is
 * not taken for a slow kernel.
 */
static void add_unclear(struct kl_buf *out, const struct kl_when *when)
{
	size_t n = 0;

	for (size_t i = 0; i < when->n; i++)
		n += kl_when_is_unclear(&when->point[i]);
	if (n)
		kl_buf_addf(out, "; at %zu point%s the interval decides nothing", n,
			    n == 1 ? "" : "s");
}

static void add_condition(struct kl_buf *out, const struct kl_when *when)
{
	const struct kl_useful *useful = &when->useful;
	size_t counted = count_points(when);
	char name[96];

	switch (useful->end) {
	case KL_USEFUL_UNKNOWN:
		kl_buf_addf(out, "no condition says where %s is faster: %s (%zu points)",
			    when->name_b, useful->why, counted);
		return;
	case KL_USEFUL_NEVER:
		kl_buf_addf(out, "%s was shown to be faster than %s at none of %zu points",
			    when->name_b, when->name_a, counted);
		return;
	case KL_USEFUL_ALWAYS:
		kl_buf_addf(out, "%s is faster than %s at all %zu points", when->name_b,
			    when->name_a, counted);
		return;
	case KL_USEFUL_BOUND:
		break;
	}
	kl_when_figure_name(name, when, useful->figure);
	kl_buf_addf(out,
		    "%s is faster than %s where %s %s %lld, but not at %lld; of %zu points, "
		    "conditions that were fitted to other points predict %zu ('always' or "
		    "'never': %zu)",
		    when->name_b, when->name_a, name,
		    useful->above ? ">=" : "<=", (long long)useful->bound, (long long)useful->other,
		    useful->judged, useful->right, useful->constant);
	if (useful->wrong)
		kl_buf_addf(out, "; %zu of %zu points contradict it", useful->wrong, counted);
}

void kl_when_words(struct kl_buf *out, const struct kl_when *when)
{
	add_condition(out, when);
	add_unclear(out, when);
}

bool kl_when_predicate(struct kl_buf *out, const struct kl_when *when,
		       const struct kl_taxonomy *tax)
{
	const struct kl_useful *useful = &when->useful;
	struct kl_roles roles;
	size_t role = 0, sharing = 0;

	if (useful->end != KL_USEFUL_BOUND || useful->figure >= when->contract->dims.n)
		return false;
	kl_roles_find(&roles, tax, when->contract);
	while (role < tax->roles.n && roles.of[useful->figure] != 1u << role)
		role++;
	if (role == tax->roles.n)
		return false;
	for (size_t i = 0; i < when->contract->dims.n; i++)
		sharing += (roles.of[i] >> role) & 1;
	if (sharing != 1)
		return false;
	kl_buf_addf(out, "extent(%s) %s %lld", tax->roles.v[role],
		    useful->above ? ">=" : "<=", (long long)useful->bound);
	return true;
}
