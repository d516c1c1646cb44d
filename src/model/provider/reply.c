/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/reply.h"

#include <string.h>

#include "base/error.h"
#include "model/provider/flaw.h"
#include "model/provider/ops.h"

/*
 * this bound only keeps sums from overflowing; whether a count can be right is decided later
 * (model/provider/usage.h)
 */
#define MAX_TOKENS (INT64_MAX / 16)

static const char *const stops[] = {
	[KL_STOP_END] = "end",
	[KL_STOP_LENGTH] = "length",
	[KL_STOP_REFUSAL] = "refusal",
	[KL_STOP_OTHER] = "other",
};

void kl_reply_release(struct kl_reply *reply)
{
	free(reply->text);
	free(reply->model);
	free(reply->request_id);
	*reply = (struct kl_reply){ 0 };
}

bool kl_reply_is_count(int64_t n)
{
	return n >= 0 && n <= MAX_TOKENS;
}

void kl_reply_set(char **to, const char *text)
{
	free(*to);
	*to = text ? kl_strdup(text) : NULL;
}

static int read_usage(struct kl_usage *out, const json_t *obj)
{
	struct kl_usage usage = { .known = true };
	/* clang-format off */
	struct { const char *key; int64_t *to; bool needed; } part[] = {
		{ "input", &usage.input, true }, { "output", &usage.output, true },
		{ "cache_read", &usage.cache_read, false },
		{ "cache_write_5m", &usage.cache_write_5m, false },
		{ "cache_write_1h", &usage.cache_write_1h, false },
	};
	/* clang-format on */
	json_t *value = json_object_get(obj, "usage");
	int err = 0;

	if (json_is_null(value) || (!value && kl_json_bool_or(obj, "unmetered", false)))
		return 0;
	if (!value)
		return kl_error(KL_EINVALID, "JSON: 'usage' or '\"unmetered\": true' is missing");
	if ((err = kl_json_obj(&value, obj, "usage")) < 0)
		return err;
	for (size_t i = 0; !err && i < KL_ARRAY_SIZE(part); i++)
		if (part[i].needed || json_object_get(value, part[i].key))
			err = kl_json_count(part[i].to, value, part[i].key, MAX_TOKENS);
	if (!err)
		*out = usage;
	return err;
}

static int read_stop(enum kl_stop *out, const json_t *obj)
{
	const char *text;
	int err;

	if (!json_object_get(obj, "stop"))
		return 0;
	if ((err = kl_json_str(&text, obj, "stop")) < 0)
		return err;
	for (size_t i = 0; i < KL_ARRAY_SIZE(stops); i++) {
		if (!strcmp(text, stops[i])) {
			*out = (enum kl_stop)i;
			return 0;
		}
	}
	return kl_error(KL_EINVALID, "JSON: 'stop' is not end, length, refusal or other");
}

int kl_reply_read(struct kl_reply *out, const json_t *obj)
{
	const char *text, *model = NULL;
	int err;

	if ((err = kl_json_str(&text, obj, "text")) < 0 ||
	    (json_object_get(obj, "model") && (err = kl_json_str(&model, obj, "model")) < 0) ||
	    (err = read_stop(&out->stop, obj)) < 0 || (err = kl_flaw_read(&out->flaw, obj)) < 0 ||
	    (err = read_usage(&out->usage, obj)) < 0)
		return err;
	if (strlen(text) > KL_PROVIDER_MAX_TEXT)
		return kl_error(KL_EINVALID, "the reply is larger than %zu MiB",
				KL_PROVIDER_MAX_TEXT >> 20);
	out->text = kl_strdup(text);
	out->model = model ? kl_strdup(model) : NULL;
	return 0;
}
