/* SPDX-License-Identifier: Apache-2.0 */
#include "search/table/skill.h"

#include <string.h>

/* `deaf` is `middling`, but ignores what it is shown: the control for memories. */
const struct kl_skill kl_skills[] = {
	{ "weak", .80, .70, .60, .4, .85, 2.0, .8, .8, .5 },
	{ "middling", .95, .85, .80, .5, .90, 1.0, .5, .5, .8 },
	{ "strong", .99, .95, .92, .6, .95, .5, .25, .3, .95 },
	{ "deaf", .95, .85, .80, .5, .90, 1.0, .5, 1.0, 0 },
	{ .name = NULL },
};

const struct kl_skill *kl_skill_find(const char *name)
{
	for (size_t i = 0; kl_skills[i].name; i++)
		if (!strcmp(kl_skills[i].name, name))
			return &kl_skills[i];
	return NULL;
}
