/* SPDX-License-Identifier: Apache-2.0 */
/* step_platforms - reads the stored results of a step on platforms other than the probe's */
#include <stdio.h>
#include <string.h>

#include "probe/step_facts.h"

struct comparing {
	struct kl_step_facts *facts;
	const char *here;
	struct kl_map before; /* key of a point -> event of K_{i-1} that passes; values borrowed */
};

/* Name a point on a platform; the caller frees the text. */
static char *key_of(const struct kl_event *event)
{
	struct kl_buf out = KL_BUF_INIT;

	kl_buf_addf(&out, "%s\n%s\n%s\n", event->place.id, event->place.device,
		    event->place.compiler);
	kl_json_canonical(&out, event->point);
	return kl_buf_detach(&out);
}

static int keep_before(const struct kl_event *event, void *payload)
{
	struct comparing *comparing = payload;
	KL_AUTO(kl_freep) char *key = NULL;

	if (event->verdict != KL_VERDICT_PASS || !strcmp(event->place.id, comparing->here))
		return 0;
	key = key_of(event);
	kl_map_put(&comparing->before, key, (void *)(uintptr_t)event);
	return 0;
}

static struct kl_step_platform *platform_of(struct kl_step_facts *facts, const char *id)
{
	for (size_t i = 0; i < facts->nplatform; i++)
		if (!strcmp(facts->platform[i].id, id))
			return &facts->platform[i];
	if (facts->nplatform == KL_STEP_PLATFORMS)
		return NULL;
	snprintf(facts->platform[facts->nplatform].id, sizeof(facts->platform[0].id), "%s", id);
	return &facts->platform[facts->nplatform++];
}

/* Count a result of K_i at a point where K_{i-1} passes. */
static int count_after(const struct kl_event *event, void *payload)
{
	struct comparing *comparing = payload;
	KL_AUTO(kl_freep) char *key = key_of(event);
	const struct kl_event *before = kl_map_get(&comparing->before, key);
	bool fails = event->verdict == KL_VERDICT_FAIL;
	struct kl_step_platform *platform;

	if (!before || json_object_get(event->point, "repeat") ||
	    (!fails && event->verdict != KL_VERDICT_PASS))
		return 0;
	platform = platform_of(comparing->facts, event->place.id);
	if (!platform)
		return 0;
	if (!platform->points || (fails && !platform->fails)) {
		snprintf(platform->event[0], KL_DIGEST_HEX, "%s", before->id);
		snprintf(platform->event[1], KL_DIGEST_HEX, "%s", event->id);
		snprintf(platform->class_, sizeof(platform->class_), "%s",
			 fails ? kl_event_class(event) : "");
	}
	platform->points++;
	platform->fails += fails;
	return 0;
}

static int each_result(const struct kl_probing *probe, size_t state, kl_probe_store_fn *fn,
		       struct comparing *comparing)
{
	int err = 0;

	for (int i = 0; i < KL_PROBE_VALUES && !err; i++) {
		const struct kl_surface *wide = probe->state[state].wide[i];

		err = kl_probe_store_each(probe->store, wide->digest, wide->contract_digest, fn,
					  comparing);
	}
	return err;
}

int kl_step_facts_platforms(struct kl_step_facts *facts, const struct kl_probing *probe, size_t i)
{
	struct comparing comparing = { .facts = facts, .here = probe->platform };
	int err;

	if (!probe->store)
		return 0;
	err = each_result(probe, i - 1, keep_before, &comparing);
	if (!err)
		err = each_result(probe, i, count_after, &comparing);
	kl_map_release(&comparing.before);
	return err;
}
