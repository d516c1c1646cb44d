/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan_spot.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"

struct kl_spot kl_spot_key(const struct kl_spot *up, const char *key)
{
	struct kl_spot spot = { .place = up->place };

	snprintf(spot.path, sizeof(spot.path), "%s%s%.80s", up->path, up->path[0] ? "." : "", key);
	return spot;
}

struct kl_spot kl_spot_item(const struct kl_spot *up, size_t i)
{
	struct kl_spot spot = { .place = up->place };

	snprintf(spot.path, sizeof(spot.path), "%s[%zu]", up->path, i);
	return spot;
}

/* A key may be anything; a message is one line of ASCII. */
static void add_printable(struct kl_buf *out, const char *text)
{
	for (; *text; text++)
		kl_buf_addch(out, isprint((unsigned char)*text) ? *text : '?');
}

static int fail_list(const struct kl_spot *at, enum kl_err kind, const char *mark, const char *fmt,
		     va_list ap)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, line = KL_BUF_INIT;

	if (at->place)
		snprintf(at->place, KL_PLAN_PLACE, "%s%s", at->path, mark);
	kl_buf_vaddf(&text, fmt, ap);
	if (at->path[0]) {
		add_printable(&line, at->path);
		kl_buf_adds(&line, ": ");
	}
	add_printable(&line, text.ptr);
	return kl_error(kind, "%s", line.ptr);
}

int kl_spot_fail(const struct kl_spot *at, enum kl_err kind, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = fail_list(at, kind, "", fmt, ap);
	va_end(ap);
	return err;
}

static int fail_marked(const struct kl_spot *at, const char *mark, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = fail_list(at, KL_EINVALID, mark, fmt, ap);
	va_end(ap);
	return err;
}

int kl_spot_error_at(const struct kl_spot *at, size_t offset)
{
	KL_AUTO(kl_freep) char *why = kl_strdup(kl_error_last());
	char mark[32];

	snprintf(mark, sizeof(mark), "@%zu", offset);
	return fail_marked(at, mark, "%s", why);
}

int kl_spot_error_key(const struct kl_spot *map, const char *key, const char *fmt, ...)
{
	struct kl_spot at = kl_spot_key(map, key);
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = fail_list(&at, KL_EINVALID, "?", fmt, ap);
	va_end(ap);
	return err;
}

/* What asks for data to stay in the cache from call to call, under whatever name. */
static bool names_cache_policy(const char *key)
{
	return strcasestr(key, "policy") || strcasestr(key, "persist") ||
	       strcasestr(key, "window") || !strncasecmp(key, "l2", 2);
}

int kl_spot_keys(const struct kl_spot *at, const json_t *item, const char *const *known,
		 size_t required)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	const char *key;
	json_t *value;

	if (!json_is_object(item))
		return kl_spot_error(at, "a map {key: value} is needed here");
	for (size_t i = 0; known[i]; i++)
		kl_buf_addf(&list, "%s%s", i ? ", " : "", known[i]);
	json_object_foreach((json_t *)(uintptr_t)item, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i] && names_cache_policy(key))
			return kl_spot_error_key(at, key,
						 "L2 access-policy windows are not part of a plan: "
						 "what they keep in the cache outlives a call");
		if (!known[i])
			return kl_spot_error_key(at, key, "unknown key '%.64s' (known here: %s)",
						 key, list.ptr);
	}
	for (size_t i = 0; i < required; i++)
		if (!json_object_get(item, known[i]))
			return kl_spot_error(at, "'%s' is missing", known[i]);
	return 0;
}

bool kl_spot_is_ident(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n && !text[n] && n < 64 && !isdigit((unsigned char)text[0]);
}

