/* SPDX-License-Identifier: Apache-2.0 */
#include "model/price.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/money.h"
#include "text/yaml.h"

#define SHIPPED "templates/prices.yaml"
#define MAX_FILE ((size_t)1 << 20)
#define MAX_TOKENS 1000000000
#define MILLION 1000000
#define DEAREST (10000 * KL_DOLLAR) /* for a million tokens; ten times what was ever asked */

void kl_price_free(struct kl_price *p)
{
	if (!p)
		return;
	free(p->model);
	free(p->from);
	free(p);
}

/* --- a rate ------------------------------------------------------------------- */

const char *const kl_rate_name[KL_RATES] = {
	"input", "output", "cache_read", "cache_write_5m", "cache_write_1h",
};

int64_t *kl_rate_at(struct kl_rates *r, size_t i)
{
	int64_t *const at[KL_RATES] = {
		&r->input, &r->output, &r->cache_read, &r->cache_write_5m, &r->cache_write_1h,
	};

	return at[i];
}

/* KL_RATES: none of that name */
static size_t rate_of(const char *name)
{
	size_t i = 0;

	while (i < KL_RATES && strcmp(kl_rate_name[i], name))
		i++;
	return i;
}

/* Dollars for a million tokens to nano-dollars for one; NULL, or what is wrong with it. */
static const char *parse_rate(int64_t *nano, const char *text)
{
	int64_t million;

	if (!kl_money_parse(&million, text))
		return "a price is a decimal number of US dollars, like \"2.50\"";
	if (million % MILLION)
		return "a price has at most 3 decimals: is this one for a million tokens?";
	if (million > DEAREST)
		return "more than $10000 for a million tokens: is this one for a million tokens?";
	*nano = million / MILLION;
	return NULL;
}

/* --- a price file ------------------------------------------------------------- */

struct file {
	const char *name; /* for errors */
	struct kl_yaml *y;
	const struct kl_yaml *models;
};

static void file_release(struct file *f)
{
	kl_yaml_free(f->y);
}

static int read_rate(struct kl_rates *r, const struct file *f, size_t which,
		     const struct kl_yaml *y)
{
	const char *wrong = "a price is a decimal number of US dollars, like \"2.50\"";
	int64_t nano = 0;

	if (y->kind == KL_YAML_SCALAR)
		wrong = parse_rate(&nano, y->text);
	if (wrong)
		return kl_yaml_error(f->name, y, "%s", wrong);
	*kl_rate_at(r, which) = nano;
	return 0;
}

static int refuse_missing(const struct file *f, const struct kl_yaml *map)
{
	for (size_t i = 0; i < KL_RATES; i++)
		if (!kl_yaml_get(map, kl_rate_name[i]))
			return kl_yaml_error(f->name, map, "the price of '%s' is missing",
					     kl_rate_name[i]);
	return 0;
}

static int read_long(struct kl_price *p, const struct file *f, const struct kl_yaml *y)
{
	int64_t n = 0;

	if (y->kind != KL_YAML_MAP)
		return kl_yaml_error(f->name, y, "the prices of a long prompt are a map");
	for (size_t i = 0; i < y->n; i++) {
		size_t which = rate_of(y->key[i]);
		const struct kl_yaml *v = y->item[i];
		int err = 0;

		if (which < KL_RATES)
			err = read_rate(&p->long_rates, f, which, v);
		else if (strcmp(y->key[i], "above"))
			err = kl_yaml_key_error(f->name, y, i, "unknown key '%s'", y->key[i]);
		else if (v->kind != KL_YAML_SCALAR || !v->len || v->len > 9 ||
			 v->text[strspn(v->text, "0123456789")] || !(n = atol(v->text)))
			err = kl_yaml_error(f->name, v, "a number of tokens is wanted");
		if (err < 0)
			return err;
	}
	if (!n)
		return kl_yaml_error(f->name, y,
				     "'above' is missing: how many tokens make it long?");
	p->long_tokens = n;
	return refuse_missing(f, y);
}

