/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_DIALOGUE_H
#define KL_REWRITE_DIALOGUE_H

#include <stdbool.h>

#include "base/map.h"

/*
 * dialogue - the rules of a dialogue about one state: what is sent after what. Pure; told of every
 * turn in order, it comes to the same each time.
 *
 *	what was asked for	and came			is followed by
 *	a step			refused, class repairable	a repair, at most 3
 *				refused otherwise, or the 3rd	another idea; of a place that had 4
 *								refusals: somewhere else
 *				a reply that cannot be used	the same again; the 3rd in a row ends it
 *				nothing left			the end
 *	to split a step		anything but a part		another idea
 */
#define KL_COURSE_REPAIRS 3
#define KL_COURSE_PLACE 4		/* refusals at one place */
#define KL_COURSE_UNUSABLE 3		/* replies in a row */
#define KL_COURSE_TURNS 96

enum kl_course_kind {
	KL_COURSE_STEP,
	KL_COURSE_REPAIR,
	KL_COURSE_ANOTHER,
	KL_COURSE_ELSEWHERE,
	KL_COURSE_SPLIT,
	KL_COURSE_AGAIN,
	KL_COURSE_END,
};

struct kl_course {
	enum kl_course_kind kind;	/* of the present turn */
	int repair;			/* its number, from 1; 0: the first try of an idea */
	int unusable;			/* replies in a row */
	size_t turn;			/* from 0 */
	struct kl_map place;		/* place -> int *, refusals there */
};

#define KL_COURSE_INIT { .place = { .free_value = free } }

void kl_course_release(struct kl_course *c);

/* What came of the present turn; they set the kind of the next. */
void kl_course_unusable(struct kl_course *c);
void kl_course_refused(struct kl_course *c, const char *class_, const char *place);
void kl_course_end(struct kl_course *c);
/** The next turn asks how the step of this one may be split. */
void kl_course_split(struct kl_course *c);

/** Did this place have its refusals? */
bool kl_course_closed(const struct kl_course *c, const char *place);

const char *kl_course_name(enum kl_course_kind kind);
/** False: no kind has that name. */
bool kl_course_kind(enum kl_course_kind *out, const char *name, size_t len);

#endif
