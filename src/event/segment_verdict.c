/* SPDX-License-Identifier: Apache-2.0 */
#include "event/segment_verdict.h"

#include <string.h>

#include "base/error.h"
#include "event/segments.h"
#include "event/trusted_verdict.h"

static bool event_serves(const struct kl_event *event, const struct kl_cache_key *key)
{
	if ((event->kind != KL_KIND_GATE && !(key->quick && event->kind == KL_KIND_CHECK)) ||
	    event->inverse.there || !kl_cache_same_place(event, key))
		return false;
	if (kl_event_is_fail(event))
		return true;
	if (event->failure == KL_FAILURE_SLOWER && (key->quick || !key->profile))
		return false;
	return (event->verdict == KL_VERDICT_PASS || event->failure == KL_FAILURE_SLOWER) &&
	       kl_trusted_verdict_is_compared(event, key);
}

struct finding {
	const struct kl_cache_key *key;
	struct kl_trust trust; /* verdicts that serve, and retractions */
	size_t verdicts;
};

static void finding_release(struct finding *finding)
{
	kl_trust_release(&finding->trust);
}

static int take_event(struct kl_event *event, const char *campaign, void *payload)
{
	struct finding *finding = payload;
	bool serves = event_serves(event, finding->key);

	finding->verdicts += serves;
	if (serves || event->kind == KL_KIND_RETRACT)
		kl_trust_add_event(&finding->trust, 0, kl_event_ref(event), false);
	return 0;
}

/* Add the retractions in notes. */
static int add_noted(struct finding *finding, struct kl_repo *repo)
{
	KL_AUTO(kl_trust_release) struct kl_trust noted = { 0 };
	int err = kl_trust_add_notes(&noted, repo, finding->key->surface, finding->key->contract);

	for (size_t i = 0; !err && i < noted.n; i++)
		if (noted.v[i].event->kind == KL_KIND_RETRACT)
			kl_trust_add_event(&finding->trust, 0, kl_event_ref(noted.v[i].event),
					   false);
	return err;
}

static int rank_of(const struct kl_event *event)
{
	return kl_event_is_fail(event) ? 2 : event->kind == KL_KIND_GATE;
}

static const struct kl_event *best_of(const struct kl_trust *trust)
{
	const struct kl_event *best = NULL;

	for (size_t i = 0; i < trust->n; i++) {
		const struct kl_event *event = trust->v[i].event;
		int order = best ? rank_of(event) - rank_of(best) : 1;

		if (trust->v[i].own && event->kind != KL_KIND_RETRACT &&
		    !kl_trust_is_retracted(trust, event->id) &&
		    (order > 0 || (!order && kl_event_is_newer(event, best))))
			best = event;
	}
	return best;
}

int kl_segment_verdict_find(struct kl_event **event, struct kl_repo *repo,
			    const struct kl_cache_key *key)
{
	KL_AUTO(kl_segments_freep) struct kl_segments *segments = NULL;
	KL_AUTO(finding_release) struct finding finding = { .key = key };
	const struct kl_event *best;
	int err = kl_segments_open(&segments, repo);

	if (!err)
		err = kl_segments_of_surface(segments, key->surface, key->contract, take_event,
					     &finding);
	if (!err && finding.verdicts && !(err = add_noted(&finding, repo)))
		err = kl_trust_judge(&finding.trust, repo);
	if (err < 0)
		return err;
	best = best_of(&finding.trust);
	if (!best)
		return kl_error(KL_ENOTFOUND, "no segment has a verdict of this clone");
	*event = kl_event_ref(best);
	return 0;
}
