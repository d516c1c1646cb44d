/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/usage.h"

#include "base/error.h"
#include "base/mem.h"

/* limit of counts that are read: earlier versions stored counts above KL_USAGE_MAX */
#define MAX_READ (10 * KL_USAGE_MAX)

json_t *kl_usage_json(const struct kl_usage *usage)
{
	json_t *value;

	if (!usage || !usage->known)
		return json_null();
	value = json_object();
	kl_json_set_int(value, "input", usage->input);
	kl_json_set_int(value, "output", usage->output);
	kl_json_set_int(value, "cache_read", usage->cache_read);
	kl_json_set_int(value, "cache_write_5m", usage->cache_write_5m);
	kl_json_set_int(value, "cache_write_1h", usage->cache_write_1h);
	return value;
}

int kl_usage_read(struct kl_usage *out, const json_t *value)
{
	struct kl_usage usage = { .known = true };
	int err;

	if (json_is_null(value)) {
		*out = (struct kl_usage){ 0 };
		return 0;
	}
	if (!json_is_object(value) || json_object_size(value) != 5)
		return kl_error(KL_EINVALID, "usage: expected five token counts or null");
	if ((err = kl_json_count(&usage.input, value, "input", MAX_READ)) < 0 ||
	    (err = kl_json_count(&usage.output, value, "output", MAX_READ)) < 0 ||
	    (err = kl_json_count(&usage.cache_read, value, "cache_read", MAX_READ)) < 0 ||
	    (err = kl_json_count(&usage.cache_write_5m, value, "cache_write_5m", MAX_READ)) < 0 ||
	    (err = kl_json_count(&usage.cache_write_1h, value, "cache_write_1h", MAX_READ)) < 0)
		return kl_error_in(err, "usage");
	*out = usage;
	return 0;
}

int64_t kl_usage_prompt(const struct kl_usage *usage)
{
	return usage->input + usage->cache_read + usage->cache_write_5m + usage->cache_write_1h;
}

void kl_usage_add(struct kl_usage *sum, const struct kl_usage *usage)
{
	sum->known = sum->known || usage->known;
	sum->input += usage->input;
	sum->output += usage->output;
	sum->cache_read += usage->cache_read;
	sum->cache_write_5m += usage->cache_write_5m;
	sum->cache_write_1h += usage->cache_write_1h;
}

bool kl_usage_is_possible(const struct kl_usage *usage, const struct kl_usage_bounds *bounds)
{
	int64_t part[] = { usage->input, usage->cache_read, usage->cache_write_5m,
			   usage->cache_write_1h };
	int64_t prompt;

	if (!usage->known)
		return true;
	for (size_t i = 0; i < KL_ARRAY_SIZE(part); i++)
		if (part[i] < 0 || part[i] > KL_USAGE_MAX)
			return false;
	prompt = kl_usage_prompt(usage);
	if (usage->output < 0 || prompt > bounds->prompt || usage->output > bounds->output)
		return false;
	return !bounds->replied || (prompt && usage->output);
}
