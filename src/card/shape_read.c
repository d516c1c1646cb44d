/* SPDX-License-Identifier: Apache-2.0 */
/* shape_read - reads a structure from YAML by its table, strictly */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "card/card.h"
#include "card/predicate.h"
#include "card/shape.h"

#define MAX_LINE 2000
#define MAX_TEXT (256u * 1024)
#define MAX_ROWS 4096
#define MAX_SET 256
#define MAX_DIMS 32

struct reader {
	const char *name;
	const char *key; /* of the field that is read, for messages */
};

/* --- strings ------------------------------------------------------------------------ */

static int count_words(const char *s, const char *set)
{
	return (int)strspn(s, set);
}

#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789"

static bool is_slug(const char *s)
{
	size_t n = strspn(s, LOWER "._-");

	return n && !s[n] && n <= 64 && isalnum((unsigned char)*s) && !strstr(s, "..") &&
	       s[n - 1] != '.' && (n < 5 || strcmp(s + n - 5, ".lock") != 0);
}

static bool is_path(const char *s)
{
	for (;;) {
		size_t n = strcspn(s, "/");
		KL_AUTO(kl_freep) char *part = kl_strndup(s, n);

		if (!is_slug(part))
			return false;
		if (!s[n])
			return true;
		s += n + 1;
	}
}

static bool is_hex(const char *s, size_t n)
{
	return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

/* "cp.async", "trait:tiled", "!cp.async", "call._ZGVbN4v_expf" */
static bool is_fact(const char *s)
{
	size_t n;

	s += *s == '!';
	n = strspn(s, LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ._:*-");
	return n && !s[n] && n <= 96 && (isalnum((unsigned char)*s) || *s == '_');
}

static bool is_time(const char *s)
{
	static const char form[] = "0000-00-00T00:00:00Z";

	if (strlen(s) != strlen(form))
		return false;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == '0' ? !isdigit((unsigned char)s[i]) : s[i] != form[i])
			return false;
	return true;
}

/*
 * Text goes to terminals and into prompts: no control bytes but the newline and the tab, and none
 * of the characters that turn the direction of what follows (U+202A-E, U+2066-9).
 */
static bool is_harmless(const char *s, bool lines)
{
	for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
		if ((*p < 0x20 && !(lines && (*p == '\n' || *p == '\t'))) || *p == 0x7f)
			return false;
		if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			return false;
		if (*p == 0xe2 && p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae)
			return false;
		if (*p == 0xe2 && p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)
			return false;
	}
	return true;
}

static int check_predicate(struct reader *r, const struct kl_yaml *y)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *p = NULL;
	size_t at = 0;

	if (!kl_predicate_parse(&p, y->text, &at))
		return 0;
	return kl_yaml_error(r->name, y, "'%s' is no predicate: at its byte %zu: %s", r->key,
			     at + 1, kl_error_last());
}

static int check_string(struct reader *r, enum kl_field_kind kind, const struct kl_yaml *y)
{
	static const char *const must_be[] = {
		[KL_FIELD_SLUG] = "a name ([a-z0-9][a-z0-9._-]*, at most 64)",
		[KL_FIELD_PATH] = "names joined by '/'",
		[KL_FIELD_COMMIT] = "a commit (40 hex digits)",
		[KL_FIELD_EVENT] = "an event's id (64 hex digits)",
		[KL_FIELD_TIME] = "a time (2026-11-20T10:00:00Z)",
		[KL_FIELD_FACTS] = "a fact ('cp.async', 'trait:tiled')",
	};
	const char *s = y->text;
	bool ok = true;

	if (kind == KL_FIELD_PREDICATE)
		return check_predicate(r, y);
	if (kind == KL_FIELD_LINE || kind == KL_FIELD_TEXT) {
		if (y->len > (kind == KL_FIELD_TEXT ? MAX_TEXT : MAX_LINE))
			return kl_yaml_error(r->name, y, "'%s' is too long", r->key);
		if (!is_harmless(s, kind == KL_FIELD_TEXT))
			return kl_yaml_error(
				r->name, y,
				kind == KL_FIELD_TEXT ?
					"control characters in '%s'" :
					"'%s' must be one line without control characters",
				r->key);
		return 0;
	}
	if (kind == KL_FIELD_SLUG)
		ok = is_slug(s);
	else if (kind == KL_FIELD_PATH)
		ok = is_path(s) && y->len <= 200;
	else if (kind == KL_FIELD_COMMIT)
		ok = is_hex(s, 40);
	else if (kind == KL_FIELD_EVENT)
		ok = is_hex(s, 64);
	else if (kind == KL_FIELD_TIME)
		ok = is_time(s);
	else if (kind == KL_FIELD_FACTS)
		ok = is_fact(s);
	return ok ? 0 :
		    kl_yaml_error(r->name, y, "'%s' must be %s, not '%.80s'", r->key, must_be[kind],
				  s);
}

