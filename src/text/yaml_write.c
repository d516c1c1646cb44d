/* SPDX-License-Identifier: Apache-2.0 */
#include "text/yaml_write.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

#define WIDTH 100
#define LONG 72 /* a text beyond this is folded */
#define MAX_DEPTH 32

/* --- making ------------------------------------------------------------------ */

static struct kl_yaml *new_node(enum kl_yaml_kind kind)
{
	struct kl_yaml *y = kl_calloc(1, sizeof(*y));

	y->kind = kind;
	return y;
}

struct kl_yaml *kl_yaml_new_map(void)
{
	return new_node(KL_YAML_MAP);
}

struct kl_yaml *kl_yaml_new_seq(void)
{
	return new_node(KL_YAML_SEQ);
}

struct kl_yaml *kl_yaml_new_text(const char *s)
{
	struct kl_yaml *y = new_node(KL_YAML_SCALAR);

	y->text = kl_strdup(s);
	y->len = strlen(s);
	return y;
}

struct kl_yaml *kl_yaml_new_plain(const char *s)
{
	struct kl_yaml *y = kl_yaml_new_text(s);

	y->plain = 1;
	return y;
}

/* room for one more: places double whenever n is a power of two from 4 on */
static void grow_node(struct kl_yaml *y)
{
	size_t n = y->n ? 2 * y->n : 4;

	if (y->n && (y->n < 4 || (y->n & (y->n - 1))))
		return;
	y->item = kl_realloc(y->item, n, sizeof(*y->item));
	if (y->kind != KL_YAML_MAP)
		return;
	y->key = kl_realloc(y->key, n, sizeof(*y->key));
}

void kl_yaml_put(struct kl_yaml *map, const char *key, struct kl_yaml *value)
{
	grow_node(map);
	map->key[map->n] = kl_strdup(key);
	map->item[map->n++] = value;
}

void kl_yaml_push(struct kl_yaml *seq, struct kl_yaml *value)
{
	grow_node(seq);
	seq->item[seq->n++] = value;
}

/* --- styles ------------------------------------------------------------------- */

/*
 * Bytes that need an escape, or that some reader breaks lines at (U+0085, U+2028, U+2029), or a
 * mark at the start (U+FEFF); other non-ASCII text is written as it is.
 */
static bool needs_escape(const char *s)
{
	for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
		if ((*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f)
			return true;
		if (*p == 0xc2 && p[1] < 0xa0)
			return true;
		if (*p == 0xe2 && p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xaf)
			return true;
		if (*p == 0xef && (p[1] == 0xbb || p[1] == 0xbf))
			return true;
		if (*p >= 0xf0)
			return true;
	}
	return false;
}

static bool is_reserved(const char *s)
{
	static const char *const words[] = {
		"null", "true", "false", "yes", "no", "on", "off", NULL,
	};

	if (strnlen(s, 6) == 6)
		return false;
	for (size_t i = 0; words[i]; i++)
		if (!strcasecmp(s, words[i]))
			return true;
	return false;
}

/* begins with a digit, and yet no number, date or time to any reader of YAML */
static bool is_no_number(const char *s)
{
	if (s[0] == '0' && s[1] && strchr("xXbBoO", s[1]))
		return false;
	for (; *s; s++)
		if (islower((unsigned char)*s) && *s != 'e')
			return true;
	return false;
}

static bool can_be_plain(const char *s, bool flow)
{
	unsigned char c = (unsigned char)*s;

	if (!isalnum(c) && c != '_' && c != '/' && c != '(')
		return false;
	if (is_reserved(s) || (isdigit(c) && !is_no_number(s)))
		return false;
	for (; *s; s++) {
		c = (unsigned char)*s;
		if (c >= 0x80 || c < 0x20)
			return false;
		if (flow ? strchr(",[]{}?:#&*!|>'\"%@` ", c) != NULL :
			   (c == ':' && (s[1] == ' ' || !s[1])) ||
				    (c == ' ' && (s[1] == '#' || !s[1])))
			return false;
	}
	return true;
}

/* single blanks between words: breaking a line at one and joining it again changes nothing */
static bool can_be_folded(const char *s)
{
	if (isspace((unsigned char)*s))
		return false;
	for (; *s; s++)
		if (isspace((unsigned char)*s) && (*s != ' ' || s[1] == ' ' || !s[1]))
			return false;
	return true;
}

static bool can_be_literal(const char *s, size_t n)
{
	return strchr(s, '\n') && !isspace((unsigned char)s[0]) &&
	       !(n > 1 && s[n - 1] == '\n' && isspace((unsigned char)s[n - 2]));
}

enum style { PLAIN, QUOTED, FOLDED, LITERAL };

