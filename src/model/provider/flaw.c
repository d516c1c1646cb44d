/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/flaw.h"

#include <string.h>

#include "base/mem.h"

static const struct {
	const char *name, *note, *why;
} flaws[] = {
	[KL_FLAW_NONE] = { "none", "", "" },
	[KL_FLAW_LENGTH] = { "length", "[The reply was cut before any text.]",
			     "it was cut at the limit of %lld tokens, so it is not complete; "
			     "answer more briefly" },
	[KL_FLAW_REASONING] = { "reasoning", "[All tokens were spent before any text.]",
				"all %lld tokens that it may have were spent before its first "
				"word; think less and answer" },
	[KL_FLAW_REFUSAL] = { "refusal", "[The request was refused.]",
			      "it is a refusal; the task is the ordinary editing of source code" },
	[KL_FLAW_EMPTY] = { "empty", "[The reply had no text.]", "it has no text" },
	[KL_FLAW_TOOL] = { "tool", "[The reply was a call of a tool.]",
			   "it calls a tool, but there are none; answer by text alone" },
	[KL_FLAW_NUL] = { "nul", "[The reply had no text.]",
			  "its text has a NUL character, which no source file may have" },
	[KL_FLAW_CHOICES] = { "choices", "[The reply had no text.]",
			      "it consists of more than one answer; give only one" },
};

const char *kl_flaw_name(enum kl_flaw flaw)
{
	return flaws[flaw].name;
}

int kl_flaw_read(enum kl_flaw *out, const json_t *obj)
{
	const char *name;
	int err;

	if (!json_object_get(obj, "flaw"))
		return 0;
	if ((err = kl_json_str(&name, obj, "flaw")) < 0)
		return err;
	*out = KL_FLAW_EMPTY;
	for (size_t i = 0; i < KL_ARRAY_SIZE(flaws); i++)
		if (!strcmp(flaws[i].name, name))
			*out = (enum kl_flaw)i;
	return 0;
}

void kl_flaw_explain(struct kl_buf *out, enum kl_flaw flaw, int64_t max_tokens)
{
	const char *why = flaws[flaw].why, *number = strstr(why, "%lld");

	if (!number) {
		kl_buf_adds(out, why);
		return;
	}
	kl_buf_add(out, why, (size_t)(number - why));
	kl_buf_addf(out, "%lld%s", (long long)max_tokens, number + strlen("%lld"));
}

const char *kl_flaw_note(enum kl_flaw flaw)
{
	return flaws[flaw].note;
}

enum kl_flaw kl_flaw_of(const char *text, enum kl_stop stop, enum kl_flaw found)
{
	bool blank = !text || !text[strspn(text, " \t\r\n\v\f")];

	if (stop == KL_STOP_REFUSAL)
		return KL_FLAW_REFUSAL;
	if (stop == KL_STOP_LENGTH)
		return blank ? KL_FLAW_REASONING : KL_FLAW_LENGTH;
	if (found != KL_FLAW_NONE)
		return found;
	return blank ? KL_FLAW_EMPTY : KL_FLAW_NONE;
}