static bool date_ok(const char *s)
{
	static const char form[] = "0000-00-00";

	for (size_t i = 0; i < sizeof(form); i++)
		if (form[i] == '0' ? !isdigit((unsigned char)s[i]) : s[i] != form[i])
			return false;
	return true;
}

static int read_field(struct kl_price *p, const struct file *f, const struct kl_yaml *map, size_t i)
{
	size_t which = rate_of(map->key[i]);
	const struct kl_yaml *v = map->item[i];

	if (which < KL_RATES)
		return read_rate(&p->rates, f, which, v);
	if (!strcmp(map->key[i], "long"))
		return read_long(p, f, v);
	if (!strcmp(map->key[i], "date"))
		return v->kind == KL_YAML_SCALAR && date_ok(v->text) ?
			       0 :
			       kl_yaml_error(f->name, v, "a date is wanted, like 2026-11-20");
	if (!strcmp(map->key[i], "source"))
		return v->kind == KL_YAML_SCALAR && v->len ?
			       0 :
			       kl_yaml_error(f->name, v, "where the price stands is wanted");
	return kl_yaml_key_error(f->name, map, i, "unknown key '%s'", map->key[i]);
}

static int read_model(struct kl_price **out, const struct file *f, size_t at)
{
	KL_AUTO(kl_price_freep) struct kl_price *p = kl_calloc(1, sizeof(*p));
	const struct kl_yaml *map = f->models->item[at], *date = NULL;
	int err;

	if (map->kind != KL_YAML_MAP)
		return kl_yaml_error(f->name, map, "the prices of a model are a map");
	for (size_t i = 0; i < map->n; i++)
		if ((err = read_field(p, f, map, i)) < 0)
			return err;
	if ((err = refuse_missing(f, map)) < 0)
		return err;
	if (!(date = kl_yaml_get(map, "date")) || !kl_yaml_get(map, "source"))
		return kl_yaml_error(f->name, map, "'%s' is missing", date ? "source" : "date");
	p->model = kl_strdup(f->models->key[at]);
	p->from = kl_asprintf("%s:%d, %s", f->name, f->models->key_line[at], date->text);
	*out = kl_steal(&p);
	return 0;
}

/* the unit stands in the file, since a price for a thousand tokens looks like one for a million */
static int parse_file(struct file *f, const char *name, const char *text, size_t len)
{
	const struct kl_yaml *unit;
	int err;

	f->name = name;
	if ((err = kl_yaml_parse(&f->y, name, text, len)) < 0)
		return err;
	if (f->y->kind != KL_YAML_MAP)
		return kl_yaml_error(name, f->y, "a price file is a map with 'unit' and 'models'");
	for (size_t i = 0; i < f->y->n; i++)
		if (strcmp(f->y->key[i], "unit") && strcmp(f->y->key[i], "models"))
			return kl_yaml_key_error(name, f->y, i, "unknown key '%s'", f->y->key[i]);
	unit = kl_yaml_get(f->y, "unit");
	if (!unit)
		return kl_yaml_error(name, f->y, "'unit: usd-per-mtok' is missing");
	if (unit->kind != KL_YAML_SCALAR || strcmp(unit->text, "usd-per-mtok"))
		return kl_yaml_error(name, unit,
				     "the unit is not usd-per-mtok: US dollars for a "
				     "million tokens");
	f->models = kl_yaml_get(f->y, "models");
	if (!f->models)
		return kl_yaml_error(name, f->y, "'models' is missing");
	if (f->models->kind != KL_YAML_MAP)
		return kl_yaml_error(name, f->models, "'models' is a map of names to prices");
	return 0;
}

static int open_file(struct file *f, const char *path, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, path, MAX_FILE);

	return err < 0 ? err : parse_file(f, name, text.ptr, text.len);
}