static int read_scalar(struct reader *r, const struct kl_yaml *y)
{
	if (y->kind != KL_YAML_SCALAR)
		return kl_yaml_error(r->name, y, "'%s' must be a single value", r->key);
	if (!y->len)
		return kl_yaml_error(r->name, y, "'%s' is empty", r->key);
	return 0;
}

static int read_string(char **out, struct reader *r, enum kl_field_kind kind,
		       const struct kl_yaml *y)
{
	int err;

	if ((err = read_scalar(r, y)) < 0 || (err = check_string(r, kind, y)) < 0)
		return err;
	*out = kl_strdup(y->text);
	return 0;
}

/* --- numbers and words ---------------------------------------------------------------- */

/* [-]digits[.up to six digits], in millionths or, if `whole`, as they are */
static bool parse_number(int64_t *out, const char *s, bool whole)
{
	bool minus = *s == '-';
	int64_t v = 0, scale = 1000000;
	int n = count_words(s += minus, "0123456789");

	if (!n || (n > 1 && *s == '0'))
		return false;
	for (; isdigit((unsigned char)*s); s++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
			return false;
	if (!whole) {
		if (__builtin_mul_overflow(v, scale, &v))
			return false;
		if (*s == '.') {
			if ((n = count_words(++s, "0123456789")) < 1 || n > 6)
				return false;
			for (; isdigit((unsigned char)*s); s++)
				if (__builtin_add_overflow(v, (*s - '0') * (scale /= 10), &v))
					return false;
		}
	}
	*out = minus ? -v : v;
	return !*s;
}

static int read_number(int64_t *out, struct reader *r, const struct kl_field *f,
		       const struct kl_yaml *y)
{
	int64_t v, max = f->max ? f->max : INT64_MAX;
	bool whole = f->kind == KL_FIELD_INT;
	int err = read_scalar(r, y);

	if (err < 0)
		return err;
	if (!y->plain || !parse_number(&v, y->text, whole))
		return kl_yaml_error(r->name, y, "'%s' must be a %s, not '%.40s'", r->key,
				     whole ? "whole number" : "number with at most six places",
				     y->text);
	if (v < f->min || v > max)
		return kl_yaml_error(r->name, y, "'%s' is out of its range: %.40s", r->key,
				     y->text);
	*out = v;
	return 0;
}

static int read_bool(bool *out, struct reader *r, const struct kl_yaml *y)
{
	int err = read_scalar(r, y);

	if (err < 0)
		return err;
	if (!y->plain || (strcmp(y->text, "true") && strcmp(y->text, "false")))
		return kl_yaml_error(r->name, y, "'%s' must be true or false", r->key);
	*out = !strcmp(y->text, "true");
	return 0;
}

static int read_word(int *out, struct reader *r, const struct kl_field *f, const struct kl_yaml *y)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	int err = read_scalar(r, y);

	if (err < 0)
		return err;
	for (int i = 0; f->words[i]; i++) {
		if (!strcmp(f->words[i], y->text)) {
			*out = i;
			return 0;
		}
		kl_buf_addf(&list, "%s%s", i ? ", " : "", f->words[i]);
	}
	return kl_yaml_error(r->name, y, "'%s' must be one of %s, not '%.40s'", r->key, list.ptr,
			     y->text);
}

/* --- sets, dims, lists ---------------------------------------------------------------- */

