/* SPDX-License-Identifier: Apache-2.0 */
/* memory_import - reads the memory files of other programs, which are not trusted */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "search/memory_branch.h"

#define MOST_LINES 10000
#define MOST_COUNT 1000000
#define MOST_NAME 64

struct reading {
	json_t *entries;
	const char *language;
	size_t n;
};

static json_t *new_entry(const char *kind, const char *text, int64_t count, const char *from)
{
	json_t *entry = json_object();

	kl_json_set_str(entry, "schema", "klineage.memory/1");
	kl_json_set_str(entry, "kind", kind);
	kl_json_set_str(entry, "text", text);
	kl_json_set_int(entry, "count", count);
	kl_json_set_str(entry, "from", from);
	return entry;
}

static int add_checked(struct reading *reading, json_t *entry)
{
	int err;

	kl_json_set_str(entry, "language", reading->language);
	if ((err = kl_memory_check(entry)) < 0) {
		json_decref(entry);
		return err;
	}
	kl_memory_add(reading->entries, entry);
	reading->n++;
	return 0;
}

/* A line of AdaExplore's rules is "<text>||<count>"; the released program writes 3 as 3.0. */
static int read_rule(struct reading *reading, char *line)
{
	char *bars = NULL, *end;
	int64_t times;

	for (char *at = line; (at = strstr(at, "||")); at += 2)
		bars = at;
	if (!bars || !isdigit((unsigned char)bars[2]))
		return kl_error(KL_EINVALID, "the line is not '<rule>||<count>'");
	times = strtoll(bars + 2, &end, 10);
	if (end[0] == '.' && end[1] == '0')
		end += 2;
	if (end[strspn(end, " \t\r")] || times > MOST_COUNT)
		return kl_error(KL_EINVALID, "the count must be a number up to %d", MOST_COUNT);
	*bars = '\0';
	return add_checked(reading, new_entry("rule", line, times, "adaexplore"));
}

static int read_rules(struct reading *reading, const char *text)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;

	kl_strvec_split(&lines, text, "\n");
	for (size_t i = 0; i < lines.n; i++) {
		int err = 0;

		if (i == MOST_LINES)
			return kl_error(KL_EINVALID, "it has more than %d lines", MOST_LINES);
		if (lines.v[i][strspn(lines.v[i], " \t\r")])
			err = read_rule(reading, lines.v[i]);
		if (err < 0)
			return kl_error_in(err, "line %zu", i + 1);
	}
	return 0;
}

/* Make a slug of a name such as "SIMD_operations". */
static void make_slug(char out[MOST_NAME + 1], const char *name)
{
	size_t n = 0;

	for (; *name && n < MOST_NAME; name++)
		out[n++] = isalnum((unsigned char)*name) ? (char)tolower((unsigned char)*name) :
							   '-';
	out[n] = '\0';
}

/* Return a number of a row in millionths, or `dflt` if it is missing or null. */
static int64_t millionths(const json_t *row, const char *key, double dflt)
{
	const json_t *value = json_object_get(row, key);
	double number = json_is_number(value) ? json_number_value(value) : dflt;

	/* a number that is out of bounds is refused by kl_memory_check() */
	return number > 1000 || number < -1000 ? INT64_MAX : (int64_t)(number * 1000000);
}

/* Members are of the released base: improvements are percent of cycles saved. */
static int read_technique(struct reading *reading, const char *state, const json_t *row)
{
	const char *name = kl_json_str_or(row, "technique", "");
	const char *text = kl_json_str_or(row, "description", "");
	json_t *entry = new_entry("technique", text, kl_json_int_or(row, "usage_count", 0),
				  "kernelblaster");
	int64_t saved = millionths(row, "predicted_improvement", 0);
	char slug[MOST_NAME + 1];

	if (!json_is_null(json_object_get(row, "actual_improvement")))
		saved = millionths(row, "actual_improvement", 0);
	make_slug(slug, state);
	kl_json_set_str(entry, "state", slug);
	make_slug(slug, name);
	kl_json_set_str(entry, "technique", slug);
	kl_json_set_int(entry, "saved_ppm", saved == INT64_MAX ? saved : saved / 100);
	kl_json_set_int(entry, "confidence_ppm", millionths(row, "confidence_score", 0.5));
	return add_checked(reading, entry);
}

static int read_base(struct reading *reading, const char *text, size_t n)
{
	KL_AUTO(json_decrefp) json_t *base = NULL;
	json_t *states, *state;
	const char *name;
	int err;

	if ((err = kl_json_parse_lenient(&base, text, n)) < 0 ||
	    (err = kl_json_obj(&states, base, "optimization_strategies")) < 0)
		return err;
	json_object_foreach(states, name, state) {
		const json_t *rows = json_object_get(state, "optimizations");

		for (size_t i = 0; i < json_array_size(rows); i++)
			if ((err = read_technique(reading, name, json_array_get(rows, i))) < 0)
				return kl_error_in(err, "state '%s', technique %zu", name, i + 1);
	}
	return 0;
}

int kl_memory_import(size_t *count, json_t *entries, const struct kl_memory_file *file)
{
	KL_AUTO(json_decrefp) json_t *read = json_object();
	struct reading reading = { .entries = read, .language = file->language };
	const char *path;
	json_t *entry;
	int err;

	if (kl_utf8_span(file->text, file->len) != file->len)
		return kl_error(KL_EINVALID, "it is not text in UTF-8");
	err = strcmp(file->from, "adaexplore") ? read_base(&reading, file->text, file->len) :
						 read_rules(&reading, file->text);
	if (!err && !reading.n)
		err = kl_error(KL_EINVALID, "it has no entry");
	if (err < 0)
		return err;
	*count = reading.n;
	json_object_foreach(read, path, entry)
		kl_memory_add(entries, json_incref(entry));
	return 0;
}
