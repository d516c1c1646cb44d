/* SPDX-License-Identifier: Apache-2.0 */
/* stage_figures - reports how a GPU time was measured, and at which clock of the device */
#include <math.h>
#include <string.h>

#include "worker/gpu/timing/stage_parts.h"

json_t *kl_gpu_time_place(const struct kl_gpu_time *timing, json_t *at, int who)
{
	json_t *vs = json_object_get(at, "vs"), *entry;
	size_t i;

	if (!timing->there[who] || who == KL_BLOCKS_AGAIN)
		return NULL;
	if (who == KL_BLOCKS_CANDIDATE)
		return at;
	json_array_foreach(vs, i, entry)
		if (!strcmp(kl_json_str_or(entry, "what", ""), kl_gpu_timer_what(timing->job, who)))
			return entry;
	return NULL;
}

void kl_gpu_time_add_figures(struct kl_gpu_time *timing, json_t *at)
{
	kl_json_set_str(at, "by", timing->batch ? "batch" : "event");
	kl_json_set_int(at, "sets", (int64_t)timing->timer->nset);
	kl_json_set_int(at, "calls",
			(int64_t)(timing->batch ? timing->timer->nset : timing->calls));
	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++) {
		const struct kl_gpu_known *known = &timing->known[who];
		json_t *into = kl_gpu_time_place(timing, at, who);

		if (!into)
			continue;
		if (known->nmhz)
			kl_json_set_int(into, "mhz", llround(known->mhz / (double)known->nmhz));
		if (timing->batch && timing->single_ns[who] > 0)
			kl_json_set_int(into, "single_ns", llround(timing->single_ns[who]));
		if (who == KL_BLOCKS_BASELINE && *timing->timer->library)
			kl_json_set_str(into, "library", timing->timer->library);
	}
}

void kl_gpu_time_note_clocks(struct kl_gpu_time *timing)
{
	static const struct {
		int64_t reason;
		const char *text;
	} known[] = {
		{ KL_GPU_CLOCK_SW_POWER, "clocks were reduced by the power limit" },
		{ KL_GPU_CLOCK_HW_SLOWDOWN | KL_GPU_CLOCK_HW_BRAKE,
		  "clocks were reduced by the hardware" },
		{ KL_GPU_CLOCK_SW_THERMAL | KL_GPU_CLOCK_HW_THERMAL,
		  "clocks were reduced because of heat" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(known); i++)
		if (timing->reasons & known[i].reason)
			kl_blocks_note(timing->notes, "%s: %s", timing->point->id, known[i].text);
	if (timing->late)
		kl_blocks_note(timing->notes,
			       "%s: %d calls were not counted, because the host was late",
			       timing->point->id, timing->late);
}
