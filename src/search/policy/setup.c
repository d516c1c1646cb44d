/* SPDX-License-Identifier: Apache-2.0 */
#include "search/policy/setup.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "search/policy/memory.h"
#include "search/policy/policy.h"

#define DECIMAL_DIGITS 6
/* A number with this many digits before the point still fits into an int64_t in millionths. */
#define WHOLE_DIGITS 12
#define MOST_CANDIDATES 100000
#define MOST_WIDTH 1000

/*
 * Read a decimal number with at most `places` digits after the point. Set *out to the number times
 * 10^places. Return false if the text is not such a number.
 */
static bool read_decimal(int64_t *out, const char *text, int places)
{
	bool negative = *text == '-';
	const char *point = strchr(text, '.');
	size_t whole;

	text += negative;
	whole = point ? (size_t)(point - text) : strlen(text);
	if ((!whole && !point) || whole > WHOLE_DIGITS || (point && !places))
		return false;
	*out = 0;
	for (size_t i = 0; i < whole; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
		*out = *out * 10 + (text[i] - '0');
	}
	text = point ? point + 1 : "";
	for (int i = 0; i < places; i++) {
		int digit = isdigit((unsigned char)*text) ? *text++ - '0' : 0;

		*out = *out * 10 + digit;
	}
	if (negative)
		*out = -*out;
	return !*text && !(point && !point[1] && !whole);
}

static int bad_word(const struct kl_setup *setup, const struct kl_policy_param *param,
		    const char *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;

	for (size_t i = 0; param->words[i]; i++)
		kl_buf_addf(&words, "%s%s", i ? ", " : "", param->words[i]);
	return kl_error(KL_EUSAGE, "policy %s: '%s' must be one of %s, not '%s'",
			setup->policy->name, param->name, words.ptr, text);
}

static int read_value(int64_t *out, const struct kl_setup *setup,
		      const struct kl_policy_param *param, const char *text)
{
	int64_t value;

	if (param->words) {
		for (size_t i = 0; param->words[i]; i++)
			if (!strcmp(param->words[i], text)) {
				*out = (int64_t)i;
				return 0;
			}
		return bad_word(setup, param, text);
	}
	if (!read_decimal(&value, text, param->decimal ? DECIMAL_DIGITS : 0))
		return kl_error(KL_EUSAGE, "policy %s: '%s' must be a %s, not '%s'",
				setup->policy->name, param->name,
				param->decimal ? "number with at most 6 decimals" : "whole number",
				text);
	if (value < param->least || value > param->most) {
		int64_t unit = param->decimal ? KL_MILLION : 1;

		return kl_error(KL_EUSAGE,
				"policy %s: '%s' must be from %" PRId64 " to %" PRId64 ", not %s",
				setup->policy->name, param->name, param->least / unit,
				param->most / unit, text);
	}
	*out = value;
	return 0;
}

/* Return the index of a parameter, or -1 if the policy does not have it. */
static int find_param(const struct kl_policy *policy, const char *name, size_t len)
{
	for (int i = 0; policy->param[i].name; i++)
		if (strlen(policy->param[i].name) == len &&
		    !memcmp(policy->param[i].name, name, len))
			return i;
	return -1;
}

int kl_setup_set(struct kl_setup *setup, const char *name, const char *text)
{
	int at = find_param(setup->policy, name, strlen(name));
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;

	if (at >= 0)
		return read_value(&setup->value[at], setup, &setup->policy->param[at], text);
	for (int i = 0; setup->policy->param[i].name; i++)
		kl_buf_addf(&names, "%s%s", i ? ", " : "", setup->policy->param[i].name);
	return kl_error(KL_EUSAGE, "policy %s has no parameter '%s'; it has: %s",
			setup->policy->name, name, names.len ? names.ptr : "none");
}

static void set_or_die(struct kl_setup *setup, const char *name, const char *text)
{
	if (kl_setup_set(setup, name, text) < 0)
		KL_BUG("%s", kl_error_last());
}

void kl_setup_init(struct kl_setup *setup, const struct kl_policy *policy)
{
	*setup = (struct kl_setup){ .policy = policy, .candidates = 1, .width = 1 };
	for (int i = 0; policy->param[i].name; i++) {
		if (i == KL_SETUP_PARAMS)
			KL_BUG("policy %s has more than %d parameters", policy->name,
			       KL_SETUP_PARAMS);
		set_or_die(setup, policy->param[i].name, policy->param[i].dflt);
	}
}

