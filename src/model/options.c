/* SPDX-License-Identifier: Apache-2.0 */
#include "model/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "text/name.h"

#define MOST_EXTRA 8192 /* maximum bytes of the option `extra` */
#define HOTTEST 2.0

void kl_model_options_release(struct kl_model_options *options)
{
	free(options->effort);
	free(options->tier);
	json_decref(options->extra);
	*options = (struct kl_model_options){ 0 };
}

/*
 * Return the value of an option for the role of this phase or, if that is not set, its value for
 * all roles; NULL if neither is set. Set *key to the configuration key of the value.
 */
static const char *find_option(char **key, struct kl_repo *repo, const char *phase,
			       const char *option)
{
	const char *word = strrchr(option, '.'), *value;

	*key = kl_asprintf("%.*s.%.*s%s", (int)(word - option), option, (int)strcspn(phase, "-/"),
			   phase, word);
	value = kl_repo_config(repo, *key);
	if (!value) {
		free(*key);
		*key = kl_strdup(option);
		value = kl_repo_config(repo, *key);
	}
	return value && *value ? value : NULL;
}

static int read_word(char **out, struct kl_repo *repo, const char *phase, const char *option)
{
	KL_AUTO(kl_freep) char *key = NULL;
	const char *value = find_option(&key, repo, phase, option);

	if (!value)
		return 0;
	if (!kl_name_is_slug(value))
		return kl_error(KL_EINVALID, "config %s: '%.40s' is not a word", key, value);
	*out = kl_strdup(value);
	return 0;
}

/*
 * Refuse an `extra` with a member that every request already has. The member that limits the tokens
 * of a reply is not refused, since its name depends on the provider.
 */
static int check_members(const char *key, const json_t *extra)
{
	static const char *const ours[] = { "model",  "messages",     "input",
					    "system", "instructions", "stream" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(ours); i++)
		if (json_object_get(extra, ours[i]))
			return kl_error(
				KL_EINVALID,
				"config %s: '%s' is set by git-klineage and cannot be replaced",
				key, ours[i]);
	return 0;
}

static int read_extra(json_t **out, struct kl_repo *repo, const char *phase)
{
	KL_AUTO(kl_freep) char *key = NULL;
	const char *value = find_option(&key, repo, phase, "klineage.chat.extra");
	int err;

	if (!value)
		return 0;
	if (strlen(value) > MOST_EXTRA)
		return kl_error(KL_EINVALID, "config %s: the value is longer than %d bytes", key,
				MOST_EXTRA);
	if ((err = kl_json_parse(out, value, strlen(value))) < 0)
		return kl_error_in(err, "config %s", key);
	if (!json_is_object(*out))
		return kl_error(KL_EINVALID, "config %s: not a JSON object", key);
	return check_members(key, *out);
}

static int read_temperature(json_t **extra, struct kl_repo *repo, const char *phase)
{
	KL_AUTO(kl_freep) char *key = NULL;
	const char *value = find_option(&key, repo, phase, "klineage.chat.temperature");
	char *end = NULL;
	double degree;

	if (!value)
		return 0;
	degree = strtod(value, &end);
	if (*end || !isfinite(degree) || degree < 0 || degree > HOTTEST)
		return kl_error(KL_EINVALID, "config %s: '%.40s' is not a number from 0 to 2", key,
				value);
	if (!*extra)
		*extra = json_object();
	json_object_set_new(*extra, "temperature", json_real(degree));
	return 0;
}

int kl_model_options_read(struct kl_model_options *out, struct kl_repo *repo, const char *phase)
{
	int err;

	*out = (struct kl_model_options){ 0 };
	if ((err = read_word(&out->effort, repo, phase, "klineage.chat.effort")) < 0 ||
	    (err = read_word(&out->tier, repo, phase, "klineage.chat.tier")) < 0 ||
	    (err = read_extra(&out->extra, repo, phase)) < 0 ||
	    (err = read_temperature(&out->extra, repo, phase)) < 0) {
		kl_model_options_release(out);
		return err;
	}
	return 0;
}

char *kl_model_options_text(const struct kl_model_options *options)
{
	KL_AUTO(json_decrefp) json_t *all = json_object();
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	if (options->effort)
		kl_json_set_str(all, "effort", options->effort);
	if (options->tier)
		kl_json_set_str(all, "tier", options->tier);
	if (options->extra)
		kl_json_set(all, "extra", json_deep_copy(options->extra));
	if (!json_object_size(all))
		return NULL;
	kl_json_canonical(&text, all);
	return kl_buf_detach(&text);
}
