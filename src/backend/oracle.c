/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/oracle.h"

#include <string.h>

#include "base/error.h"

const char *kl_oracle_name(enum kl_oracle which)
{
	static const char *const name[] = {
		[KL_ORACLE_TRUTH] = "truth", [KL_ORACLE_HONEST] = "honest"
	};

	return name[which];
}

int kl_oracle_filled(const struct kl_surface *surface)
{
	static const char todo[] = "KL_ORACLE_TODO";

	for (size_t i = 0; i < surface->noracle; i++)
		if (memmem(surface->oracle[i].data, surface->oracle[i].len, todo, sizeof(todo) - 1))
			return kl_error(KL_ECANNOT,
					"the oracle is not written yet: %s found in '%s'", todo,
					surface->oracle[i].path);
	return 0;
}
