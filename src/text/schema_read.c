/* SPDX-License-Identifier: Apache-2.0 */
/* schema_read - reads a structure from YAML by its table, rejecting unknown keys */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "text/schema.h"

#define MAX_ROWS 4096
#define MAX_SET 256

struct reader {
	const char *name;
	const char *key; /* key of the field that is being read, for messages */
};

/* --- reading strings ----------------------------------------------------------------- */

static int check_string(struct reader *reader, const struct kl_string_type *type,
			const struct kl_yaml *node)
{
	if (type->check)
		return type->check(reader->name, node, reader->key);
	return type->is_valid(node->text, node->len) ?
		       0 :
		       kl_yaml_error(reader->name, node, "'%s' must be %s, not '%.80s'",
				     reader->key, type->must_be, node->text);
}

static int read_scalar(struct reader *reader, const struct kl_yaml *node)
{
	if (node->kind != KL_YAML_SCALAR)
		return kl_yaml_error(reader->name, node, "'%s' must be a single value",
				     reader->key);
	if (!node->len)
		return kl_yaml_error(reader->name, node, "'%s' is empty", reader->key);
	return 0;
}

static int read_string(char **out, struct reader *reader, const struct kl_string_type *type,
		       const struct kl_yaml *node)
{
	int err;

	if ((err = read_scalar(reader, node)) < 0 || (err = check_string(reader, type, node)) < 0)
		return err;
	*out = kl_strdup(node->text);
	return 0;
}

/* --- reading numbers and words -------------------------------------------------------- */

static size_t count_digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* Multiply *value by ten and add `digit`. Returns false if that overflows. */
static bool add_digit(int64_t *value, int64_t digit)
{
	return !__builtin_mul_overflow(*value, 10, value) &&
	       !__builtin_add_overflow(*value, digit, value);
}

/*
 * Parse a number. If `whole`, it is [-]digits; otherwise it is [-]digits[.digits], with at most six
 * digits after the point, and *out is in millionths. If `loose`, leading zeros are allowed.
 */
static bool parse_number(int64_t *out, const char *text, bool whole, bool loose)
{
	int64_t sign = *text == '-' ? -1 : 1, value = 0, scale = 1000000;
	size_t n = count_digits(text += sign < 0);

	if (!n || (n > 1 && *text == '0' && !loose))
		return false;
	for (; isdigit((unsigned char)*text); text++)
		if (!add_digit(&value, sign * (*text - '0')))
			return false;
	if (!whole) {
		if (__builtin_mul_overflow(value, scale, &value))
			return false;
		if (*text == '.') {
			if ((n = count_digits(++text)) < 1 || n > 6)
				return false;
			for (; isdigit((unsigned char)*text); text++)
				if (__builtin_add_overflow(
					    value, sign * (*text - '0') * (scale /= 10), &value))
					return false;
		}
	}
	*out = value;
	return !*text;
}

static void add_bound(struct kl_buf *out, const char *before, const struct kl_field *field,
		      int64_t bound)
{
	kl_buf_adds(out, before);
	if (field->kind == KL_FIELD_DECIMAL)
		kl_buf_add_decimal(out, bound);
	else
		kl_buf_addf(out, "%lld", (long long)bound);
}

/*
 * Append the range of a number, such as " from 1 to 64" or " from 1 on". If the field accepts any
 * number, append nothing.
 */
static void add_range(struct kl_buf *out, const struct kl_field *field)
{
	if (field->min <= INT64_MIN + 1)
		return;
	add_bound(out, " from ", field, field->min);
	if (field->max)
		add_bound(out, " to ", field, field->max);
	else
		kl_buf_adds(out, " on");
}

/* Report a number that is malformed or, if `outside`, not within its bounds. */
static int refuse_number(struct reader *reader, const struct kl_field *field,
			 const struct kl_yaml *node, bool outside)
{
	KL_AUTO(kl_buf_release) struct kl_buf range = KL_BUF_INIT;

	add_range(&range, field);
	if (outside)
		return kl_yaml_error(reader->name, node, "'%s' is out of its range%s: %.40s",
				     reader->key, range.ptr, node->text);
	return kl_yaml_error(reader->name, node, "'%s' must be a %s%s, not '%.40s'", reader->key,
			     field->kind == KL_FIELD_DECIMAL ?
				     "number with at most six decimal places" :
				     "whole number",
			     range.ptr, node->text);
}

