/* SPDX-License-Identifier: Apache-2.0 */
#include "model/price.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/money.h"
#include "model/provider/usage.h"
#include "text/yaml.h"

#define SHIPPED "templates/prices.yaml"
#define MAX_FILE ((size_t)1 << 20)
/*
 * limits of a price per million tokens, to detect a price in another unit. DEAREST is ten times the
 * highest known price. CHEAPEST is below the lowest known price, but above any price per token.
 */
#define DEAREST (10000 * KL_DOLLAR)
#define CHEAPEST (KL_DOLLAR / 1000)

void kl_price_free(struct kl_price *price)
{
	if (!price)
		return;
	free(price->model);
	free(price->from);
	free(price);
}

/* --- a rate ------------------------------------------------------------------- */

const char *const kl_rate_name[KL_RATES] = {
	"input", "output", "cache_read", "cache_write_5m", "cache_write_1h",
};

int64_t *kl_rate_at(struct kl_rates *rates, size_t i)
{
	int64_t *const at[KL_RATES] = {
		&rates->input,          &rates->output,         &rates->cache_read,
		&rates->cache_write_5m, &rates->cache_write_1h,
	};

	return at[i];
}

/* Return the index of the rate `name`, or KL_RATES if the name is unknown. */
static size_t rate_of(const char *name)
{
	size_t i = 0;

	while (i < KL_RATES && strcmp(kl_rate_name[i], name))
		i++;
	return i;
}

/*
 * Convert dollars per million tokens to pico-dollars per token. Return NULL, or an error message.
 */
static const char *parse_rate(int64_t *pico, const char *text)
{
	int64_t million;

	if (!kl_money_parse(&million, text))
		return "a price must be a decimal number of US dollars, such as \"2.50\"";
	if (million && million < CHEAPEST)
		return "a price is 0 or at least $0.001; is it per million tokens?";
	if (million % KL_PICO)
		return "a price has at most 6 decimals";
	if (million > DEAREST)
		return "a price is at most $10000 per million tokens; is the unit right?";
	*pico = million / KL_PICO;
	return NULL;
}

/* --- a price file ------------------------------------------------------------- */

struct file {
	const char *name; /* for errors */
	struct kl_yaml *y;
	const struct kl_yaml *models;
};

static void file_release(struct file *file)
{
	kl_yaml_free(file->y);
}

static int read_rate(struct kl_rates *rates, const struct file *file, size_t which,
		     const struct kl_yaml *node)
{
	const char *wrong = "a price must be a decimal number of US dollars, such as \"2.50\"";
	int64_t pico = 0;

	if (node->kind == KL_YAML_SCALAR)
		wrong = parse_rate(&pico, node->text);
	if (wrong)
		return kl_yaml_error(file->name, node, "%s", wrong);
	*kl_rate_at(rates, which) = pico;
	return 0;
}

static int refuse_missing(const struct file *file, const struct kl_yaml *map)
{
	for (size_t i = 0; i < KL_RATES; i++)
		if (!kl_yaml_get(map, kl_rate_name[i]))
			return kl_yaml_error(file->name, map, "the price of '%s' is missing",
					     kl_rate_name[i]);
	return 0;
}

static int read_long(struct kl_price *price, const struct file *file, const struct kl_yaml *node)
{
	int64_t n = 0;

	if (node->kind != KL_YAML_MAP)
		return kl_yaml_error(file->name, node, "the prices of a long prompt must be a map");
	for (size_t i = 0; i < node->n; i++) {
		size_t which = rate_of(node->key[i]);
		const struct kl_yaml *value = node->item[i];
		int err = 0;

		if (which < KL_RATES)
			err = read_rate(&price->long_rates, file, which, value);
		else if (strcmp(node->key[i], "above"))
			err = kl_yaml_key_error(file->name, node, i, "unknown key '%s'",
						node->key[i]);
		else if (value->kind != KL_YAML_SCALAR || !value->len || value->len > 9 ||
			 value->text[strspn(value->text, "0123456789")] || !(n = atol(value->text)))
			err = kl_yaml_error(file->name, value, "expected a number of tokens");
		if (err < 0)
			return err;
	}
	if (!n)
		return kl_yaml_error(
			file->name, node,
			"'above' is missing: the number of tokens above which these prices apply");
	price->long_tokens = n;
	return refuse_missing(file, node);
}

