/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job_read.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

int kl_job_read_only(const json_t *obj, const char *where, const char *const *known)
{
	const char *key;
	json_t *value;

	if (!json_is_object(obj))
		return kl_error(KL_EINVALID, "%s is not an object", where);
	json_object_foreach((json_t *)(uintptr_t)obj, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i])
			return kl_error(KL_EINVALID, "%s has an unknown member '%s'", where, key);
	}
	return 0;
}

int kl_job_read_str(char *out, size_t size, const json_t *obj, const char *key)
{
	const char *text;
	int err = kl_json_str(&text, obj, key);

	if (err < 0)
		return err;
	if (!*text || strlen(text) >= size)
		return kl_error(KL_EINVALID, "'%s' is %zu bytes long; it must have 1 to %zu", key,
				strlen(text), size - 1);
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

int kl_job_read_heap(char **out, const json_t *obj, const char *key, bool optional)
{
	const json_t *value = json_object_get(obj, key);
	const char *text;
	int err;

	if (optional && (!value || json_is_null(value)))
		return 0;
	if ((err = kl_json_str(&text, obj, key)) < 0)
		return err;
	*out = kl_strdup(text);
	return 0;
}

int kl_job_read_int(int64_t *out, const json_t *obj, const char *key, int64_t min, int64_t max)
{
	int64_t value;
	int err = kl_json_int(&value, obj, key);

	if (err < 0)
		return err;
	if (value < min || value > max)
		return kl_error(KL_EINVALID, "'%s' is %lld; it must be %lld to %lld", key,
				(long long)value, (long long)min, (long long)max);
	*out = value;
	return 0;
}

int kl_job_read_num(double *out, const json_t *obj, const char *key, double dflt)
{
	const json_t *value = json_object_get(obj, key);

	if (value && !json_is_number(value))
		return kl_error(KL_EINVALID, "'%s' is not a number", key);
	*out = value ? json_number_value(value) : dflt;
	if (!isfinite(*out) || *out < 0)
		return kl_error(KL_EINVALID, "'%s' is negative or not finite", key);
	return 0;
}

int kl_job_read_bool(bool *out, const json_t *obj, const char *key, bool dflt)
{
	const json_t *value = json_object_get(obj, key);

	if (value && !json_is_boolean(value))
		return kl_error(KL_EINVALID, "'%s' is not true or false", key);
	*out = value ? json_is_true(value) : dflt;
	return 0;
}