static int read_number(int64_t *out, struct reader *reader, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	int64_t value, max = field->max ? field->max : INT64_MAX;
	int err = read_scalar(reader, node);

	if (err < 0)
		return err;
	if (!node->plain || !parse_number(&value, node->text, field->kind != KL_FIELD_DECIMAL,
					  field->flags & KL_LOOSE))
		return refuse_number(reader, field, node, false);
	if (value < field->min || value > max)
		return refuse_number(reader, field, node, true);
	*out = value;
	return 0;
}

/* Parse a decimal number, .inf, +.inf, -.inf or .nan. */
static bool parse_double(double *out, const char *text)
{
	static const struct {
		const char *word;
		double value;
	} words[] = {
		{ ".inf", INFINITY },
		{ "+.inf", INFINITY },
		{ "-.inf", -INFINITY },
		{ ".nan", NAN },
	};
	char *end;

	for (size_t i = 0; i < KL_ARRAY_SIZE(words); i++) {
		if (!strcmp(text, words[i].word)) {
			*out = words[i].value;
			return true;
		}
	}
	/*
	 * check the characters first, because strtod() also accepts hex, "inf" and leading blanks
	 */
	if (!*text || text[strspn(text, "+-.0123456789eE")])
		return false;
	*out = strtod(text, &end);
	return !*end && isfinite(*out);
}

static int read_double(double *out, struct reader *reader, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	bool any = field->low == 0 && field->high == 0;
	char range[64] = "";
	double value;
	int err = read_scalar(reader, node);

	if (err < 0)
		return err;
	if (node->plain && parse_double(&value, node->text) &&
	    (any || (value >= field->low && value <= field->high))) {
		*out = value;
		return 0;
	}
	if (!any)
		snprintf(range, sizeof(range), " from %g to %g", field->low, field->high);
	return kl_yaml_error(reader->name, node, "'%s' must be a number%s, not '%.40s'",
			     reader->key, range, node->text);
}

static int read_bool(bool *out, struct reader *reader, const struct kl_yaml *node)
{
	int err = read_scalar(reader, node);

	if (err < 0)
		return err;
	if (!node->plain || (strcmp(node->text, "true") && strcmp(node->text, "false")))
		return kl_yaml_error(reader->name, node, "'%s' must be true or false", reader->key);
	*out = !strcmp(node->text, "true");
	return 0;
}

static int refuse_word(struct reader *reader, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;

	for (size_t i = 0; field->words[i]; i++)
		kl_buf_addf(&list, "%s%s", i ? ", " : "", field->words[i]);
	return kl_yaml_error(reader->name, node, "'%s' must be %s%s, not '%.40s'", reader->key,
			     field->words[0] && field->words[1] ? "one of " : "",
			     list.len ? list.ptr : "nothing", node->text);
}

static int read_word(int *out, struct reader *reader, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	int err = read_scalar(reader, node);

	if (err < 0)
		return err;
	for (int i = 0; field->words[i]; i++) {
		if (!strcmp(field->words[i], node->text)) {
			*out = i;
			return 0;
		}
	}
	return refuse_word(reader, field, node);
}

/* --- reading sets, lists and maps ----------------------------------------------------- */

/*
 * Check the number of entries. `one` is the word for a single entry in messages: "entry" or "key".
 */
static int check_count(struct reader *reader, const struct kl_field *field,
		       const struct kl_yaml *node, const char *one, size_t dflt)
{
	size_t min = (size_t)field->min, max = field->max ? (size_t)field->max : dflt;
	const char *many = *one == 'e' ? "entries" : "keys", *what = node->n == 1 ? one : many;

	if (node->n >= min && node->n <= max)
		return 0;
	if (!node->n && min != max)
		return kl_yaml_error(reader->name, node, "'%s' has no %s", reader->key, one);
	if (min == max)
		return kl_yaml_error(reader->name, node, "'%s' has %zu %s, but must have %zu",
				     reader->key, node->n, what, max);
	return kl_yaml_error(reader->name, node, "'%s' has %zu %s, %s than %zu", reader->key,
			     node->n, what, node->n < min ? "fewer" : "more",
			     node->n < min ? min : max);
}

static int check_list(struct reader *reader, const struct kl_field *field,
		      const struct kl_yaml *node, size_t dflt)
{
	if (node->kind != KL_YAML_SEQ)
		return kl_yaml_error(reader->name, node, "'%s' must be a list", reader->key);
	return check_count(reader, field, node, "entry", dflt);
}