static bool date_ok(const char *text)
{
	static const char form[] = "0000-00-00";

	for (size_t i = 0; i < sizeof(form); i++)
		if (form[i] == '0' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
			return false;
	return true;
}

static int read_field(struct kl_price *price, const struct file *file, const struct kl_yaml *map,
		      size_t i)
{
	size_t which = rate_of(map->key[i]);
	const struct kl_yaml *node = map->item[i];

	if (which < KL_RATES)
		return read_rate(&price->rates, file, which, node);
	if (!strcmp(map->key[i], "long"))
		return read_long(price, file, node);
	if (!strcmp(map->key[i], "date"))
		return node->kind == KL_YAML_SCALAR && date_ok(node->text) ?
			       0 :
			       kl_yaml_error(file->name, node,
					     "expected a date, such as 2026-11-20");
	if (!strcmp(map->key[i], "source"))
		return node->kind == KL_YAML_SCALAR && node->len ?
			       0 :
			       kl_yaml_error(file->name, node, "expected the source of the price");
	return kl_yaml_key_error(file->name, map, i, "unknown key '%s'", map->key[i]);
}

static int read_model(struct kl_price **out, const struct file *file, size_t at)
{
	KL_AUTO(kl_price_freep) struct kl_price *price = kl_calloc(1, sizeof(*price));
	const struct kl_yaml *map = file->models->item[at], *date = NULL;
	int err;

	if (map->kind != KL_YAML_MAP)
		return kl_yaml_error(file->name, map, "the prices of a model must be a map");
	for (size_t i = 0; i < map->n; i++)
		if ((err = read_field(price, file, map, i)) < 0)
			return err;
	if ((err = refuse_missing(file, map)) < 0)
		return err;
	if (!(date = kl_yaml_get(map, "date")) || !kl_yaml_get(map, "source"))
		return kl_yaml_error(file->name, map, "'%s' is missing", date ? "source" : "date");
	price->model = kl_strdup(file->models->key[at]);
	price->from = kl_asprintf("%s:%d, %s", file->name, file->models->key_line[at], date->text);
	*out = kl_steal(&price);
	return 0;
}

/*
 * Parse a price file. It must state its unit, since a price per thousand tokens cannot be
 * distinguished from a price per million.
 */
static int parse_file(struct file *file, const char *name, const char *text, size_t len)
{
	const struct kl_yaml *unit;
	int err;

	file->name = name;
	if ((err = kl_yaml_parse(&file->y, name, text, len)) < 0)
		return err;
	if (file->y->kind != KL_YAML_MAP)
		return kl_yaml_error(name, file->y,
				     "a price file must be a map with 'unit' and 'models'");
	for (size_t i = 0; i < file->y->n; i++)
		if (strcmp(file->y->key[i], "unit") && strcmp(file->y->key[i], "models"))
			return kl_yaml_key_error(name, file->y, i, "unknown key '%s'",
						 file->y->key[i]);
	unit = kl_yaml_get(file->y, "unit");
	if (!unit)
		return kl_yaml_error(name, file->y, "'unit: usd-per-mtok' is missing");
	if (unit->kind != KL_YAML_SCALAR || strcmp(unit->text, "usd-per-mtok"))
		return kl_yaml_error(
			name, unit, "the unit must be usd-per-mtok, US dollars per million tokens");
	file->models = kl_yaml_get(file->y, "models");
	if (!file->models)
		return kl_yaml_error(name, file->y, "'models' is missing");
	if (file->models->kind != KL_YAML_MAP)
		return kl_yaml_error(name, file->models,
				     "'models' must be a map of names to prices");
	return 0;
}

static int open_file(struct file *file, const char *path, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, path, MAX_FILE);

	return err < 0 ? err : parse_file(file, name, text.ptr, text.len);
}

bool kl_price_is_snapshot(const char *text)
{
	static const char *const form[] = { "-00000000", "-0000-00-00" };

	if (!strcmp(text, "-latest"))
		return true;
	for (size_t i = 0; i < KL_ARRAY_SIZE(form); i++) {
		const char *want = form[i], *ch = text;

		while (*want && (*want == '0' ? isdigit((unsigned char)*ch) : *ch == *want))
			want++, ch++;
		if (!*want && !*ch)
			return true;
	}
	return false;
}

/*
 * Find the entry with the name `model`; if there is none, find an entry such that `model` is its
 * name with a snapshot suffix.
 */
