/* SPDX-License-Identifier: Apache-2.0 */
#include "search/judging.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

const char *const kl_judging_name[KL_JUDGING_MODES] = {
	[KL_JUDGING_REAL] = "real",
	[KL_JUDGING_RECORDED] = "recorded",
	[KL_JUDGING_NOISY] = "noisy",
};

int kl_judging_parse(enum kl_judging_mode *out, const char *name)
{
	for (size_t i = 0; i < KL_JUDGING_MODES; i++)
		if (!strcmp(kl_judging_name[i], name)) {
			*out = (enum kl_judging_mode)i;
			return 0;
		}
	return kl_error(KL_EUSAGE, "a search is judged real, recorded or noisy, not '%s'", name);
}

static int find_state(const struct kl_table_state **out, const struct kl_search_table *table,
		      const char *surface, const char *what)
{
	*out = kl_search_table_find(table, surface);
	return *out ? 0 :
		      kl_error(
			      KL_ECANNOT,
			      "the table of '%s' lacks %s, kernel %.12s, and a recorded search has "
			      "no other verdicts",
			      table->workload, what, surface);
}

/* Draw a speed within the interval of its measurement. */
static void draw_speed(struct kl_ratio *ratio, const struct kl_draws *draws)
{
	double u = kl_draw_coin(draws, "noise");

	ratio->ppm = ratio->lo + (int64_t)(u * (double)(ratio->hi - ratio->lo));
}

int kl_judging_event(struct kl_event **out, const struct kl_judging *judging, const char *surface,
		     const char *root, const struct kl_draws *draws)
{
	const struct kl_table_state *state, *of;
	struct kl_event *event;
	int err;

	if ((err = find_state(&of, judging->table, root, "the root of the search")) < 0 ||
	    (err = find_state(&state, judging->table, surface, "the candidate")) < 0)
		return err;
	event = kl_search_table_event(state, of);
	if (judging->mode == KL_JUDGING_NOISY && event->profile.vs.n && state != of)
		draw_speed(&event->profile.vs.v[0].ratio, draws);
	*out = event;
	return 0;
}

int kl_judging_find(struct kl_judgement **out, const struct kl_judging *judging,
		    const struct kl_surface *surface, const struct kl_surface *root,
		    const struct kl_draws *draws)
{
	struct kl_event *event = NULL;
	int err;

	if (strcmp(root->contract_digest, judging->table->contract) != 0)
		return kl_error(KL_ECANNOT,
				"the table of '%s' is of another contract: that of the kernel is "
				"%.12s, that of the table %.12s",
				judging->table->workload, root->contract_digest,
				judging->table->contract);
	if ((err = kl_judging_event(&event, judging, surface->digest, root->digest, draws)) < 0)
		return err;
	*out = kl_judgement_new(event);
	return 0;
}
