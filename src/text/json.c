/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json.h"

#include <string.h>

#include "base/error.h"

static int parse_error(const json_error_t *error)
{
	return kl_error(KL_EINVALID, "JSON line %d column %d: %s", error->line, error->column,
			error->text);
}

int kl_json_parse(json_t **out, const char *text, size_t len)
{
	json_error_t error;
	json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);

	if (!value)
		return parse_error(&error);
	*out = value;
	return 0;
}

int kl_json_parse_lenient(json_t **out, const char *text, size_t len)
{
	json_error_t error;
	json_t *value = json_loadb(text, len, JSON_ALLOW_NUL, &error);

	if (!value && json_error_code(&error) == json_error_numeric_overflow)
		value = json_loadb(text, len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
	if (!value)
		return parse_error(&error);
	*out = value;
	return 0;
}

static int append_bytes(const char *bytes, size_t n, void *payload)
{
	kl_buf_add(payload, bytes, n);
	return 0;
}

void kl_json_canonical(struct kl_buf *out, const json_t *value)
{
	if (json_dump_callback(value, append_bytes, out,
			       JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII |
				       JSON_ENCODE_ANY) < 0)
		KL_BUG("JSON value cannot be written");
}

void kl_json_pretty(struct kl_buf *out, const json_t *value)
{
	if (json_dump_callback(value, append_bytes, out, JSON_INDENT(2) | JSON_ENCODE_ANY) < 0)
		KL_BUG("JSON value cannot be written");
	kl_buf_addch(out, '\n');
}

void kl_json_decimal(struct kl_buf *out, const json_t *value, bool pretty)
{
	if (json_dump_callback(value, append_bytes, out,
			       (pretty ? JSON_INDENT(2) : JSON_COMPACT | JSON_ENSURE_ASCII) |
				       JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) <
	    0)
		KL_BUG("JSON value cannot be written");
}

static int wrong_type(const json_t *found, const char *key, const char *type)
{
	if (!found)
		return kl_error(KL_EINVALID, "JSON: '%s' is missing", key);
	return kl_error(KL_EINVALID, "JSON: '%s' is not %s", key, type);
}

int kl_json_str(const char **out, const json_t *obj, const char *key)
{
	const json_t *value = json_object_get(obj, key);

	if (!json_is_string(value))
		return wrong_type(value, key, "a string");
	*out = json_string_value(value);
	return 0;
}

int kl_json_int(int64_t *out, const json_t *obj, const char *key)
{
	const json_t *value = json_object_get(obj, key);

	if (!json_is_integer(value))
		return wrong_type(value, key, "an integer");
	*out = json_integer_value(value);
	return 0;
}

int kl_json_count(int64_t *out, const json_t *obj, const char *key, int64_t most)
{
	int64_t value;
	int err = kl_json_int(&value, obj, key);

	if (err < 0)
		return err;
	if (value < 0 || value > most)
		return kl_error(KL_EINVALID, "JSON: '%s' is negative or too large", key);
	*out = value;
	return 0;
}

int kl_json_obj(json_t **out, const json_t *obj, const char *key)
{
	json_t *value = json_object_get(obj, key);

	if (!json_is_object(value))
		return wrong_type(value, key, "an object");
	*out = value;
	return 0;
}

int kl_json_arr(json_t **out, const json_t *obj, const char *key)
{
	json_t *value = json_object_get(obj, key);

	if (!json_is_array(value))
		return wrong_type(value, key, "an array");
	*out = value;
	return 0;
}

const char *kl_json_str_or(const json_t *obj, const char *key, const char *dflt)
{
	const json_t *value = json_object_get(obj, key);

	return json_is_string(value) ? json_string_value(value) : dflt;
}

void kl_json_strings(struct kl_strvec *out, const json_t *list)
{
	size_t i;
	json_t *one;

	json_array_foreach(list, i, one)
		if (json_is_string(one))
			kl_strvec_push(out, json_string_value(one));
}

int64_t kl_json_int_or(const json_t *obj, const char *key, int64_t dflt)
{
	const json_t *value = json_object_get(obj, key);

	return json_is_integer(value) ? json_integer_value(value) : dflt;
}

bool kl_json_bool_or(const json_t *obj, const char *key, bool dflt)
{
	const json_t *value = json_object_get(obj, key);

	return json_is_boolean(value) ? json_is_true(value) : dflt;
}

double kl_json_num_or(const json_t *obj, const char *key, double dflt)
{
	const json_t *value = json_object_get(obj, key);

	return json_is_number(value) ? json_number_value(value) : dflt;
}

void kl_json_set(json_t *obj, const char *key, json_t *value)
{
	if (!value || json_object_set_new(obj, key, value) < 0)
		KL_BUG("JSON member '%s' cannot be set", key);
}

/*
 * Make a JSON string. If the text is not valid UTF-8 (a compiler's message or a path need not be),
 * each non-ASCII byte becomes '?'.
 */
static json_t *string_of(const char *text)
{
	json_t *value = json_string(text);

	if (!value) {
		KL_AUTO(kl_freep) char *copy = kl_strdup(text);

		for (unsigned char *bytes = (unsigned char *)copy; *bytes; bytes++)
			if (*bytes >= 0x80)
				*bytes = '?';
		value = json_string(copy);
	}
	return value;
}

void kl_json_set_str(json_t *obj, const char *key, const char *value)
{
	kl_json_set(obj, key, value ? string_of(value) : json_null());
}

void kl_json_set_int(json_t *obj, const char *key, int64_t value)
{
	kl_json_set(obj, key, json_integer(value));
}

void kl_json_set_bool(json_t *obj, const char *key, bool value)
{
	kl_json_set(obj, key, json_boolean(value));
}

void kl_json_set_num(json_t *obj, const char *key, double value)
{
	kl_json_set(obj, key, json_real(value));
}
