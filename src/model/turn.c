/* SPDX-License-Identifier: Apache-2.0 */
#include "model/turn.h"

#include <string.h>

#include "base/error.h"
#include "model/provider/usage.h"

#define SCHEMA "klineage.turn/1"
#define MAX_NANO (INT64_MAX / 1024) /* so that those of a whole conversation can be added up */
#define MAX_RATE 10000000           /* $10000 for a million tokens */

static const char *const stops[] = { "end", "length", "refusal", "other" };
static const char *const caches[] = { "none", "5m", "1h" };

const char *kl_stop_name(enum kl_stop s)
{
	return stops[s];
}

const char *kl_cache_name(enum kl_cache_ttl c)
{
	return caches[c];
}

/* nano-dollars a token, and where they stand */
static json_t *price_json(const struct kl_turn *t)
{
	struct kl_rates r = t->rates;
	json_t *j;

	if (!t->price)
		return json_null();
	j = json_object();
	kl_json_set_str(j, "from", t->price);
	for (size_t i = 0; i < KL_RATES; i++)
		kl_json_set_int(j, kl_rate_name[i], *kl_rate_at(&r, i));
	return j;
}

void kl_turn_format(struct kl_buf *out, const struct kl_turn *t, size_t number)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();

	kl_json_set_str(j, "schema", SCHEMA);
	kl_json_set_int(j, "turn", (int64_t)number);
	kl_json_set_str(j, "provider", t->provider);
	kl_json_set_str(j, "model", t->model);
	kl_json_set_str(j, "answered", t->answered);
	kl_json_set_str(j, "request_id", t->request_id);
	kl_json_set_str(j, "time", t->time);
	kl_json_set_str(j, "reservation", t->reservation);
	kl_json_set_str(j, "budget", kl_budget_name(t->budget));
	kl_json_set_str(j, "cache", kl_cache_name(t->cache));
	kl_json_set_str(j, "stop", kl_stop_name(t->stop));
	kl_json_set_int(j, "max_tokens", t->max_tokens);
	kl_json_set(j, "usage", kl_usage_json(&t->usage));
	kl_json_set_int(j, "nano", t->nano);
	kl_json_set(j, "price", price_json(t));
	kl_json_set_bool(j, "alone", t->alone);
	kl_json_set_str(j, "prompt", t->prompt);
	kl_json_set_str(j, "chain", t->chain);
	kl_json_pretty(out, j);
	kl_buf_rtrim(out);
	kl_buf_addch(out, '\n');
}

/* one of a list of words, as its place there */
static int read_word(int *out, const json_t *j, const char *key, const char *const *words, size_t n)
{
	const char *s;
	int err = kl_json_str(&s, j, key);

	if (err < 0)
		return err;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(words[i], s)) {
			*out = (int)i;
			return 0;
		}
	return kl_error(KL_EINVALID, "'%s' is '%.32s'", key, s);
}

static bool has_controls(const char *s)
{
	while (*s && (unsigned char)*s >= 0x20 && *s != 0x7f)
		s++;
	return *s;
}

/* short text; where `null` is allowed it may be that */
static int read_text(char **out, const json_t *j, const char *key, bool null)
{
	const char *s;
	int err;

	if (null && json_is_null(json_object_get(j, key)))
		return 0;
	err = kl_json_str(&s, j, key);
	if (!err && (strlen(s) > KL_TURN_TEXT || has_controls(s)))
		return kl_error(KL_EINVALID, "'%s' is too long, or no plain text", key);
	if (!err) {
		free(*out);
		*out = kl_strdup(s);
	}
	return err;
}

static int read_digest(char out[KL_DIGEST_HEX], const json_t *j, const char *key)
{
	const char *s;
	int err = kl_json_str(&s, j, key);

	if (err < 0)
		return err;
	if (strlen(s) != KL_DIGEST_HEX - 1 || s[strspn(s, "0123456789abcdef")])
		return kl_error(KL_EINVALID, "'%s' is no digest", key);
	memcpy(out, s, KL_DIGEST_HEX);
	return 0;
}

static int read_count(int64_t *out, const json_t *j, const char *key)
{
	int err = kl_json_int(out, j, key);

	if (!err && (*out < 0 || *out > MAX_NANO))
		return kl_error(KL_EINVALID, "'%s' is negative or too large", key);
	return err;
}

static int read_enums(struct kl_turn *t, const json_t *j)
{
	static const char *const budgets[] = { "induce", "materialize" };
	int stop = 0, cache = 0, budget = 0, err;

	if ((err = read_word(&stop, j, "stop", stops, KL_ARRAY_SIZE(stops))) < 0 ||
	    (err = read_word(&cache, j, "cache", caches, KL_ARRAY_SIZE(caches))) < 0 ||
	    (err = read_word(&budget, j, "budget", budgets, KL_ARRAY_SIZE(budgets))) < 0)
		return err;
	t->stop = (enum kl_stop)stop;
	t->cache = (enum kl_cache_ttl)cache;
	t->budget = (enum kl_budget)budget;
	return 0;
}

static int read_strings(struct kl_turn *t, const json_t *j)
{
	int err;

	if ((err = read_text(&t->provider, j, "provider", false)) < 0 ||
	    (err = read_text(&t->model, j, "model", false)) < 0 ||
	    (err = read_text(&t->answered, j, "answered", true)) < 0 ||
	    (err = read_text(&t->request_id, j, "request_id", true)) < 0 ||
	    (err = read_text(&t->time, j, "time", false)) < 0 ||
	    (err = read_text(&t->reservation, j, "reservation", true)) < 0 ||
	    (err = read_digest(t->prompt, j, "prompt")) < 0)
		return err;
	return read_digest(t->chain, j, "chain");
}

static int read_price(struct kl_turn *t, const json_t *meta)
{
	const json_t *j = json_object_get(meta, "price");
	int err;

	if (json_is_null(j))
		return 0;
	if (!json_is_object(j))
		return kl_error(KL_EINVALID, "'price' is neither an object nor null");
	if ((err = read_text(&t->price, j, "from", false)) < 0)
		return err;
	for (size_t i = 0; i < KL_RATES; i++) {
		int64_t *n = kl_rate_at(&t->rates, i);

		if ((err = read_count(n, j, kl_rate_name[i])) < 0)
			return err;
		if (*n > MAX_RATE)
			return kl_error(KL_EINVALID, "'price' is too dear to be one");
	}
	return 0;
}

int kl_turn_parse(struct kl_turn *t, const char *text, size_t number)
{
	KL_AUTO(json_decrefp) json_t *j = NULL;
	int64_t turn;
	int err = kl_json_parse(&j, text, strlen(text));

	if (err < 0)
		return err;
	if (strcmp(kl_json_str_or(j, "schema", ""), SCHEMA))
		return kl_error(KL_EINVALID, "its schema is not " SCHEMA);
	if ((err = kl_json_int(&turn, j, "turn")) < 0)
		return err;
	if (turn != (int64_t)number)
		return kl_error(KL_EINVALID, "it says that it is turn %lld", (long long)turn);
	if ((err = read_strings(t, j)) < 0 || (err = read_enums(t, j)) < 0 ||
	    (err = read_price(t, j)) < 0 ||
	    (err = read_count(&t->max_tokens, j, "max_tokens")) < 0 ||
	    (err = read_count(&t->nano, j, "nano")) < 0)
		return err;
	t->alone = kl_json_bool_or(j, "alone", strcmp(t->provider, "exec"));
	return kl_usage_read(&t->usage, json_object_get(j, "usage"));
}
