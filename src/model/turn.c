/* SPDX-License-Identifier: Apache-2.0 */
#include "model/turn.h"

#include <string.h>

#include "base/error.h"
#include "model/provider/flaw.h"
#include "model/provider/usage.h"

#define SCHEMA "klineage.turn/1"
#define MAX_NANO (INT64_MAX / 1024) /* so that the sum over a conversation cannot overflow */
#define MAX_RATE INT64_C(10000000)  /* nano-dollars per token: $10000 per million tokens */
#define UNIT "pico"

static const char *const stops[] = { "end", "length", "refusal", "other" };
static const char *const caches[] = { "none", "5m", "1h" };

const char *kl_stop_name(enum kl_stop stop)
{
	return stops[stop];
}

const char *kl_cache_name(enum kl_cache_ttl ttl)
{
	return caches[ttl];
}

/*
 * Return the rates and the source of the price, or JSON null if the turn is not metered. The rates
 * are in nano-dollars per token if all are whole numbers, otherwise in pico-dollars, and the member
 * `unit` says so.
 */
static json_t *price_json(const struct kl_turn *turn)
{
	struct kl_rates rates = turn->rates;
	int64_t unit = KL_PICO;
	json_t *price;

	if (!turn->price)
		return json_null();
	for (size_t i = 0; i < KL_RATES; i++)
		if (*kl_rate_at(&rates, i) % KL_PICO)
			unit = 1;
	price = json_object();
	kl_json_set_str(price, "from", turn->price);
	if (unit == 1)
		kl_json_set_str(price, "unit", UNIT);
	for (size_t i = 0; i < KL_RATES; i++)
		kl_json_set_int(price, kl_rate_name[i], *kl_rate_at(&rates, i) / unit);
	return price;
}

void kl_turn_format(struct kl_buf *out, const struct kl_turn *turn, size_t number)
{
	KL_AUTO(json_decrefp) json_t *meta = json_object();

	kl_json_set_str(meta, "schema", SCHEMA);
	kl_json_set_int(meta, "turn", (int64_t)number);
	kl_json_set_str(meta, "provider", turn->provider);
	kl_json_set_str(meta, "model", turn->model);
	kl_json_set_str(meta, "answered", turn->answered);
	kl_json_set_str(meta, "request_id", turn->request_id);
	kl_json_set_str(meta, "time", turn->time);
	kl_json_set_str(meta, "reservation", turn->reservation);
	kl_json_set_str(meta, "budget", kl_budget_name(turn->budget));
	kl_json_set_str(meta, "cache", kl_cache_name(turn->cache));
	kl_json_set_str(meta, "stop", kl_stop_name(turn->stop));
	if (turn->flaw != KL_FLAW_NONE)
		kl_json_set_str(meta, "flaw", kl_flaw_name(turn->flaw));
	if (turn->options)
		kl_json_set(meta, "options", json_loads(turn->options, 0, NULL));
	kl_json_set_int(meta, "max_tokens", turn->max_tokens);
	kl_json_set(meta, "usage", kl_usage_json(&turn->usage));
	if (turn->implausible)
		kl_json_set_bool(meta, "implausible", true);
	kl_json_set_int(meta, "nano", turn->nano);
	kl_json_set(meta, "price", price_json(turn));
	kl_json_set_bool(meta, "alone", turn->alone);
	kl_json_set_str(meta, "prompt", turn->prompt);
	kl_json_set_str(meta, "chain", turn->chain);
	kl_json_pretty(out, meta);
	kl_buf_rtrim(out);
	kl_buf_addch(out, '\n');
}

/* Read a member that must be one of `n` words, and set *out to the index of the word. */
static int read_word(int *out, const json_t *obj, const char *key, const char *const *words,
		     size_t n)
{
	const char *text;
	int err = kl_json_str(&text, obj, key);

	if (err < 0)
		return err;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(words[i], text)) {
			*out = (int)i;
			return 0;
		}
	return kl_error(KL_EINVALID, "'%s' has the unknown value '%.32s'", key, text);
}

static bool has_controls(const char *text)
{
	while (*text && (unsigned char)*text >= 0x20 && *text != 0x7f)
		text++;
	return *text;
}

/* Read a short text. If `null` is true, a JSON null is allowed and leaves *out unchanged. */
static int read_text(char **out, const json_t *obj, const char *key, bool null)
{
	const char *text;
	int err;

	if (null && json_is_null(json_object_get(obj, key)))
		return 0;
	err = kl_json_str(&text, obj, key);
	if (!err && (strlen(text) > KL_TURN_TEXT || has_controls(text)))
		return kl_error(KL_EINVALID, "'%s' is too long or not plain text", key);
	if (!err) {
		free(*out);
		*out = kl_strdup(text);
	}
	return err;
}