/* "-20251101", "-2026-09-29", "-latest" */
static bool is_snapshot(const char *s)
{
	static const char *const form[] = { "-00000000", "-0000-00-00" };

	if (!strcmp(s, "-latest"))
		return true;
	for (size_t i = 0; i < KL_ARRAY_SIZE(form); i++) {
		const char *f = form[i], *c = s;

		while (*f && (*f == '0' ? isdigit((unsigned char)*c) : *c == *f))
			f++, c++;
		if (!*f && !*c)
			return true;
	}
	return false;
}

/* its own name, else the name of which it is a snapshot */
static int find_in(struct kl_price **out, const struct file *f, const char *model)
{
	size_t best = f->models->n;

	for (size_t i = 0; i < f->models->n; i++) {
		const char *key = f->models->key[i];
		size_t len = strlen(key);

		if (strncmp(model, key, len))
			continue;
		if (!model[len])
			return read_model(out, f, i);
		if (is_snapshot(model + len))
			best = i;
	}
	return best < f->models->n ? read_model(out, f, best) : 0;
}

static int find_in_file(struct kl_price **out, const char *path, const char *name,
			const char *model)
{
	KL_AUTO(file_release) struct file f = { 0 };
	int err = open_file(&f, path, name);

	return err < 0 ? err : find_in(out, &f, model);
}

static int check_models(const struct file *f)
{
	int err = 0;

	for (size_t i = 0; !err && i < f->models->n; i++) {
		KL_AUTO(kl_price_freep) struct kl_price *p = NULL;

		err = read_model(&p, f, i);
	}
	return err;
}

int kl_price_check_file(const char *path)
{
	KL_AUTO(file_release) struct file f = { 0 };
	int err = open_file(&f, path, path);

	return err < 0 ? err : check_models(&f);
}

int kl_price_parse(struct kl_price **out, const char *name, const char *text, size_t len,
		   const char *model)
{
	KL_AUTO(file_release) struct file f = { 0 };
	int err;

	*out = NULL;
	if ((err = parse_file(&f, name, text, len)) < 0 || (err = check_models(&f)) < 0)
		return err;
	return find_in(out, &f, model);
}

/* --- the configuration -------------------------------------------------------- */

/* "input=3" into the price; `*seen` gets a bit for the rate */
static int config_word(struct kl_price *p, unsigned *seen, const char *key, char *word)
{
	char *eq = strchr(word, '=');
	size_t which = KL_RATES;
	const char *wrong = NULL;
	int64_t nano = 0;

	if (eq) {
		*eq = '\0';
		for (char *c = word; *c; c++)
			*c = *c == '-' ? '_' : *c;
		which = rate_of(word);
	}
	if (which == KL_RATES)
		return kl_error(KL_EINVALID,
				"config %s: '%s' is none of input=, output=, cache-read=, "
				"cache-write-5m=, cache-write-1h=",
				key, word);
	if ((wrong = parse_rate(&nano, eq + 1)))
		return kl_error(KL_EINVALID, "config %s: %s: %s", key, word, wrong);
	if (*seen & 1u << which)
		return kl_error(KL_EINVALID, "config %s: %s is said twice", key, word);
	*seen |= 1u << which;
	*kl_rate_at(&p->rates, which) = nano;
	return 0;
}

/* what is not said of caches is taken to be as dear as any provider makes it */
static void fill_caches(struct kl_rates *r, unsigned seen)
{
	if (!(seen & 1u << 2))
		r->cache_read = r->input;
	if (!(seen & 1u << 3))
		r->cache_write_5m = 2 * r->input;
	if (!(seen & 1u << 4))
		r->cache_write_1h = 2 * r->input;
}

