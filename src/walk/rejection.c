/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/rejection.h"

#include <string.h>

#include "base/mem.h"

bool kl_rejection_is_passed_over(const char *rewriter, const char *class_)
{
	return !strcmp(rewriter, "history") && !kl_rejection_counts(rewriter, class_);
}

bool kl_rejection_counts(const char *rewriter, const char *class_)
{
	if (!strcmp(class_, "no-change"))
		return false;
	return strcmp(class_, "compile") != 0 || strcmp(rewriter, "history") != 0;
}

bool kl_rejection_is_of_step(const char *class_)
{
	static const char *const list[] = { "no-change", "slower", "skipped", "inconclusive",
					    "compound" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(list); i++)
		if (!strcmp(class_, list[i]))
			return true;
	return false;
}