static int read_digest(char out[KL_DIGEST_HEX], const json_t *obj, const char *key)
{
	const char *text;
	int err = kl_json_str(&text, obj, key);

	if (err < 0)
		return err;
	if (strlen(text) != KL_DIGEST_HEX - 1 || text[strspn(text, "0123456789abcdef")])
		return kl_error(KL_EINVALID, "'%s' is not a digest", key);
	memcpy(out, text, KL_DIGEST_HEX);
	return 0;
}

static int read_enums(struct kl_turn *turn, const json_t *obj)
{
	static const char *const budgets[] = { "induce", "materialize" };
	int stop = 0, cache = 0, budget = 0, err;

	if ((err = read_word(&stop, obj, "stop", stops, KL_ARRAY_SIZE(stops))) < 0 ||
	    (err = read_word(&cache, obj, "cache", caches, KL_ARRAY_SIZE(caches))) < 0 ||
	    (err = read_word(&budget, obj, "budget", budgets, KL_ARRAY_SIZE(budgets))) < 0)
		return err;
	turn->stop = (enum kl_stop)stop;
	turn->cache = (enum kl_cache_ttl)cache;
	turn->budget = (enum kl_budget)budget;
	return kl_flaw_read(&turn->flaw, obj);
}

static int read_strings(struct kl_turn *turn, const json_t *obj)
{
	int err;

	if ((err = read_text(&turn->provider, obj, "provider", false)) < 0 ||
	    (err = read_text(&turn->model, obj, "model", false)) < 0 ||
	    (err = read_text(&turn->answered, obj, "answered", true)) < 0 ||
	    (err = read_text(&turn->request_id, obj, "request_id", true)) < 0 ||
	    (err = read_text(&turn->time, obj, "time", false)) < 0 ||
	    (err = read_text(&turn->reservation, obj, "reservation", true)) < 0 ||
	    (err = read_digest(turn->prompt, obj, "prompt")) < 0)
		return err;
	return read_digest(turn->chain, obj, "chain");
}

static int read_options(struct kl_turn *turn, const json_t *meta)
{
	const json_t *options = json_object_get(meta, "options");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	if (!options)
		return 0;
	if (!json_is_object(options))
		return kl_error(KL_EINVALID, "'options' is not an object");
	kl_json_canonical(&text, options);
	turn->options = kl_buf_detach(&text);
	return 0;
}

static int read_price(struct kl_turn *turn, const json_t *meta)
{
	const json_t *price = json_object_get(meta, "price");
	int64_t unit = KL_PICO;
	int err;

	if (json_is_null(price))
		return 0;
	if (!json_is_object(price))
		return kl_error(KL_EINVALID, "'price' is neither an object nor null");
	if ((err = read_text(&turn->price, price, "from", false)) < 0)
		return err;
	if (json_object_get(price, "unit")) {
		if (strcmp(kl_json_str_or(price, "unit", ""), UNIT))
			return kl_error(KL_EINVALID, "'price': 'unit' is not " UNIT);
		unit = 1;
	}
	for (size_t i = 0; i < KL_RATES; i++) {
		int64_t *rate = kl_rate_at(&turn->rates, i);

		if ((err = kl_json_count(rate, price, kl_rate_name[i], MAX_RATE * KL_PICO / unit)) <
		    0)
			return kl_error_in(err, "'price'");
		*rate *= unit;
	}
	return 0;
}

int kl_turn_parse(struct kl_turn *turn, const char *text, size_t number)
{
	KL_AUTO(json_decrefp) json_t *meta = NULL;
	int64_t stored;
	int err = kl_json_parse(&meta, text, strlen(text));

	if (err < 0)
		return err;
	if (strcmp(kl_json_str_or(meta, "schema", ""), SCHEMA))
		return kl_error(KL_EINVALID, "'schema' is not " SCHEMA);
	if ((err = kl_json_int(&stored, meta, "turn")) < 0)
		return err;
	if (stored != (int64_t)number)
		return kl_error(KL_EINVALID, "the file is for turn %lld", (long long)stored);
	if ((err = read_strings(turn, meta)) < 0 || (err = read_enums(turn, meta)) < 0 ||
	    (err = read_price(turn, meta)) < 0 || (err = read_options(turn, meta)) < 0 ||
	    (err = kl_json_count(&turn->max_tokens, meta, "max_tokens", MAX_NANO)) < 0 ||
	    (err = kl_json_count(&turn->nano, meta, "nano", MAX_NANO)) < 0)
		return err;
	turn->implausible = kl_json_bool_or(meta, "implausible", false);
	turn->alone = kl_json_bool_or(meta, "alone", strcmp(turn->provider, "exec"));
	return kl_usage_read(&turn->usage, json_object_get(meta, "usage"));
}