static int find_in(struct kl_price **out, const struct file *file, const char *model)
{
	size_t best = file->models->n;

	for (size_t i = 0; i < file->models->n; i++) {
		const char *key = file->models->key[i];
		size_t len = strlen(key);

		if (strncmp(model, key, len))
			continue;
		if (!model[len])
			return read_model(out, file, i);
		if (kl_price_is_snapshot(model + len))
			best = i;
	}
	return best < file->models->n ? read_model(out, file, best) : 0;
}

static int find_in_file(struct kl_price **out, const char *path, const char *name,
			const char *model)
{
	KL_AUTO(file_release) struct file file = { 0 };
	int err = open_file(&file, path, name);

	return err < 0 ? err : find_in(out, &file, model);
}

static int check_models(const struct file *file)
{
	int err = 0;

	for (size_t i = 0; !err && i < file->models->n; i++) {
		KL_AUTO(kl_price_freep) struct kl_price *price = NULL;

		err = read_model(&price, file, i);
	}
	return err;
}

int kl_price_check_file(const char *path)
{
	KL_AUTO(file_release) struct file file = { 0 };
	int err = open_file(&file, path, path);

	return err < 0 ? err : check_models(&file);
}

int kl_price_parse(struct kl_price **out, const char *name, const char *text, size_t len,
		   const char *model)
{
	KL_AUTO(file_release) struct file file = { 0 };
	int err;

	*out = NULL;
	if ((err = parse_file(&file, name, text, len)) < 0 || (err = check_models(&file)) < 0)
		return err;
	return find_in(out, &file, model);
}

/* --- the configuration -------------------------------------------------------- */

/* Read a word of a configured price, such as "input=3", and set the bit of its rate in `*seen`. */
static int config_word(struct kl_price *price, unsigned *seen, const char *key, char *word)
{
	char *eq = strchr(word, '=');
	size_t which = KL_RATES;
	const char *wrong = NULL;
	int64_t pico = 0;

	if (eq) {
		*eq = '\0';
		for (char *ch = word; *ch; ch++)
			*ch = *ch == '-' ? '_' : *ch;
		which = rate_of(word);
	}
	if (which == KL_RATES)
		return kl_error(KL_EINVALID,
				"config %s: '%s' is not one of input=, output=, cache-read=, "
				"cache-write-5m=, cache-write-1h=",
				key, word);
	if ((wrong = parse_rate(&pico, eq + 1)))
		return kl_error(KL_EINVALID, "config %s: %s: %s", key, word, wrong);
	if (*seen & 1u << which)
		return kl_error(KL_EINVALID, "config %s: %s is given twice", key, word);
	*seen |= 1u << which;
	*kl_rate_at(&price->rates, which) = pico;
	return 0;
}

/* Set each missing cache rate to the highest that any known provider charges. */
static void fill_caches(struct kl_rates *rates, unsigned seen)
{
	if (!(seen & 1u << 2))
		rates->cache_read = rates->input;
	if (!(seen & 1u << 3))
		rates->cache_write_5m = 2 * rates->input;
	if (!(seen & 1u << 4))
		rates->cache_write_1h = 2 * rates->input;
}

static int from_config(struct kl_price **out, struct kl_repo *repo, const char *key,
		       const char *model)
{
	KL_AUTO(kl_price_freep) struct kl_price *price = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec word = KL_STRVEC_INIT;
	const char *value = kl_repo_config(repo, key);
	unsigned seen = 0;
	int err;

	if (!value)
		return 0;
	price = kl_calloc(1, sizeof(*price));
	price->model = kl_strdup(model);
	price->from = kl_asprintf("config %s", key);
	kl_strvec_split(&word, value, " \t,");
	if (word.n == 1 && !strcmp(word.v[0], "free")) {
		*out = kl_steal(&price);
		return 0;
	}
	for (size_t i = 0; i < word.n; i++)
		if ((err = config_word(price, &seen, key, word.v[i])) < 0)
			return err;
	if ((seen & 3u) != 3u)
		return kl_error(KL_EINVALID,
				"config %s: '%s' has no %s=, in US dollars per million tokens", key,
				value, seen & 1u ? "output" : "input");
	fill_caches(&price->rates, seen);
	*out = kl_steal(&price);
	return 0;
}

