/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_TABLE_SKILL_H
#define KL_SEARCH_TABLE_SKILL_H

#include <stddef.h>

/*
 * skill - how good a simulated model is (player.h), as numbers. They are chosen, not measured: a
 * study with them shows how policies behave, and says nothing of language models.
 */
struct kl_skill {
	const char *name;
	double usable;   /* share of replies that can be read */
	double compiles; /* share of edits that compile */
	double right;    /* share of edits whose results are not wrong by a mistake */
	double reach;    /* a jump of d steps is `reach` to the power of d as likely as one of 0 */
	double far;      /* and right with `right` times `far` to the power of d */
	double taste;    /* temperature of the softmax of the logarithm of gains */
	double repair;   /* after a failure, mistakes are this much as likely */
	double heed;     /* mistakes of a class that is shown, and weights of what is not shown */
	double obey;     /* share of edits that carry out the plan that is shown */
};

/** Return the skill of this name, or NULL if there is none. */
const struct kl_skill *kl_skill_find(const char *name);
/** All skills; ends with a row without name. */
extern const struct kl_skill kl_skills[];

#endif