static void set_all(struct kl_setup *setup, const char *settings)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec list = KL_STRVEC_INIT;

	kl_strvec_split(&list, settings, " ");
	for (size_t i = 0; i < list.n; i++) {
		char *equals = strchr(list.v[i], '=');

		*equals = 0;
		set_or_die(setup, list.v[i], equals + 1);
	}
}

int kl_setup_preset(struct kl_setup *setup, const char *name)
{
	const struct kl_policy_preset *preset = setup->policy->preset;
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;

	for (; preset->name; preset++) {
		if (!strcmp(preset->name, name)) {
			set_all(setup, preset->settings);
			return 0;
		}
		kl_buf_addf(&names, "%s%s", names.len ? ", " : "", preset->name);
	}
	return kl_error(KL_EUSAGE, "policy %s has no preset '%s'; it has: %s", setup->policy->name,
			name, names.len ? names.ptr : "none");
}

double kl_setup_decimal(const struct kl_setup *setup, int param)
{
	return (double)setup->value[param] / KL_MILLION;
}

json_t *kl_setup_write(const struct kl_setup *setup)
{
	json_t *json = json_object(), *params = json_object();

	for (int i = 0; setup->policy->param[i].name; i++) {
		const struct kl_policy_param *param = &setup->policy->param[i];

		if (param->words)
			kl_json_set_str(params, param->name, param->words[setup->value[i]]);
		else
			kl_json_set_int(params, param->name, setup->value[i]);
	}
	kl_json_set_str(json, "policy", setup->policy->name);
	kl_json_set(json, "parameters", params);
	kl_json_set_int(json, "candidates", setup->candidates);
	kl_json_set_int(json, "width", setup->width);
	kl_json_set_str(json, "key", setup->key);
	if (setup->memory)
		kl_json_set(json, "memory", json_incref(setup->memory));
	return json;
}

static int read_param(struct kl_setup *out, int at, const json_t *params)
{
	const struct kl_policy_param *param = &out->policy->param[at];
	const char *word;
	int err;

	if (param->words) {
		if ((err = kl_json_str(&word, params, param->name)) < 0)
			return err;
		return read_value(&out->value[at], out, param, word) < 0 ? KL_EINVALID : 0;
	}
	if ((err = kl_json_int(&out->value[at], params, param->name)) < 0)
		return err;
	if (out->value[at] < param->least || out->value[at] > param->most)
		return kl_error(KL_EINVALID, "'%s' is out of its bounds", param->name);
	return 0;
}

int kl_setup_read(struct kl_setup *out, const json_t *json)
{
	const char *name, *key;
	uint8_t bytes[(KL_DIGEST_HEX - 1) / 2];
	json_t *params;
	int err;

	if ((err = kl_json_str(&name, json, "policy")) < 0 ||
	    (err = kl_json_obj(&params, json, "parameters")) < 0 ||
	    (err = kl_json_str(&key, json, "key")) < 0)
		return err;
	*out = (struct kl_setup){ .policy = kl_policy_find(name) };
	if (!out->policy)
		return kl_error(KL_EINVALID, "this program has no policy '%s'", name);
	if (strlen(key) != KL_DIGEST_HEX - 1 || !kl_digest_bytes(bytes, sizeof(bytes), key))
		return kl_error(KL_EINVALID, "'key' must be 64 hex digits");
	snprintf(out->key, sizeof(out->key), "%s", key);
	if ((err = kl_json_count(&out->candidates, json, "candidates", MOST_CANDIDATES)) < 0 ||
	    (err = kl_json_count(&out->width, json, "width", MOST_WIDTH)) < 0)
		return err;
	if (!out->candidates || !out->width)
		return kl_error(KL_EINVALID, "'candidates' and 'width' must be at least 1");
	for (int i = 0; out->policy->param[i].name; i++)
		if ((err = read_param(out, i, params)) < 0)
			return err;
	out->memory = json_object_get(json, "memory");
	if (!out->memory)
		return 0;
	if (!json_is_object(out->memory) || !out->policy->memory)
		return kl_error(KL_EINVALID, "'memory' is not one that the policy can read");
	err = kl_memory_check_all(out->memory);
	return err < 0 ? kl_error_in(err, "'memory'") : 0;
}
