/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/dialect.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/provider/reply.h"
#include "model/provider/usage.h"

#define NANO 1000000000
#define MOST_DOLLARS 1000000
#define MOST_WORD 64
#define MOST_FACTOR 10

/* --- the table ------------------------------------------------------------------------- */

/*
 * Return true if `text` has only characters of a path: names of members, separated by dots, with a
 * leading slash if the path begins at the object that contains the usage object.
 */
static bool is_member_path(const char *text, size_t len)
{
	return len <= 100 && *text &&
	       !text[strspn(text, "/abcdefghijklmnopqrstuvwxyz0123456789_.")];
}

static const struct kl_string_type member_path = { "a path of members", is_member_path, NULL };

/* clang-format off */
#define PATHS(key, member) \
	KL_SET_FIELD(key, 0, offsetof(struct kl_dialect, member), &member_path, 1, 4)
static const struct kl_field fields[] = {
	KL_STRING_FIELD("name", KL_KEY | KL_NEEDED, offsetof(struct kl_dialect, name), &kl_string_slug),
	KL_BOOL_FIELD("includes-cache", 0, offsetof(struct kl_dialect, includes_cache)),
	KL_SET_FIELD("input", KL_NEEDED, offsetof(struct kl_dialect, input), &member_path, 1, 4),
	KL_SET_FIELD("output", KL_NEEDED, offsetof(struct kl_dialect, output), &member_path, 1, 4),
	PATHS("total", total), PATHS("cache-read", cache_read), PATHS("cache-write", cache_write),
	PATHS("cache-write-5m", cache_write_5m), PATHS("cache-write-1h", cache_write_1h),
	PATHS("cost", cost), PATHS("tier", tier), PATHS("region", region), PATHS("speed", speed),
	KL_VALUES_FIELD("factors", 0, offsetof(struct kl_dialect, factors), &kl_texts_value, 1, 16),
	KL_FIELDS_END
};
/* clang-format on */

const struct kl_schema kl_dialect_schema = {
	.what = "a dialect",
	.size = sizeof(struct kl_dialect),
	.field = fields,
};

/* --- members ---------------------------------------------------------------------------- */

static const json_t *follow_path(const json_t *at, const char *path)
{
	while (at && *path) {
		size_t n = strcspn(path, ".");
		KL_AUTO(kl_freep) char *name = kl_strndup(path, n);

		at = json_object_get(at, name);
		path += n + (path[n] == '.');
	}
	return json_is_null(at) ? NULL : at;
}

/* Return the first member in the list of paths that exists and is not JSON null, or NULL. */
static const json_t *find_member(const struct kl_strvec *paths, const json_t *usage,
				 const json_t *around)
{
	for (size_t i = 0; i < paths->n; i++) {
		const char *path = paths->v[i];
		const json_t *found = *path == '/' ? follow_path(around, path + 1) :
						     follow_path(usage, path);

		if (found)
			return found;
	}
	return NULL;
}

static void read_count(int64_t *to, struct kl_counts *counts, const json_t *value)
{
	int64_t n;

	if (!value)
		return;
	if (!json_is_integer(value) || !kl_reply_is_count(n = json_integer_value(value)))
		counts->bad = true;
	else if (n > *to)
		*to = n;
}

/*
 * Read a tier, region or speed. A value that is not a plain word is ignored, since the value is
 * stored and shown.
 */
