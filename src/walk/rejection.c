/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/rejection.h"

#include <string.h>

#include "base/mem.h"

/* Return true if the rewriter proposes older states of the kernel, or reverts of its commits. */
static bool is_older_state(const char *rewriter)
{
	return !strcmp(rewriter, "history");
}

bool kl_rejection_is_passed_over(const char *rewriter, const char *class_)
{
	return is_older_state(rewriter) &&
	       (!strcmp(class_, "no-change") || !strcmp(class_, "no-effect") ||
		!strcmp(class_, "compile"));
}

bool kl_rejection_counts(const json_t *rec)
{
	const char *class_ = kl_json_str_or(rec, "class", "");

	if (!strcmp(class_, "no-change") || !strcmp(class_, "no-effect"))
		return false;
	if (!is_older_state(kl_json_str_or(rec, "rewriter", "")))
		return true;
	return strcmp(class_, "compile") != 0 &&
	       strcmp(kl_json_str_or(rec, "effect", ""), "generality") != 0;
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