static int read_set(struct kl_strvec *out, struct reader *reader, const struct kl_field *field,
		    const struct kl_yaml *node)
{
	int err = check_list(reader, field, node, MAX_SET);

	for (size_t i = 0; !err && i < node->n; i++) {
		char *text;

		if ((err = read_string(&text, reader, field->string, node->item[i])) < 0)
			return err;
		if (kl_strvec_has(out, text))
			err = kl_yaml_error(reader->name, node->item[i],
					    "'%.80s' appears twice in '%s'", text, reader->key);
		kl_strvec_take(out, text);
	}
	return err;
}

static int read_row(struct kl_list *out, struct reader *reader, const struct kl_schema *schema,
		    const struct kl_yaml *node, const char *key)
{
	KL_AUTO(kl_freep) char *row = kl_calloc(1, schema->size);
	struct kl_schema rest = *schema;
	char *added;
	int err;

	kl_schema_clear(row, schema);
	if (key) {
		*(char **)(row + schema->field->at) = kl_strdup(key);
		rest.field++;
	}
	err = kl_schema_read(row, key ? &rest : schema, reader->name, node);
	added = kl_schema_push(out, row, schema);
	for (size_t i = 0; !err && i + 1 < out->n; i++)
		if (kl_schema_same_key(out->v + i * schema->size, added, schema))
			err = kl_yaml_error(reader->name, node, "%s appears twice", schema->what);
	return err;
}

static int read_list(struct kl_list *out, struct reader *reader, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	int err = check_list(reader, field, node, MAX_ROWS);

	for (size_t i = 0; !err && i < node->n; i++)
		err = read_row(out, reader, field->sub, node->item[i], NULL);
	return err;
}

/*
 * Return true if `key` is valid. If the type has no is_valid(), every key is accepted here, and
 * check() of the schema must check the key.
 */
static bool is_name(const struct kl_string_type *type, const char *key)
{
	return !type->is_valid || type->is_valid(key, strlen(key));
}

static int read_map(struct kl_list *out, struct reader *reader, const struct kl_field *field,
		    const struct kl_yaml *node)
{
	int err = 0;

	if (node->kind != KL_YAML_MAP)
		return kl_yaml_error(reader->name, node, "'%s' must be a map", reader->key);
	for (size_t i = 0; !err && i < node->n; i++) {
		if (!is_name(field->sub->field->string, node->key[i]))
			return kl_yaml_key_error(reader->name, node, i,
						 "'%.64s' is not a valid name", node->key[i]);
		err = read_row(out, reader, field->sub, node->item[i], node->key[i]);
	}
	return err;
}

/* --- reading structures --------------------------------------------------------------- */

static int read_field(void *at, struct reader *reader, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	switch (field->kind) {
	case KL_FIELD_INT:
	case KL_FIELD_DECIMAL:
		return read_number(at, reader, field, node);
	case KL_FIELD_DOUBLE:
		return read_double(at, reader, field, node);
	case KL_FIELD_BOOL:
		return read_bool(at, reader, node);
	case KL_FIELD_WORD:
		return read_word(at, reader, field, node);
	case KL_FIELD_SET:
		return read_set(at, reader, field, node);
	case KL_FIELD_VALUE:
		return field->value->read(at, reader->name, field, node);
	case KL_FIELD_LIST:
		return read_list(at, reader, field, node);
	case KL_FIELD_MAP:
		return read_map(at, reader, field, node);
	case KL_FIELD_PART:
		*(bool *)at = true;
		return kl_schema_read(at, field->sub, reader->name, node);
	case KL_FIELD_GROUP:
		return kl_schema_read(at, field->sub, reader->name, node);
	case KL_FIELD_STRING:
		return read_string(at, reader, field->string, node);
	}
	KL_BUG("unknown kind of field: %d", field->kind);
}

static const struct kl_field *find_field(const struct kl_schema *schema, const char *key)
{
	for (const struct kl_field *field = schema->field; field->key; field++)
		if (!strcmp(field->key, key))
			return field;
	return NULL;
}