static int from_config(struct kl_price **out, struct kl_repo *repo, const char *key,
		       const char *model)
{
	KL_AUTO(kl_price_freep) struct kl_price *p = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec word = KL_STRVEC_INIT;
	const char *v = kl_repo_config(repo, key);
	unsigned seen = 0;
	int err;

	if (!v)
		return 0;
	p = kl_calloc(1, sizeof(*p));
	p->model = kl_strdup(model);
	p->from = kl_asprintf("config %s", key);
	kl_strvec_split(&word, v, " \t,");
	if (word.n == 1 && !strcmp(word.v[0], "free")) {
		*out = kl_steal(&p);
		return 0;
	}
	for (size_t i = 0; i < word.n; i++)
		if ((err = config_word(p, &seen, key, word.v[i])) < 0)
			return err;
	if ((seen & 3u) != 3u)
		return kl_error(KL_EINVALID,
				"config %s: '%s' does not say %s=, in US dollars for a "
				"million tokens",
				key, v, seen & 1u ? "output" : "input");
	fill_caches(&p->rates, seen);
	*out = kl_steal(&p);
	return 0;
}

/* a path of the configuration: absolute, or below the home directory */
static int user_file(char **out, struct kl_repo *repo)
{
	const char *v = kl_repo_config(repo, "klineage.chat.prices"), *home = getenv("HOME");

	if (!v || !*v)
		return 0;
	if (*v == '/')
		*out = kl_strdup(v);
	else if (!strncmp(v, "~/", 2) && home)
		*out = kl_fs_join(home, v + 2);
	else
		return kl_error(KL_EINVALID,
				"config klineage.chat.prices: '%s' begins with neither / nor ~/",
				v);
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
	err = kl_error(KL_EINVALID,
		       "no price is known for the model '%s': without one the budget means "
		       "nothing",
		       model);
	return kl_error_hint(
		err,
		"git config klineage.%s.price 'input=2 output=10', in US dollars for a "
		"million tokens; or 'free'",
		model);
}

/* --- what it comes to --------------------------------------------------------- */

static bool count_ok(int64_t n)
{
	return n >= 0 && n <= MAX_TOKENS;
}

const struct kl_rates *kl_price_rates(const struct kl_price *p, const struct kl_usage *u)
{
	int64_t prompt = u->input + u->cache_read + u->cache_write_5m + u->cache_write_1h;

	return u->known && p->long_tokens && prompt > p->long_tokens ? &p->long_rates : &p->rates;
}

int64_t kl_rates_cost(const struct kl_rates *r, const struct kl_usage *u)
{
	return u->input * r->input + u->output * r->output + u->cache_read * r->cache_read +
	       u->cache_write_5m * r->cache_write_5m + u->cache_write_1h * r->cache_write_1h;
}

int kl_price_cost(int64_t *nano, const struct kl_price *p, const struct kl_usage *u)
{
	if (!count_ok(u->input) || !count_ok(u->output) || !count_ok(u->cache_read) ||
	    !count_ok(u->cache_write_5m) || !count_ok(u->cache_write_1h))
		return kl_error(KL_EINVALID, "the provider counts tokens as no provider can");
	*nano = kl_rates_cost(kl_price_rates(p, u), u);
	return 0;
}

static int64_t larger_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* some providers write to a cache unasked, but none for the longer time */
static int64_t dearest_input(const struct kl_rates *r, enum kl_cache_ttl cache)
{
	int64_t n = larger_of(larger_of(r->input, r->cache_read), r->cache_write_5m);

	return cache == KL_CACHE_1H ? larger_of(n, r->cache_write_1h) : n;
}

void kl_price_worst(int64_t *fixed, int64_t *per_token, const struct kl_price *p,
		    enum kl_cache_ttl cache, int64_t request_bytes)
{
	int64_t tokens = request_bytes + KL_PRICE_ALLOWANCE;
	int64_t in = dearest_input(&p->rates, cache), out = p->rates.output;

	if (p->long_tokens && tokens > p->long_tokens) {
		in = larger_of(in, dearest_input(&p->long_rates, cache));
		out = larger_of(out, p->long_rates.output);
	}
	*fixed = tokens * in;
	*per_token = out;
}
