/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/dialogue.h"

#include <string.h>

#include "rewrite/feedback.h"

/* clang-format off */
static const char *const names[] = {
	[KL_DIALOGUE_STEP] = "step", [KL_DIALOGUE_REPAIR] = "repair",
	[KL_DIALOGUE_ANOTHER] = "another step", [KL_DIALOGUE_ELSEWHERE] = "a step elsewhere",
	[KL_DIALOGUE_SPLIT] = "a part", [KL_DIALOGUE_AGAIN] = "again",
};
/* clang-format on */

const char *kl_dialogue_name(enum kl_dialogue_kind kind)
{
	return names[kind];
}

bool kl_dialogue_kind(enum kl_dialogue_kind *out, const char *name, size_t len)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len)) {
			*out = (enum kl_dialogue_kind)i;
			return true;
		}
	return false;
}

void kl_dialogue_release(struct kl_dialogue *dialogue)
{
	kl_map_release(&dialogue->place);
}

void kl_dialogue_next(struct kl_dialogue *dialogue, enum kl_dialogue_kind kind)
{
	dialogue->kind = ++dialogue->turn < dialogue->most_turns ? kind : KL_DIALOGUE_END;
}

static void next_idea(struct kl_dialogue *dialogue, enum kl_dialogue_kind kind)
{
	dialogue->repair = 0;
	kl_dialogue_next(dialogue, kind);
}

void kl_dialogue_unusable(struct kl_dialogue *dialogue)
{
	if (dialogue->kind == KL_DIALOGUE_SPLIT) /* the model is asked to split only once */
		next_idea(dialogue, KL_DIALOGUE_ANOTHER);
	else if (++dialogue->unusable < dialogue->most_unusable)
		kl_dialogue_next(dialogue, KL_DIALOGUE_AGAIN);
	else
		kl_dialogue_next(dialogue, KL_DIALOGUE_END);
}

void kl_dialogue_refused(struct kl_dialogue *dialogue, const char *class_, const char *place)
{
	int *count = kl_map_get(&dialogue->place, place);
	bool again = kl_feedback_repairs(class_) && dialogue->kind != KL_DIALOGUE_SPLIT;

	if (!count) {
		count = kl_calloc(1, sizeof(*count));
		kl_map_put(&dialogue->place, place, count);
	}
	++*count;
	dialogue->unusable = 0;
	if (*count >= KL_DIALOGUE_PLACE)
		next_idea(dialogue, KL_DIALOGUE_ELSEWHERE);
	else if (again && dialogue->repair < KL_DIALOGUE_REPAIRS) {
		dialogue->repair++;
		kl_dialogue_next(dialogue, KL_DIALOGUE_REPAIR);
	} else {
		next_idea(dialogue, KL_DIALOGUE_ANOTHER);
	}
}

void kl_dialogue_end(struct kl_dialogue *dialogue)
{
	if (dialogue->kind == KL_DIALOGUE_SPLIT)
		next_idea(dialogue, KL_DIALOGUE_ANOTHER);
	else
		kl_dialogue_next(dialogue, KL_DIALOGUE_END);
}

void kl_dialogue_split(struct kl_dialogue *dialogue)
{
	dialogue->unusable = 0;
	next_idea(dialogue, KL_DIALOGUE_SPLIT);
}

bool kl_dialogue_closed(const struct kl_dialogue *dialogue, const char *place)
{
	const int *count = kl_map_get(&dialogue->place, place);

	return count && *count >= KL_DIALOGUE_PLACE;
}
