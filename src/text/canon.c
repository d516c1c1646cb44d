/* SPDX-License-Identifier: Apache-2.0 */
#include "text/canon.h"

#include <string.h>

#define MAX_DEPTH 32
#define MAX_KEY 128
#define MAX_DIGITS 18 /* what surely fits 64 bits */

struct reader {
	const char *p, *end;
	struct kl_canon *members;
	int depth;
};

static json_t *read_value(struct reader *r);

static bool take_char(struct reader *r, char c)
{
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static bool take_word(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
		return false;
	r->p += n;
	return true;
}

/* printable ASCII without escapes, behind its opening quote */
static bool read_string(const char **s, size_t *n, struct reader *r)
{
	const char *p = r->p;

	while (p < r->end && *p >= ' ' && *p < 0x7f && *p != '"' && *p != '\\')
		p++;
	if (p == r->end || *p != '"')
		return false;
	*s = r->p;
	*n = (size_t)(p - r->p);
	r->p = p + 1;
	return true;
}

static json_t *read_integer(struct reader *r)
{
	bool negative = take_char(r, '-');
	const char *first = r->p;
	json_int_t v = 0;

	while (r->p < r->end && *r->p >= '0' && *r->p <= '9' && r->p - first < MAX_DIGITS)
		v = v * 10 + (*r->p++ - '0');
	if (r->p == first || (*first == '0' && (r->p - first > 1 || negative)))
		return NULL;
	if (r->p < r->end && strchr("0123456789.eE", *r->p) && *r->p)
		return NULL;
	return json_integer(negative ? -v : v);
}

static json_t *read_array(struct reader *r)
{
	json_t *a = json_array();

	if (take_char(r, ']'))
		return a;
	do {
		json_t *v = read_value(r);

		if (!v || json_array_append_new(a, v) < 0) {
			json_decref(a);
			return NULL;
		}
	} while (take_char(r, ','));
	if (take_char(r, ']'))
		return a;
	json_decref(a);
	return NULL;
}

static bool note_member(struct reader *r, const char *key, size_t nkey)
{
	struct kl_canon *c = r->members;

	if (!c || r->depth != 1)
		return true;
	if (c->n == KL_CANON_MEMBERS)
		return false;
	c->m[c->n++] = (struct kl_canon_member){ key, nkey, key - 1, r->p };
	return true;
}

/* one member; `before` is the key that came before it, which must sort first */
static bool read_member(struct reader *r, json_t *object, char before[MAX_KEY])
{
	const char *key;
	size_t n;
	char name[MAX_KEY];
	json_t *v;

	if (!take_char(r, '"') || !read_string(&key, &n, r) || n >= MAX_KEY || !take_char(r, ':'))
		return false;
	memcpy(name, key, n);
	name[n] = '\0';
	if (json_object_size(object) && strcmp(before, name) >= 0)
		return false;
	memcpy(before, name, n + 1);
	v = read_value(r);
	return v && json_object_set_new_nocheck(object, name, v) == 0 && note_member(r, key, n);
}

static json_t *read_object(struct reader *r)
{
	char before[MAX_KEY];
	json_t *o = json_object();

	if (take_char(r, '}'))
		return o;
	do {
		if (!read_member(r, o, before)) {
			json_decref(o);
			return NULL;
		}
	} while (take_char(r, ','));
	if (take_char(r, '}'))
		return o;
	json_decref(o);
	return NULL;
}

static json_t *read_value(struct reader *r)
{
	json_t *v = NULL;
	const char *s;
	size_t n;

	if (r->p == r->end || ++r->depth > MAX_DEPTH)
		return NULL;
	switch (*r->p) {
	case '{':
		r->p++;
		v = read_object(r);
		break;
	case '[':
		r->p++;
		v = read_array(r);
		break;
	case '"':
		r->p++;
		v = read_string(&s, &n, r) ? json_stringn_nocheck(s, n) : NULL;
		break;
	case 't':
		v = take_word(r, "true") ? json_true() : NULL;
		break;
	case 'f':
		v = take_word(r, "false") ? json_false() : NULL;
		break;
	case 'n':
		v = take_word(r, "null") ? json_null() : NULL;
		break;
	default:
		v = read_integer(r);
	}
	r->depth--;
	return v;
}

bool kl_canon_load(json_t **out, struct kl_canon *members, const char *text, size_t len)
{
	struct reader r = { .p = text, .end = text + len, .members = members };
	json_t *j;

	if (members)
		members->n = 0;
	/* kl_json_parse wants an object or an array outermost, too */
	if (!len || (*text != '{' && *text != '['))
		return false;
	j = read_value(&r);
	if (j && r.p == r.end) {
		*out = j;
		return true;
	}
	json_decref(j);
	return false;
}

static bool is_named(const struct kl_canon_member *m, const char *const *names)
{
	for (; *names; names++)
		if (strlen(*names) == m->nkey && !memcmp(*names, m->key, m->nkey))
			return true;
	return false;
}

void kl_canon_without(struct kl_buf *out, const struct kl_canon *members, const char *const *names)
{
	size_t first = out->len + 1;

	kl_buf_addch(out, '{');
	for (size_t i = 0; i < members->n; i++) {
		const struct kl_canon_member *m = &members->m[i];

		if (is_named(m, names))
			continue;
		if (out->len > first)
			kl_buf_addch(out, ',');
		kl_buf_add(out, m->start, (size_t)(m->end - m->start));
	}
	kl_buf_addch(out, '}');
}
