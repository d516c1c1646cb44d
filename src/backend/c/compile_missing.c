/* SPDX-License-Identifier: Apache-2.0 */
/* compile_missing - names all files that a source includes and that nobody has */
#include <string.h>

#include "backend/c/compile_parts.h"
#include "base/error.h"

#define MOST_NAMED 20

/*
 * Append the dependencies in a rule for make that no directory has: those that begin with neither
 * a '/' nor a folder of the build.
 */
static void read_missing(struct kl_strvec *out, const struct kl_build *build, const char *rule)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	const char *from = strstr(rule, ": ");
	size_t n = strlen(build->tool.prefix);

	kl_strvec_split(&words, from ? from + 2 : "", " \\\n");
	for (size_t i = 0; i < words.n; i++)
		if (*words.v[i] != '/' && strncmp(words.v[i], build->tool.prefix, n) &&
		    strncmp(words.v[i], "rt/", 3))
			kl_strvec_add_once(out, words.v[i]);
}

int kl_build_explain_missing(struct kl_build *build, int err, const struct kl_strvec *command)
{
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());
	KL_AUTO(kl_strvec_release) struct kl_strvec missing = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf rule = KL_BUF_INIT, list = KL_BUF_INIT;
	struct kl_tool tool = build->tool;
	const char *class_ = NULL;

	if (err != KL_ENO || !strstr(message, ": No such file or directory"))
		return err;
	tool.class_ = &class_;
	tool.log = (struct kl_buf)KL_BUF_INIT;
	/* with -MG, the compiler goes on after a file that it does not find */
	if (!kl_tool_run(&tool, command, &rule, "listing the headers"))
		read_missing(&missing, build, rule.ptr ? rule.ptr : "");
	kl_buf_release(&tool.log);
	for (size_t i = 0; i < missing.n && i < MOST_NAMED; i++)
		kl_buf_addf(&list, "%s'%.100s'", i ? ", " : "", missing.v[i]);
	if (missing.n > 1)
		return kl_error(err, "%s (missing in all: %s%s)", message, list.ptr,
				missing.n > MOST_NAMED ? " ..." : "");
	return kl_error(err, "%s", message);
}
