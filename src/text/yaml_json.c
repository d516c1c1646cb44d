/* SPDX-License-Identifier: Apache-2.0 */
#include "text/yaml_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "text/yaml_write.h"

#define MAX_DEPTH 32

/* --- converting to JSON ----------------------------------------------------------- */

static json_t *plain_to_json(const char *text)
{
	char *end;
	long long i;

	errno = 0;
	i = strtoll(text, &end, 10);
	if (*text && !*end && !errno)
		return json_integer(i);
	if (!strcmp(text, "true") || !strcmp(text, "false"))
		return json_boolean(*text == 't');
	if (!strcmp(text, "null"))
		return json_null();
	if (strspn(text, "-0123456789.") == strlen(text)) {
		double real = strtod(text, &end);

		if (*text && !*end && isfinite(real))
			return json_real(real);
	}
	return json_string(text);
}

json_t *kl_yaml_to_json(const struct kl_yaml *node)
{
	json_t *value;

	if (node->kind == KL_YAML_SCALAR) {
		value = node->plain ? plain_to_json(node->text) : json_string(node->text);
		return value ? value : json_null();
	}
	value = node->kind == KL_YAML_MAP ? json_object() : json_array();
	for (size_t i = 0; i < node->n; i++) {
		if (node->kind == KL_YAML_MAP)
			kl_json_set(value, node->key[i], kl_yaml_to_json(node->item[i]));
		else
			json_array_append_new(value, kl_yaml_to_json(node->item[i]));
	}
	return value;
}

/* --- converting from JSON ---------------------------------------------------------- */

/* A function that makes the scalar for a real number. */
typedef struct kl_yaml *write_real(double real);

static struct kl_yaml *rounded_real(double real)
{
	char text[64];
	size_t n;

	if (fabs(real) > 1e15)
		return kl_yaml_new_plain("a number above 1e15");
	n = (size_t)snprintf(text, sizeof(text), "%.6f", real);
	while (n && text[n - 1] == '0')
		text[--n] = '\0';
	if (n && text[n - 1] == '.')
		text[--n] = '\0';
	return kl_yaml_new_plain(text);
}

static struct kl_yaml *exact_real(double real)
{
	char text[64];
	size_t n = (size_t)snprintf(text, sizeof(text), "%.17g", real);

	if (!strpbrk(text, ".e"))
		snprintf(text + n, sizeof(text) - n, ".0");
	return kl_yaml_new_plain(text);
}

static struct kl_yaml *json_scalar(const json_t *value, write_real *real)
{
	char text[32];

	if (json_is_string(value))
		return kl_yaml_new_text(json_string_value(value));
	if (json_is_real(value))
		return real(json_real_value(value));
	if (!json_is_integer(value))
		return kl_yaml_new_plain(json_is_true(value)  ? "true" :
					 json_is_false(value) ? "false" :
								"null");
	snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
	return kl_yaml_new_plain(text);
}

static int from_json(struct kl_yaml **out, const json_t *value, write_real *real, int depth);

static int from_members(struct kl_yaml *node, const json_t *json, write_real *real, int depth)
{
	const char *key;
	json_t *value;
	struct kl_yaml *child;
	size_t i;
	int err;

	json_object_foreach((json_t *)json, key, value) {
		if ((err = from_json(&child, value, real, depth + 1)) < 0)
			return err;
		kl_yaml_put(node, key, child);
	}
	json_array_foreach(json, i, value) {
		if ((err = from_json(&child, value, real, depth + 1)) < 0)
			return err;
		kl_yaml_push(node, child);
	}
	return 0;
}

static int from_json(struct kl_yaml **out, const json_t *value, write_real *real, int depth)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	int err = 0;

	if (depth > MAX_DEPTH)
		return kl_error(KL_EINVALID, "JSON: nested too deeply");
	if (json_is_string(value) && strlen(json_string_value(value)) != json_string_length(value))
		return kl_error(KL_EINVALID, "JSON: a string contains a NUL byte");
	if (json_is_object(value) || json_is_array(value)) {
		node = json_is_object(value) ? kl_yaml_new_map() : kl_yaml_new_seq();
		err = from_members(node, value, real, depth);
	} else {
		node = json_scalar(value, real);
	}
	if (!err)
		*out = kl_steal(&node);
	return err;
}

int kl_yaml_from_json(struct kl_yaml **out, const json_t *value)
{
	return from_json(out, value, rounded_real, 0);
}

int kl_yaml_from_json_exact(struct kl_yaml **out, const json_t *value)
{
	return from_json(out, value, exact_real, 0);
}
