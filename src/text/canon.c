/* SPDX-License-Identifier: Apache-2.0 */
#include "text/canon.h"

#include <string.h>

#define MAX_DEPTH 32
#define MAX_KEY 128
#define MAX_DIGITS 18 /* maximum number of digits of an integer, which then fits into 64 bits */

struct reader {
	const char *p, *end;
	struct kl_canon *members;
	int depth;
};

static json_t *read_value(struct reader *reader);

static bool take_char(struct reader *reader, char ch)
{
	if (reader->p == reader->end || *reader->p != ch)
		return false;
	reader->p++;
	return true;
}

static bool take_word(struct reader *reader, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(reader->end - reader->p) < n || memcmp(reader->p, word, n) != 0)
		return false;
	reader->p += n;
	return true;
}

/* Read a string after its opening quote: printable ASCII without escapes, and the closing quote. */
static bool read_string(const char **text, size_t *n, struct reader *reader)
{
	const char *at = reader->p;

	while (at < reader->end && *at >= ' ' && *at < 0x7f && *at != '"' && *at != '\\')
		at++;
	if (at == reader->end || *at != '"')
		return false;
	*text = reader->p;
	*n = (size_t)(at - reader->p);
	reader->p = at + 1;
	return true;
}

static json_t *read_integer(struct reader *reader)
{
	bool negative = take_char(reader, '-');
	const char *first = reader->p;
	json_int_t value = 0;

	while (reader->p < reader->end && *reader->p >= '0' && *reader->p <= '9' &&
	       reader->p - first < MAX_DIGITS)
		value = value * 10 + (*reader->p++ - '0');
	if (reader->p == first || (*first == '0' && (reader->p - first > 1 || negative)))
		return NULL;
	if (reader->p < reader->end && strchr("0123456789.eE", *reader->p) && *reader->p)
		return NULL;
	return json_integer(negative ? -value : value);
}

static json_t *read_array(struct reader *reader)
{
	json_t *array = json_array();

	if (take_char(reader, ']'))
		return array;
	do {
		json_t *value = read_value(reader);

		if (!value || json_array_append_new(array, value) < 0) {
			json_decref(array);
			return NULL;
		}
	} while (take_char(reader, ','));
	if (take_char(reader, ']'))
		return array;
	json_decref(array);
	return NULL;
}

static bool note_member(struct reader *reader, const char *key, size_t nkey)
{
	struct kl_canon *canon = reader->members;

	if (!canon || reader->depth != 1)
		return true;
	if (canon->n == KL_CANON_MEMBERS)
		return false;
	canon->m[canon->n++] = (struct kl_canon_member){ key, nkey, key - 1, reader->p };
	return true;
}

/*
 * Read a member of an object. `before` is the key of the previous member, which must sort before
 * the key of this member. Set `before` to the key of this member.
 */
static bool read_member(struct reader *reader, json_t *object, char before[MAX_KEY])
{
	const char *key;
	size_t n;
	char name[MAX_KEY];
	json_t *value;

	if (!take_char(reader, '"') || !read_string(&key, &n, reader) || n >= MAX_KEY ||
	    !take_char(reader, ':'))
		return false;
	memcpy(name, key, n);
	name[n] = '\0';
	if (json_object_size(object) && strcmp(before, name) >= 0)
		return false;
	memcpy(before, name, n + 1);
	value = read_value(reader);
	return value && json_object_set_new_nocheck(object, name, value) == 0 &&
	       note_member(reader, key, n);
}

static json_t *read_object(struct reader *reader)
{
	char before[MAX_KEY];
	json_t *object = json_object();

	if (take_char(reader, '}'))
		return object;
	do {
		if (!read_member(reader, object, before)) {
			json_decref(object);
			return NULL;
		}
	} while (take_char(reader, ','));
	if (take_char(reader, '}'))
		return object;
	json_decref(object);
	return NULL;
}

static json_t *read_value(struct reader *reader)
{
	json_t *value = NULL;
	const char *text;
	size_t n;

	if (reader->p == reader->end || ++reader->depth > MAX_DEPTH)
		return NULL;
	switch (*reader->p) {
	case '{':
		reader->p++;
		value = read_object(reader);
		break;
	case '[':
		reader->p++;
		value = read_array(reader);
		break;
	case '"':
		reader->p++;
		value = read_string(&text, &n, reader) ? json_stringn_nocheck(text, n) : NULL;
		break;
	case 't':
		value = take_word(reader, "true") ? json_true() : NULL;
		break;
	case 'f':
		value = take_word(reader, "false") ? json_false() : NULL;
		break;
	case 'n':
		value = take_word(reader, "null") ? json_null() : NULL;
		break;
	default:
		value = read_integer(reader);
	}
	reader->depth--;
	return value;
}

bool kl_canon_load(json_t **out, struct kl_canon *members, const char *text, size_t len)
{
	struct reader reader = { .p = text, .end = text + len, .members = members };
	json_t *value;

	if (members)
		members->n = 0;
	/* as kl_json_parse() does, accept only an object or an array at the outermost level */
	if (!len || (*text != '{' && *text != '['))
		return false;
	value = read_value(&reader);
	if (value && reader.p == reader.end) {
		*out = value;
		return true;
	}
	json_decref(value);
	return false;
}

static bool is_named(const struct kl_canon_member *member, const char *const *names)
{
	for (; *names; names++)
		if (strlen(*names) == member->nkey && !memcmp(*names, member->key, member->nkey))
			return true;
	return false;
}

void kl_canon_without(struct kl_buf *out, const struct kl_canon *members, const char *const *names)
{
	size_t first = out->len + 1;

	kl_buf_addch(out, '{');
	for (size_t i = 0; i < members->n; i++) {
		const struct kl_canon_member *member = &members->m[i];

		if (is_named(member, names))
			continue;
		if (out->len > first)
			kl_buf_addch(out, ',');
		kl_buf_add(out, member->start, (size_t)(member->end - member->start));
	}
	kl_buf_addch(out, '}');
}