int kl_spot_map(const struct kl_spot *at, const json_t *item, size_t max)
{
	const char *key;
	json_t *value;

	if (!json_is_object(item))
		return kl_spot_error(at, "a map {name: value} is needed here");
	if (json_object_size(item) > max)
		return kl_spot_error(at, "%zu entries, at most %zu are possible",
				     json_object_size(item), max);
	json_object_foreach((json_t *)(uintptr_t)item, key, value)
		if (!kl_spot_is_ident(key))
			return kl_spot_error_key(
				at, key, "'%.64s' is no C identifier of at most 63 bytes", key);
	return 0;
}

int kl_spot_list(const struct kl_spot *at, const json_t *value, size_t min, size_t max)
{
	size_t n = json_array_size(value);

	if (!json_is_array(value))
		return kl_spot_error(at, "a list [...] is needed here");
	if (n < min || n > max)
		return min == max ?
			       kl_spot_error(at, "%zu entries where %zu are needed", n, min) :
			       kl_spot_error(at, "%zu entries, it takes %zu to %zu", n, min, max);
	return 0;
}

int kl_spot_text(const char **out, const struct kl_spot *at, const json_t *value, size_t max)
{
	const char *text = json_string_value(value);

	if (!text)
		return kl_spot_error(at, "a single word is needed here");
	if (!*text)
		return kl_spot_error(at, "it is empty");
	if (strlen(text) > max)
		return kl_spot_error(at, "longer than %zu bytes", max);
	for (const char *ch = text; *ch; ch++)
		if (!isprint((unsigned char)*ch))
			return kl_spot_error(at, "it has bytes that do not print");
	*out = text;
	return 0;
}

int kl_spot_choice(int *out, const struct kl_spot *at, const json_t *value,
		   const char *const *words)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	const char *text;
	int err = kl_spot_text(&text, at, value, 64);

	if (err < 0)
		return err;
	for (int i = 0; words[i]; i++) {
		if (!strcmp(words[i], text)) {
			*out = i;
			return 0;
		}
		kl_buf_addf(&list, "%s%s", i ? ", " : "", words[i]);
	}
	return kl_spot_error(at, "'%s' is none of: %s", text, list.ptr);
}

int kl_spot_bool(bool *out, const struct kl_spot *at, const json_t *value)
{
	if (!json_is_boolean(value))
		return kl_spot_error(at, "true or false is needed here");
	*out = json_is_true(value);
	return 0;
}

int kl_spot_int(int64_t *out, const struct kl_spot *at, const json_t *value, int64_t min,
		int64_t max)
{
	int64_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < min || n > max)
		return kl_spot_error(at, "a whole number from %lld to %lld is needed here",
				     (long long)min, (long long)max);
	*out = n;
	return 0;
}

int kl_spot_num(double *out, const struct kl_spot *at, const json_t *value)
{
	const char *text = json_string_value(value);
	double n = json_number_value(value);

	if (text) {
		char *end;

		/* decimal only: strtod alone would take hex, "inf" and blanks */
		if (!*text || text[strspn(text, "+-.0123456789eE")])
			return kl_spot_error(
				at, "a number is needed here, an expression stands in i32 or "
				    "i64");
		n = strtod(text, &end);
		if (*end)
			return kl_spot_error(at, "a number is needed here");
	} else if (!json_is_number(value)) {
		return kl_spot_error(at, "a number is needed here");
	}
	if (!isfinite(n))
		return kl_spot_error(at, "a number that a double holds is needed here");
	*out = n;
	return 0;
}

int kl_spot_expr(struct kl_expr **out, const struct kl_spot *at, const json_t *value,
		 const struct kl_expr_names *names)
{
	const char *text = json_string_value(value);
	char number[32];
	size_t offset;

	if (json_is_integer(value)) {
		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
		text = number;
	}
	if (!text || !*text)
		return kl_spot_error(at, "a number or an expression is needed here");
	if (kl_expr_parse(out, text, names, KL_EXPR_NUMBER, &offset) < 0)
		return kl_spot_error_at(at, offset);
	return 0;
}
