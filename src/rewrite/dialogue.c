/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/dialogue.h"

#include <string.h>

#include "rewrite/feedback.h"

static const char *const names[] = {
	[KL_COURSE_STEP] = "step", [KL_COURSE_REPAIR] = "repair",
	[KL_COURSE_ANOTHER] = "another step", [KL_COURSE_ELSEWHERE] = "a step elsewhere",
	[KL_COURSE_SPLIT] = "a part", [KL_COURSE_AGAIN] = "again",
};

const char *kl_course_name(enum kl_course_kind kind)
{
	return names[kind];
}

bool kl_course_kind(enum kl_course_kind *out, const char *name, size_t len)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len)) {
			*out = (enum kl_course_kind)i;
			return true;
		}
	return false;
}

void kl_course_release(struct kl_course *c)
{
	kl_map_release(&c->place);
}

static void next(struct kl_course *c, enum kl_course_kind kind)
{
	c->kind = ++c->turn < KL_COURSE_TURNS ? kind : KL_COURSE_END;
}

static void next_idea(struct kl_course *c, enum kl_course_kind kind)
{
	c->repair = 0;
	next(c, kind);
}

void kl_course_unusable(struct kl_course *c)
{
	if (c->kind == KL_COURSE_SPLIT)	/* it was asked once */
		next_idea(c, KL_COURSE_ANOTHER);
	else
		next(c, ++c->unusable < KL_COURSE_UNUSABLE ? KL_COURSE_AGAIN : KL_COURSE_END);
}

void kl_course_refused(struct kl_course *c, const char *class_, const char *place)
{
	int *count = kl_map_get(&c->place, place);
	bool again = kl_feedback_repairs(class_) && c->kind != KL_COURSE_SPLIT;

	if (!count) {
		count = kl_calloc(1, sizeof(*count));
		kl_map_put(&c->place, place, count);
	}
	++*count;
	c->unusable = 0;
	if (*count >= KL_COURSE_PLACE)
		next_idea(c, KL_COURSE_ELSEWHERE);
	else if (again && c->repair < KL_COURSE_REPAIRS) {
		c->repair++;
		next(c, KL_COURSE_REPAIR);
	} else {
		next_idea(c, KL_COURSE_ANOTHER);
	}
}

void kl_course_end(struct kl_course *c)
{
	if (c->kind == KL_COURSE_SPLIT)
		next_idea(c, KL_COURSE_ANOTHER);
	else
		next(c, KL_COURSE_END);
}

void kl_course_split(struct kl_course *c)
{
	c->unusable = 0;
	next_idea(c, KL_COURSE_SPLIT);
}

bool kl_course_closed(const struct kl_course *c, const char *place)
{
	const int *count = kl_map_get(&c->place, place);

	return count && *count >= KL_COURSE_PLACE;
}
