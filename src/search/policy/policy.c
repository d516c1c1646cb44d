/* SPDX-License-Identifier: Apache-2.0 */
#include "search/policy/policy.h"

#include <string.h>

/* clang-format off */
const struct kl_policy *const kl_policies[] = {
	&kl_policy_best_of_n,
	&kl_policy_climb,
	&kl_policy_refine,
	&kl_policy_adaexplore,
	&kl_policy_accelopt,
	&kl_policy_kernelblaster,
	&kl_policy_evolve,
	&kl_policy_shinka,
	&kl_policy_pareto,
	&kl_policy_command,
	NULL,
};
/* clang-format on */

const struct kl_policy_preset kl_policy_no_preset[] = { { .name = NULL } };

const struct kl_policy *kl_policy_find(const char *name)
{
	for (size_t i = 0; kl_policies[i]; i++)
		if (!strcmp(kl_policies[i]->name, name))
			return kl_policies[i];
	return NULL;
}

int64_t kl_policy_sequence(const struct kl_setup *setup, int64_t ticket)
{
	return ticket > setup->width ? ticket - setup->width : 0;
}
