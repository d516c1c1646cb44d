/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/usage.h"

#include "base/error.h"

#define MAX_TOKENS 1000000000

json_t *kl_usage_json(const struct kl_usage *u)
{
	json_t *j;

	if (!u || !u->known)
		return json_null();
	j = json_object();
	kl_json_set_int(j, "input", u->input);
	kl_json_set_int(j, "output", u->output);
	kl_json_set_int(j, "cache_read", u->cache_read);
	kl_json_set_int(j, "cache_write_5m", u->cache_write_5m);
	kl_json_set_int(j, "cache_write_1h", u->cache_write_1h);
	return j;
}

static int read_count(int64_t *out, const json_t *j, const char *key)
{
	int err = kl_json_int(out, j, key);

	if (!err && (*out < 0 || *out > MAX_TOKENS))
		return kl_error(KL_EINVALID, "usage: '%s' is no count of tokens", key);
	return err;
}

int kl_usage_read(struct kl_usage *out, const json_t *j)
{
	struct kl_usage u = { .known = true };
	int err;

	if (json_is_null(j)) {
		*out = (struct kl_usage){ 0 };
		return 0;
	}
	if (!json_is_object(j) || json_object_size(j) != 5)
		return kl_error(KL_EINVALID, "usage: five counts of tokens, or null, are wanted");
	if ((err = read_count(&u.input, j, "input")) < 0 ||
	    (err = read_count(&u.output, j, "output")) < 0 ||
	    (err = read_count(&u.cache_read, j, "cache_read")) < 0 ||
	    (err = read_count(&u.cache_write_5m, j, "cache_write_5m")) < 0 ||
	    (err = read_count(&u.cache_write_1h, j, "cache_write_1h")) < 0)
		return err;
	*out = u;
	return 0;
}