static int read_members(struct reader *r, const struct kl_field *f, const struct kl_yaml *y,
			size_t dflt)
{
	size_t max = f->max ? (size_t)f->max : dflt;

	if (y->kind != KL_YAML_SEQ)
		return kl_yaml_error(r->name, y, "'%s' must be a list", r->key);
	if (y->n > max)
		return kl_yaml_error(r->name, y, "'%s' has %zu entries, more than %zu", r->key,
				     y->n, max);
	if (y->n < (size_t)f->min)
		return kl_yaml_error(r->name, y, "'%s' has no entry", r->key);
	return 0;
}

static enum kl_field_kind member_kind(enum kl_field_kind set)
{
	return set == KL_FIELD_SLUGS || set == KL_FIELD_KIND ? KL_FIELD_SLUG :
	       set == KL_FIELD_EVENTS                        ? KL_FIELD_EVENT :
	       set == KL_FIELD_PLATFORMS                     ? KL_FIELD_PATH :
	       set == KL_FIELD_LINES                         ? KL_FIELD_LINE :
							       KL_FIELD_FACTS;
}

static int read_set(struct kl_strvec *out, struct reader *r, const struct kl_field *f,
		    const struct kl_yaml *y)
{
	int err = read_members(r, f, y, MAX_SET);

	for (size_t i = 0; !err && i < y->n; i++) {
		char *s;

		if ((err = read_string(&s, r, member_kind(f->kind), y->item[i])) < 0)
			return err;
		if (kl_strvec_has(out, s))
			err = kl_yaml_error(r->name, y->item[i], "'%.80s' stands in '%s' twice", s,
					    r->key);
		kl_strvec_take(out, s);
	}
	return err;
}