static void read_word(char **to, const json_t *value)
{
	const char *text = json_is_string(value) ? json_string_value(value) : NULL;

	if (!text || !*text || strlen(text) > MOST_WORD ||
	    text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")])
		return;
	free(*to);
	*to = kl_strdup(text);
}

static void read_cost(struct kl_counts *counts, const json_t *value)
{
	double dollars = json_is_number(value) ? json_number_value(value) : -1;

	if (dollars >= 0 && dollars <= MOST_DOLLARS)
		counts->cost = (int64_t)(dollars * NANO + 0.5);
}

void kl_counts_read(struct kl_counts *counts, const struct kl_dialect *dialect, const json_t *usage,
		    const json_t *around)
{
	/* clang-format off */
	struct { const struct kl_strvec *paths; int64_t *to; } part[] = {
		{ &dialect->input, &counts->input }, { &dialect->output, &counts->output },
		{ &dialect->total, &counts->total }, { &dialect->cache_read, &counts->read },
		{ &dialect->cache_write, &counts->write },
		{ &dialect->cache_write_5m, &counts->write_5m },
		{ &dialect->cache_write_1h, &counts->write_1h },
	};
	/* clang-format on */
	KL_AUTO(kl_freep) char *speed = NULL;

	for (size_t i = 0; i < KL_ARRAY_SIZE(part); i++)
		read_count(part[i].to, counts, find_member(part[i].paths, usage, around));
	read_cost(counts, find_member(&dialect->cost, usage, around));
	read_word(&counts->region, find_member(&dialect->region, usage, around));
	read_word(&counts->tier, find_member(&dialect->tier, usage, around));
	read_word(&speed, find_member(&dialect->speed, usage, around));
	if (speed && strcmp(speed, "standard")) {
		free(counts->tier);
		counts->tier = kl_steal(&speed);
	}
}

/* --- the usage ------------------------------------------------------------------------- */

static int64_t none_is_zero(int64_t count)
{
	return count < 0 ? 0 : count;
}

static int64_t larger_of(int64_t left, int64_t right)
{
	return left > right ? left : right;
}

static void count_writes(struct kl_usage *usage, const struct kl_counts *counts,
			 enum kl_cache_ttl asked)
{
	int64_t rest;

	usage->cache_write_5m = none_is_zero(counts->write_5m);
	usage->cache_write_1h = none_is_zero(counts->write_1h);
	rest = counts->write - usage->cache_write_5m - usage->cache_write_1h;
	if (rest > 0 && asked == KL_CACHE_1H)
		usage->cache_write_1h += rest;
	else if (rest > 0)
		usage->cache_write_5m += rest;
}

/*
 * Return the number of output tokens. Some providers count reasoning tokens only in the total, so
 * the total less the tokens of the prompt is taken if it is larger than the reported output.
 */
static int64_t all_output(const struct kl_counts *counts, const struct kl_usage *usage)
{
	return larger_of(none_is_zero(counts->output), counts->total - kl_usage_prompt(usage));
}

/*
 * Return the factor of the price for a tier or region, in thousandths: 1000 if the dialect does not
 * list the word.
 */
static int64_t factor_of(const struct kl_dialect *dialect, const char *word)
{
	int at = word ? kl_texts_find(&dialect->factors, word) : -1;
	double factor = at < 0 ? 1 : strtod(dialect->factors.v[at].text, NULL);

	return factor > 0 && factor <= MOST_FACTOR ? (int64_t)(factor * 1000 + 0.5) : 1000;
}

void kl_counts_into(struct kl_reply *out, const struct kl_counts *counts,
		    const struct kl_dialect *dialect, enum kl_cache_ttl asked)
{
	struct kl_usage usage = { .input = none_is_zero(counts->input),
				  .cache_read = none_is_zero(counts->read) };

	count_writes(&usage, counts, asked);
	if (dialect->includes_cache)
		usage.input -= usage.cache_read + usage.cache_write_5m + usage.cache_write_1h;
	usage.output = all_output(counts, &usage);
	usage.known = counts->final && !counts->bad && counts->input >= 0 && counts->output >= 0 &&
		      usage.input >= 0;
	if (usage.input < 0 || counts->bad)
		usage = (struct kl_usage){ 0 };
	out->usage = usage;
	out->stated_nano = counts->cost;
	out->permille = factor_of(dialect, counts->tier) * factor_of(dialect, counts->region) /
			1000;
}

void kl_counts_release(struct kl_counts *counts)
{
	free(counts->tier);
	free(counts->region);
}