static int refuse_unknown(const struct kl_schema *schema, const char *name,
			  const struct kl_yaml *node, size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;

	for (const struct kl_field *field = schema->field; field->key; field++)
		kl_buf_addf(&list, "%s%s", list.len ? ", " : "", field->key);
	return kl_yaml_key_error(name, node, i, "unknown key '%.64s' in %s (known: %s)",
				 node->key[i], schema->what, list.ptr);
}

static bool is_null(const struct kl_yaml *node)
{
	return node->kind == KL_YAML_SCALAR && node->plain && !strcmp(node->text, "null");
}

int kl_schema_check_keys(const struct kl_schema *schema, const char *name,
			 const struct kl_yaml *node)
{
	for (size_t i = 0; i < node->n; i++)
		if (!find_field(schema, node->key[i]))
			return refuse_unknown(schema, name, node, i);
	return 0;
}

/*
 * Report that `key` is missing. If the map has an unknown key, report the unknown key instead,
 * because it can be a misspelling of `key`.
 */
static int refuse_missing(const struct kl_schema *schema, const char *name,
			  const struct kl_yaml *node, const char *key)
{
	int err = kl_schema_check_keys(schema, name, node);

	return err < 0 ? err :
			 kl_yaml_error(name, node, "'%s' is missing in %s", key, schema->what);
}

static int read_member(void *obj, struct reader *reader, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	if (is_null(node) && (field->flags & KL_NULL))
		return 0;
	if (is_null(node) && !(field->flags & KL_LOOSE))
		return kl_yaml_error(reader->name, node, "'%s' must not be null", field->key);
	reader->key = field->key;
	return read_field((char *)obj + field->at, reader, field, node);
}

int kl_schema_read(void *obj, const struct kl_schema *schema, const char *name,
		   const struct kl_yaml *node)
{
	struct reader reader = { .name = name };
	int err = 0;

	if (node->kind != KL_YAML_MAP)
		return kl_yaml_error(name, node, "%s must be a map {key: value}", schema->what);
	if (schema->other && kl_yaml_get(node, schema->other_key))
		schema = schema->other;
	for (const struct kl_field *field = schema->field; !err && field->key; field++) {
		const struct kl_yaml *value = kl_yaml_get(node, field->key);

		if (value)
			err = read_member(obj, &reader, field, value);
		else if (field->flags & KL_NEEDED)
			err = refuse_missing(schema, name, node, field->key);
	}
	if (!err)
		err = kl_schema_check_keys(schema, name, node);
	return err < 0 || !schema->check ? err : schema->check(obj, name, node);
}

int kl_schema_peek(void *obj, const char *what, const char *file, const struct kl_field *field,
		   const struct kl_yaml *node)
{
	struct reader reader = { .name = file };
	const struct kl_yaml *value;

	if (node->kind != KL_YAML_MAP)
		return kl_yaml_error(file, node, "%s must be a map {key: value}", what);
	value = kl_yaml_get(node, field->key);
	if (value)
		return read_member(obj, &reader, field, value);
	return field->flags & KL_NEEDED ?
		       kl_yaml_error(file, node, "'%s' is missing in %s", field->key, what) :
		       0;
}

/* --- functions for the readers of value types ------------------------------------------ */

static int read_nothing(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	return 0;
}

const struct kl_value_type kl_value_known = { .read = read_nothing };

int kl_schema_read_value(void *out, const char *file, const struct kl_field *field,
			 const struct kl_yaml *node)
{
	struct reader reader = { file, field->key };

	return read_field(out, &reader, field, node);
}

int kl_schema_read_text(const char **out, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	struct reader reader = { file, field->key };
	int err = read_scalar(&reader, node);

	if (!err)
		*out = node->text;
	return err;
}

int kl_schema_check_list(const char *file, const struct kl_field *field, const struct kl_yaml *node)
{
	struct reader reader = { file, field->key };

	return check_list(&reader, field, node, MAX_ROWS);
}

int kl_schema_check_map(const char *file, const struct kl_field *field, const struct kl_yaml *node)
{
	struct reader reader = { file, field->key };

	if (node->kind != KL_YAML_MAP)
		return kl_yaml_error(file, node, "'%s' must be a map {key: value}", field->key);
	return check_count(&reader, field, node, "key", MAX_ROWS);
}

int kl_schema_read_int(int64_t *out, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	struct reader reader = { file, field->key };

	return read_number(out, &reader, field, node);
}

int kl_schema_read_set(struct kl_strvec *out, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	struct reader reader = { file, field->key };

	return read_set(out, &reader, field, node);
}