/* Get the path of the configured price file, which is absolute or starts with ~/. */
static int user_file(char **out, struct kl_repo *repo)
{
	const char *value = kl_repo_config(repo, "klineage.chat.prices"), *home = getenv("HOME");

	if (!value || !*value)
		return 0;
	if (*value == '/')
		*out = kl_strdup(value);
	else if (!strncmp(value, "~/", 2) && home)
		*out = kl_fs_join(home, value + 2);
	else
		return kl_error(KL_EINVALID,
				"config klineage.chat.prices: '%s' must begin with / or ~/", value);
	return 0;
}

static int find_price(struct kl_price **out, struct kl_repo *repo, const char *model)
{
	KL_AUTO(kl_freep) char *own = kl_asprintf("klineage.%s.price", model);
	KL_AUTO(kl_freep) char *user = NULL, *shipped = NULL;
	int err = from_config(out, repo, own, model);

	if (!err && !*out)
		err = user_file(&user, repo);
	if (!err && user)
		err = find_in_file(out, user, user, model);
	if (!err && !*out && !(err = kl_fs_share(&shipped, SHIPPED)))
		err = find_in_file(out, shipped, SHIPPED, model);
	if (!err && !*out)
		err = from_config(out, repo, "klineage.chat.price", model);
	return err;
}

int kl_price_find(struct kl_price **out, struct kl_repo *repo, const char *model)
{
	int err = find_price(out, repo, model);

	if (err < 0 || *out)
		return err;
	err = kl_error(KL_EINVALID, "the model '%s' has no price, but the budget needs its price",
		       model);
	return kl_error_hint(
		err,
		"run: git config klineage.%s.price 'input=2 output=10', in US dollars per million "
		"tokens; or 'free'",
		model);
}

/* --- costs -------------------------------------------------------------------- */

static bool count_ok(int64_t n)
{
	return n >= 0 && n <= KL_USAGE_MAX;
}

const struct kl_rates *kl_price_rates(const struct kl_price *price, const struct kl_usage *usage)
{
	return usage->known && price->long_tokens && kl_usage_prompt(usage) > price->long_tokens ?
		       &price->long_rates :
		       &price->rates;
}

int64_t kl_rates_cost(const struct kl_rates *rates, const struct kl_usage *usage, int64_t permille)
{
	__int128 pico = (__int128)usage->input * rates->input +
			(__int128)usage->output * rates->output +
			(__int128)usage->cache_read * rates->cache_read +
			(__int128)usage->cache_write_5m * rates->cache_write_5m +
			(__int128)usage->cache_write_1h * rates->cache_write_1h;

	return (int64_t)((pico * permille + 500 * KL_PICO) / (1000 * KL_PICO));
}

int kl_price_cost(int64_t *nano, const struct kl_price *price, const struct kl_usage *usage,
		  int64_t permille)
{
	if (!count_ok(usage->input) || !count_ok(usage->output) || !count_ok(usage->cache_read) ||
	    !count_ok(usage->cache_write_5m) || !count_ok(usage->cache_write_1h))
		return kl_error(KL_EINVALID, "the provider reports impossible token counts");
	*nano = kl_rates_cost(kl_price_rates(price, usage), usage, permille);
	return 0;
}

static int64_t larger_of(int64_t left, int64_t right)
{
	return left > right ? left : right;
}

/*
 * Return the highest price of an input token. Some providers write to a 5-minute cache without
 * being asked, but no provider does so with a 1-hour cache.
 */
static int64_t dearest_input(const struct kl_rates *rates, enum kl_cache_ttl cache)
{
	int64_t n = larger_of(larger_of(rates->input, rates->cache_read), rates->cache_write_5m);

	return cache == KL_CACHE_1H ? larger_of(n, rates->cache_write_1h) : n;
}

/* Convert pico-dollars to nano-dollars, rounded up. */
static int64_t round_up(__int128 pico)
{
	return (int64_t)((pico + KL_PICO - 1) / KL_PICO);
}

void kl_price_worst(int64_t *fixed, int64_t *per_token, const struct kl_price *price,
		    enum kl_cache_ttl cache, int64_t request_bytes)
{
	int64_t tokens = request_bytes + KL_PRICE_ALLOWANCE;
	int64_t in = dearest_input(&price->rates, cache), out = price->rates.output;

	if (price->long_tokens && tokens > price->long_tokens) {
		in = larger_of(in, dearest_input(&price->long_rates, cache));
		out = larger_of(out, price->long_rates.output);
	}
	*fixed = round_up((__int128)tokens * in);
	*per_token = round_up(out);
}