static enum style style_of(const struct kl_yaml *y, bool flow)
{
	if (y->plain)
		return PLAIN;
	if (needs_escape(y->text))
		return QUOTED;
	if (!flow && can_be_literal(y->text, y->len))
		return LITERAL;
	if (!flow && y->len > LONG && can_be_folded(y->text))
		return FOLDED;
	return y->len <= LONG && can_be_plain(y->text, flow) ? PLAIN : QUOTED;
}

/* --- writing ------------------------------------------------------------------- */

static void new_line(struct kl_buf *out, int indent)
{
	kl_buf_reserve(out, (size_t)indent + 1);
	out->ptr[out->len++] = '\n';
	memset(out->ptr + out->len, ' ', (size_t)indent);
	out->len += (size_t)indent;
	out->ptr[out->len] = '\0';
}

/* the character at `s` as a number; its length in bytes */
static unsigned decode_utf8(const unsigned char *s, int *n)
{
	*n = *s < 0x80 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
	if (*n == 1)
		return *s;
	if (*n == 2)
		return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
	if (*n == 3)
		return (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
	return (s[0] & 0x07u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 | (s[3] & 0x3fu);
}

/* text is UTF-8: the parser, or who made it, has seen to that */
static void write_quoted(struct kl_buf *out, const char *text)
{
	int n;

	kl_buf_addch(out, '"');
	for (const unsigned char *s = (const unsigned char *)text; *s; s += n) {
		unsigned c = decode_utf8(s, &n);
		char one[5] = { 0 };

		memcpy(one, s, n);
		if (c == '"' || c == '\\')
			kl_buf_addf(out, "\\%c", (char)c);
		else if (c == '\n' || c == '\t')
			kl_buf_adds(out, c == '\n' ? "\\n" : "\\t");
		else if (!needs_escape(one))
			kl_buf_add(out, s, n);
		else
			kl_buf_addf(out,
				    c > 0xffff ? "\\U%08X" :
				    c > 0xff   ? "\\u%04X" :
						 "\\x%02X",
				    c);
	}
	kl_buf_addch(out, '"');
}

/* words, a line as full as it gets */
static void write_folded(struct kl_buf *out, const char *s, int indent)
{
	int col = 0;

	kl_buf_adds(out, ">-");
	while (*s) {
		int n = (int)strcspn(s, " ");

		if (!col || col + 1 + n > WIDTH) {
			new_line(out, indent);
			col = indent;
		} else {
			kl_buf_addch(out, ' ');
			col++;
		}
		kl_buf_add(out, s, n);
		col += n;
		s += n + (s[n] == ' ');
	}
}

static void write_literal(struct kl_buf *out, const char *s, size_t n, int indent)
{
	bool clip = s[n - 1] == '\n';

	kl_buf_adds(out, clip ? "|" : "|-");
	for (const char *end = s + n - clip; s <= end;) {
		size_t len = strcspn(s, "\n");

		if (len)
			new_line(out, indent);
		else
			kl_buf_addch(out, '\n');
		kl_buf_add(out, s, len);
		s += len + 1;
	}
}

static void write_scalar(struct kl_buf *out, const struct kl_yaml *y, int indent, bool flow)
{
	enum style style = style_of(y, flow);

	if (style == PLAIN)
		kl_buf_add(out, y->text, y->len);
	else if (style == QUOTED)
		write_quoted(out, y->text);
	else if (style == FOLDED)
		write_folded(out, y->text, indent);
	else
		write_literal(out, y->text, y->len, indent);
}

static void write_key(struct kl_buf *out, const char *key, bool flow)
{
	if (can_be_plain(key, flow))
		kl_buf_adds(out, key);
	else
		write_quoted(out, key);
	kl_buf_addch(out, ':');
}

static void write_flow(struct kl_buf *out, const struct kl_yaml *y, int indent, int *col)
{
	bool map = y->kind == KL_YAML_MAP;

	kl_buf_addch(out, map ? '{' : '[');
	++*col;
	for (size_t i = 0; i < y->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf item = KL_BUF_INIT;

		if (map) {
			write_key(&item, y->key[i], true);
			kl_buf_addch(&item, ' ');
		}
		if (y->item[i]->kind == KL_YAML_SCALAR) {
			write_scalar(&item, y->item[i], indent, true);
		} else {
			int inner = *col + (int)item.len;

			write_flow(&item, y->item[i], indent, &inner);
		}
		if (i && *col + 2 + (int)item.len > WIDTH) {
			kl_buf_addch(out, ',');
			new_line(out, indent);
			*col = indent;
		} else if (i) {
			kl_buf_adds(out, ", ");
			*col += 2;
		}
		kl_buf_add(out, item.ptr, item.len);
		*col += (int)item.len;
	}
	kl_buf_addch(out, map ? '}' : ']');
	++*col;
}

static void write_block(struct kl_buf *out, const struct kl_yaml *y, int indent);

/* behind "key:" or "-"; `indent` is where what follows below it stands */
static void write_value(struct kl_buf *out, const struct kl_yaml *y, int indent, bool in_seq)
{
	const char *line = memrchr(out->ptr, '\n', out->len);
	int col = (int)(out->ptr + out->len - (line ? line + 1 : out->ptr)) + 1;

	if (y->kind == KL_YAML_SCALAR) {
		kl_buf_addch(out, ' ');
		write_scalar(out, y, indent, false);
	} else if (y->flow || !y->n) {
		kl_buf_addch(out, ' ');
		write_flow(out, y, indent, &col);
	} else if (in_seq && y->kind == KL_YAML_MAP) {
		kl_buf_addch(out, ' ');
		write_block(out, y, indent);
	} else {
		new_line(out, indent);
		write_block(out, y, indent);
	}
}

/* the first line has its indentation already */
static void write_block(struct kl_buf *out, const struct kl_yaml *y, int indent)
{
	for (size_t i = 0; i < y->n; i++) {
		if (i)
			new_line(out, indent);
		if (y->kind == KL_YAML_MAP)
			write_key(out, y->key[i], false);
		else
			kl_buf_addch(out, '-');
		write_value(out, y->item[i], indent + 2, y->kind == KL_YAML_SEQ);
	}
}

void kl_yaml_emit(struct kl_buf *out, const struct kl_yaml *y)
{
	if (y->kind == KL_YAML_SCALAR || y->flow || !y->n)
		KL_BUG("only a map or a list can be a document");
	write_block(out, y, 0);
	kl_buf_addch(out, '\n');
}

/* --- JSON ------------------------------------------------------------------------ */

static json_t *plain_to_json(const char *s)
{
	char *end;
	long long i = strtoll(s, &end, 10);

	if (*s && !*end)
		return json_integer(i);
	if (!strcmp(s, "true") || !strcmp(s, "false"))
		return json_boolean(*s == 't');
	if (!strcmp(s, "null"))
		return json_null();
	if (strspn(s, "-0123456789.") == strlen(s)) {
		double d = strtod(s, &end);

		if (*s && !*end && isfinite(d))
			return json_real(d);
	}
	return json_string(s);
}

json_t *kl_yaml_to_json(const struct kl_yaml *y)
{
	json_t *j;

	if (y->kind == KL_YAML_SCALAR) {
		j = y->plain ? plain_to_json(y->text) : json_string(y->text);
		return j ? j : json_null();
	}
	j = y->kind == KL_YAML_MAP ? json_object() : json_array();
	for (size_t i = 0; i < y->n; i++) {
		if (y->kind == KL_YAML_MAP)
			kl_json_set(j, y->key[i], kl_yaml_to_json(y->item[i]));
		else
			json_array_append_new(j, kl_yaml_to_json(y->item[i]));
	}
	return j;
}

static struct kl_yaml *json_number(const json_t *j)
{
	char text[64];
	size_t n;

	if (json_is_integer(j)) {
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(j));
		return kl_yaml_new_plain(text);
	}
	if (fabs(json_real_value(j)) > 1e15)
		return kl_yaml_new_plain("a number beyond all bounds");
	n = (size_t)snprintf(text, sizeof(text), "%.6f", json_real_value(j));
	while (n && text[n - 1] == '0')
		text[--n] = '\0';
	if (n && text[n - 1] == '.')
		text[--n] = '\0';
	return kl_yaml_new_plain(text);
}

static int from_json(struct kl_yaml **out, const json_t *j, int depth);

static int from_members(struct kl_yaml *y, const json_t *j, int depth)
{
	const char *key;
	json_t *v;
	struct kl_yaml *child;
	size_t i;
	int err;

	json_object_foreach((json_t *)j, key, v) {
		if ((err = from_json(&child, v, depth + 1)) < 0)
			return err;
		kl_yaml_put(y, key, child);
	}
	json_array_foreach(j, i, v) {
		if ((err = from_json(&child, v, depth + 1)) < 0)
			return err;
		kl_yaml_push(y, child);
	}
	return 0;
}

static int from_json(struct kl_yaml **out, const json_t *j, int depth)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	int err = 0;

	if (depth > MAX_DEPTH)
		return kl_error(KL_EINVALID, "JSON: nested too deeply");
	if (json_is_string(j)) {
		if (strlen(json_string_value(j)) != json_string_length(j))
			return kl_error(KL_EINVALID, "JSON: a NUL byte in text");
		y = kl_yaml_new_text(json_string_value(j));
	} else if (json_is_number(j)) {
		y = json_number(j);
	} else if (json_is_object(j) || json_is_array(j)) {
		y = json_is_object(j) ? kl_yaml_new_map() : kl_yaml_new_seq();
		err = from_members(y, j, depth);
	} else {
		y = kl_yaml_new_plain(json_is_true(j)  ? "true" :
				      json_is_false(j) ? "false" :
							 "null");
	}
	if (!err)
		*out = kl_steal(&y);
	return err;
}

int kl_yaml_from_json(struct kl_yaml **out, const json_t *j)
{
	return from_json(out, j, 0);
}
