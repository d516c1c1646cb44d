/* SPDX-License-Identifier: Apache-2.0 */
/* lift_points - the measured points of a card, with the facts of the state before each */
#include <string.h>

#include "base/error.h"
#include "event/speed.h"
#include "learn/lift_parts.h"

/* the newest event that passed these very files on that platform */
static const struct kl_event *event_of(const struct kl_map *events, const struct kl_surface *s,
				       const char *platform)
{
	const struct kl_event *best = NULL;

	for (size_t i = 0; i < events->n; i++) {
		const struct kl_event *e = events->e[i].value;

		if (e->kind == KL_KIND_GATE && e->verdict == KL_VERDICT_PASS &&
		    kl_event_is_for(e, s->digest, NULL) && !strcmp(e->place.id, platform) &&
		    kl_event_is_newer(e, best))
			best = e;
	}
	return best;
}

int kl_lift_before(struct kl_target *out, const struct kl_taxonomy *tax,
		   const struct kl_map *events, const struct kl_transition *t)
{
	const struct kl_event *e = event_of(events, t->from, t->platform);
	int err = kl_target_init(out, tax, t->from, t->platform);

	if (err < 0)
		return err;
	if (e) {
		kl_target_add_event(out, e);
	} else if (t->had.n) {
		for (size_t i = 0; i < t->had.n; i++)
			kl_known_member(&out->known, "has", t->had.v[i]);
		kl_known_close(&out->known, "has");
	}
	return 0;
}

/* --- how fast it was ------------------------------------------------------------------- */

static enum kl_speed speed_at(const struct kl_transition *t, const struct kl_map *events,
			      const struct kl_card_ratio *r)
{
	const struct kl_event *measured = t->event->inverse.there ?
						  kl_map_get(events, t->event->inverse.pair) :
						  t->event;
	int64_t aa = measured ? measured->profile.aa_ppm : 0;
	const struct kl_comparison at = {
		.ratio_ppm = r->ppm,
		.lo_ppm = r->lo,
		.hi_ppm = r->hi,
	};
	enum kl_speed speed = kl_lift_speed_of(t);

	if (kl_transition_points(t) > 1)
		return kl_speed_of(&at, aa);
	return speed != KL_SPEED_NONE ? speed : KL_SPEED_AMBIGUOUS;
}

/* what noise hides says nothing, unless even the best that it could be is no gain to speak of */
static enum kl_lift_speed speed_of(enum kl_speed speed, const struct kl_card_ratio *r)
{
	if (speed == KL_SPEED_FAST)
		return KL_LIFT_FASTER;
	if (speed == KL_SPEED_SLOW)
		return KL_LIFT_SLOWER;
	return speed == KL_SPEED_SAME || r->hi <= KL_LIFT_GAIN ? KL_LIFT_NO_FASTER : KL_LIFT_UNSURE;
}

static void add_points(struct kl_lift_points *out, const struct kl_map *events, size_t at,
		       const struct kl_transition *t)
{
	for (size_t i = 0; i < kl_transition_points(t); i++) {
		struct kl_card_ratio r = { 0 };
		const struct kl_dims *dims;

		if (!kl_transition_point(&r, &dims, t, events, i))
			continue;
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n++] = (struct kl_lift_point){
			.t = t,
			.at = at,
			.point = i + 1,
			.ppm = r.ppm,
			.speed = speed_of(speed_at(t, events, &r), &r),
		};
	}
}

static bool cites_event(const struct kl_card *c, const char *event)
{
	for (size_t i = 0; i < c->evidence.n; i++)
		if (!strcmp(c->evidence.v[i].event, event))
			return true;
	return false;
}

int kl_lift_points(struct kl_lift_points *out, const struct kl_lifter *l, const struct kl_card *c)
{
	int err;

	for (size_t i = 0; i < l->t->n; i++) {
		const struct kl_transition *t = &l->t->v[i];

		if (!cites_event(c, t->event->id))
			continue;
		KL_GROW(out->before, out->nbefore + 1, out->before_alloc);
		out->before[out->nbefore] = (struct kl_target){ .known = KL_KNOWN_INIT };
		if ((err = kl_lift_before(&out->before[out->nbefore], l->tax, &l->t->events, t)) <
		    0)
			return err;
		add_points(out, &l->t->events, out->nbefore++, t);
	}
	out->all = true;
	for (size_t i = 0; i < c->evidence.n; i++)
		out->all &= kl_map_get(&l->t->events, c->evidence.v[i].event) != NULL;
	return 0;
}

void kl_lift_points_release(struct kl_lift_points *p)
{
	for (size_t i = 0; i < p->nbefore; i++)
		kl_target_release(&p->before[i]);
	free(p->before);
	free(p->v);
}

struct kl_target *kl_lift_stand(const struct kl_lift_points *p, size_t i)
{
	struct kl_target *t = &p->before[p->v[i].at];

	kl_target_stand(t, p->v[i].point);
	return t;
}

enum kl_truth kl_lift_truth(const struct kl_lift_points *p, size_t i, const char *test)
{
	return kl_target_test(kl_lift_stand(p, i), test, false, NULL);
}