static bool is_dim_name(const char *s)
{
	size_t n = strspn(s, LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

	return n && !s[n] && n <= 63 && !isdigit((unsigned char)*s);
}

static int read_dims(struct kl_card_dims *out, struct reader *r, const struct kl_yaml *y)
{
	static const struct kl_field any = { .kind = KL_FIELD_INT, .min = INT64_MIN + 1 };

	if (y->kind != KL_YAML_MAP || y->n > MAX_DIMS)
		return kl_yaml_error(r->name, y, "'%s' must be a map of at most %d numbers", r->key,
				     MAX_DIMS);
	for (size_t i = 0; i < y->n; i++) {
		int64_t v;
		int err;

		if (!is_dim_name(y->key[i]))
			return kl_yaml_key_error(r->name, y, i, "'%.64s' is no name of a number",
						 y->key[i]);
		if ((err = read_number(&v, r, &any, y->item[i])) < 0)
			return err;
		kl_card_dims_add(out, y->key[i], v);
	}
	return 0;
}

static int read_row(struct kl_list *out, struct reader *r, const struct kl_shape *record,
		    const struct kl_yaml *y, const char *key)
{
	KL_AUTO(kl_freep) char *row = kl_calloc(1, record->size);
	struct kl_shape rest = *record;
	char *taken;
	int err;

	kl_shape_clear(row, record);
	if (key) {
		*(char **)(row + record->field->at) = kl_strdup(key);
		rest.field++;
	}
	err = kl_shape_read(row, key ? &rest : record, r->name, y);
	taken = kl_shape_push(out, row, record);
	for (size_t i = 0; !err && i + 1 < out->n; i++)
		if (kl_shape_same_key(out->v + i * record->size, taken, record))
			err = kl_yaml_error(r->name, y, "%s stands here twice", record->what);
	return err;
}

static int read_list(struct kl_list *out, struct reader *r, const struct kl_field *f,
		     const struct kl_yaml *y)
{
	int err = read_members(r, f, y, MAX_ROWS);

	for (size_t i = 0; !err && i < y->n; i++)
		err = read_row(out, r, f->sub, y->item[i], NULL);
	return err;
}

static int read_map(struct kl_list *out, struct reader *r, const struct kl_field *f,
		    const struct kl_yaml *y)
{
	int err = 0;

	if (y->kind != KL_YAML_MAP)
		return kl_yaml_error(r->name, y, "'%s' must be a map", r->key);
	for (size_t i = 0; !err && i < y->n; i++) {
		if (!is_slug(y->key[i]))
			return kl_yaml_key_error(r->name, y, i, "'%.64s' cannot be a name here",
						 y->key[i]);
		err = read_row(out, r, f->sub, y->item[i], y->key[i]);
	}
	return err;
}

static int read_kind(struct kl_strvec *out, struct reader *r, const struct kl_yaml *y)
{
	static const struct kl_field set = { .kind = KL_FIELD_SLUGS, .min = 1 };

	if (y->kind == KL_YAML_SCALAR && !strcmp(y->text, "win"))
		return 0;
	if (y->kind != KL_YAML_MAP || y->n != 1 || strcmp(y->key[0], "enabler"))
		return kl_yaml_error(r->name, y, "'%s' must be win, or {enabler: [<card>, ...]}",
				     r->key);
	return read_set(out, r, &set, y->item[0]);
}

/* --- records -------------------------------------------------------------------------- */

static int read_field(void *at, struct reader *r, const struct kl_field *f, const struct kl_yaml *y)
{
	switch (f->kind) {
	case KL_FIELD_INT:
	case KL_FIELD_DECIMAL:
		return read_number(at, r, f, y);
	case KL_FIELD_BOOL:
		return read_bool(at, r, y);
	case KL_FIELD_WORD:
		return read_word(at, r, f, y);
	case KL_FIELD_FACTS:
	case KL_FIELD_SLUGS:
	case KL_FIELD_EVENTS:
	case KL_FIELD_PLATFORMS:
	case KL_FIELD_LINES:
		return read_set(at, r, f, y);
	case KL_FIELD_DIMS:
		return read_dims(at, r, y);
	case KL_FIELD_LIST:
		return read_list(at, r, f, y);
	case KL_FIELD_MAP:
		return read_map(at, r, f, y);
	case KL_FIELD_PART:
		*(bool *)at = true;
		return kl_shape_read(at, f->sub, r->name, y);
	case KL_FIELD_GROUP:
		return kl_shape_read(at, f->sub, r->name, y);
	case KL_FIELD_KIND:
		return read_kind(at, r, y);
	default:
		return read_string(at, r, f->kind, y);
	}
}

static const struct kl_field *find_field(const struct kl_shape *r, const char *key)
{
	for (const struct kl_field *f = r->field; f->key; f++)
		if (!strcmp(f->key, key))
			return f;
	return NULL;
}

static int refuse_unknown(const struct kl_shape *r, const char *name, const struct kl_yaml *y,
			  size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;

	for (const struct kl_field *f = r->field; f->key; f++)
		kl_buf_addf(&list, "%s%s", list.len ? ", " : "", f->key);
	return kl_yaml_key_error(name, y, i, "unknown key '%.64s' in %s (known: %s)", y->key[i],
				 r->what, list.ptr);
}

static bool is_null(const struct kl_yaml *y)
{
	return y->kind == KL_YAML_SCALAR && y->plain && !strcmp(y->text, "null");
}

int kl_shape_read(void *obj, const struct kl_shape *r, const char *name, const struct kl_yaml *y)
{
	struct reader reader = { .name = name };
	int err = 0;

	if (y->kind != KL_YAML_MAP)
		return kl_yaml_error(name, y, "%s must be a map {key: value}", r->what);
	if (r->other && kl_yaml_get(y, r->other_key))
		r = r->other;
	for (size_t i = 0; !err && i < y->n; i++) {
		const struct kl_field *f = find_field(r, y->key[i]);

		if (!f)
			return refuse_unknown(r, name, y, i);
		if (is_null(y->item[i]) && (f->flags & KL_NULL))
			continue;
		if (is_null(y->item[i]))
			return kl_yaml_error(name, y->item[i], "'%s' may not be null", f->key);
		reader.key = f->key;
		err = read_field((char *)obj + f->at, &reader, f, y->item[i]);
	}
	for (const struct kl_field *f = r->field; !err && f->key; f++)
		if (f->flags & KL_NEEDED && !kl_yaml_get(y, f->key))
			err = kl_yaml_error(name, y, "'%s' is missing in %s", f->key, r->what);
	return err < 0 || !r->check ? err : r->check(obj, name, y);
}
