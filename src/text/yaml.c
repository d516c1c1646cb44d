/* SPDX-License-Identifier: Apache-2.0 */
#include "text/yaml.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/error.h"

#define MAX_DEPTH 32
#define MAX_NODES 65536
#define MAX_KEYS 1024 /* of one map: the search for doubles is linear */

struct reader {
	yaml_parser_t parser;
	yaml_event_t event;
	const char *name;
	int nodes;
};

static void reader_release(struct reader *r)
{
	yaml_event_delete(&r->event);
	yaml_parser_delete(&r->parser);
}

static void node_free(struct kl_yaml *y)
{
	for (size_t i = 0; i < y->n; i++) {
		if (y->key)
			free(y->key[i]);
		kl_yaml_free(y->item[i]);
	}
	free(y->key);
	free(y->key_line);
	free(y->key_col);
	free(y->item);
	free(y->text);
	free(y);
}

void kl_yaml_free(struct kl_yaml *y)
{
	if (y)
		node_free(y);
}

static int refuse_at(const struct reader *r, yaml_mark_t at, const char *what)
{
	return kl_error(KL_EINVALID, "%s:%zu:%zu: %s", r->name, at.line + 1, at.column + 1, what);
}

/* Replace r->event by the next one. */
static int next_event(struct reader *r)
{
	yaml_parser_t *p = &r->parser;
	yaml_event_t e;

	yaml_event_delete(&r->event);
	memset(&r->event, 0, sizeof(r->event));
	if (!yaml_parser_parse(p, &e)) {
		yaml_mark_t at = p->problem_mark;

		/* Encoding errors have an offset only. */
		return refuse_at(r, at, p->problem ? p->problem : "cannot be read");
	}
	r->event = e;
	return 0;
}

static struct kl_yaml *node_new(struct reader *r, enum kl_yaml_kind kind)
{
	struct kl_yaml *y = kl_calloc(1, sizeof(*y));

	y->kind = kind;
	y->line = (int)r->event.start_mark.line + 1;
	y->col = (int)r->event.start_mark.column + 1;
	return y;
}

static int refuse_extras(struct reader *r, const yaml_char_t *anchor, const yaml_char_t *tag)
{
	if (anchor)
		return refuse_at(r, r->event.start_mark, "anchors are not allowed");
	if (tag)
		return refuse_at(r, r->event.start_mark, "tags are not allowed");
	return 0;
}

static int read_node(struct kl_yaml **out, struct reader *r, int depth);

/* libyaml's strings are from malloc and end with a NUL: taken, not copied */
static char *take_text(struct reader *r)
{
	char *text = (char *)r->event.data.scalar.value;

	r->event.data.scalar.value = NULL;
	return text;
}

static int read_scalar(struct kl_yaml **out, struct reader *r)
{
	const yaml_event_t *e = &r->event;
	int err = refuse_extras(r, e->data.scalar.anchor, e->data.scalar.tag);
	struct kl_yaml *y;

	if (err < 0)
		return err;
	if (memchr(e->data.scalar.value, 0, e->data.scalar.length))
		return refuse_at(r, e->start_mark, "a NUL byte in text");
	y = node_new(r, KL_YAML_SCALAR);
	y->len = e->data.scalar.length;
	y->text = take_text(r);
	y->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	*out = y;
	return 0;
}

static int read_seq(struct kl_yaml **out, struct reader *r, int depth)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	size_t alloc = 0;
	int err = refuse_extras(r, r->event.data.sequence_start.anchor,
				r->event.data.sequence_start.tag);

	if (err < 0)
		return err;
	y = node_new(r, KL_YAML_SEQ);
	while (!(err = next_event(r)) && r->event.type != YAML_SEQUENCE_END_EVENT) {
		struct kl_yaml *child;

		if ((err = read_node(&child, r, depth + 1)) < 0)
			return err;
		KL_GROW(y->item, y->n + 1, alloc);
		y->item[y->n++] = child;
	}
	if (!err)
		*out = kl_steal(&y);
	return err;
}

static int read_key(char **out, struct reader *r)
{
	const yaml_event_t *e = &r->event;
	int err = refuse_extras(r, e->data.scalar.anchor, e->data.scalar.tag);

	if (err < 0)
		return err;
	if (memchr(e->data.scalar.value, 0, e->data.scalar.length))
		return refuse_at(r, e->start_mark, "a NUL byte in text");
	*out = take_text(r);
	return 0;
}

static int refuse_twice(const struct reader *r, yaml_mark_t at, const char *key)
{
	const struct kl_yaml here = { .line = (int)at.line + 1, .col = (int)at.column + 1 };

	return kl_yaml_error(r->name, &here, "'%.64s' stands here twice", key);
}

static int read_map(struct kl_yaml **out, struct reader *r, int depth)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	size_t alloc = 0, key_alloc = 0, line_alloc = 0, col_alloc = 0;
	int err = refuse_extras(r, r->event.data.mapping_start.anchor,
				r->event.data.mapping_start.tag);

	if (err < 0)
		return err;
	y = node_new(r, KL_YAML_MAP);
	while (!(err = next_event(r)) && r->event.type != YAML_MAPPING_END_EVENT) {
		KL_AUTO(kl_freep) char *key = NULL;
		yaml_mark_t at = r->event.start_mark;
		struct kl_yaml *child;

		if (r->event.type != YAML_SCALAR_EVENT)
			return refuse_at(r, at, "a key must be a word");
		if (y->n == MAX_KEYS)
			return refuse_at(r, at, "too many keys");
		if ((err = read_key(&key, r)) < 0)
			return err;
		if (kl_yaml_get(y, key))
			return refuse_twice(r, at, key);
		if ((err = next_event(r)) < 0 || (err = read_node(&child, r, depth + 1)) < 0)
			return err;
		KL_GROW(y->item, y->n + 1, alloc);
		KL_GROW(y->key, y->n + 1, key_alloc);
		KL_GROW(y->key_line, y->n + 1, line_alloc);
		KL_GROW(y->key_col, y->n + 1, col_alloc);
		y->item[y->n] = child;
		y->key_line[y->n] = (int)at.line + 1;
		y->key_col[y->n] = (int)at.column + 1;
		y->key[y->n++] = kl_steal(&key);
	}
	if (!err)
		*out = kl_steal(&y);
	return err;
}

static int read_node(struct kl_yaml **out, struct reader *r, int depth)
{
	yaml_mark_t at = r->event.start_mark;

	if (++r->nodes > MAX_NODES)
		return refuse_at(r, at, "too many values");
	if (depth > MAX_DEPTH)
		return refuse_at(r, at, "nested too deeply");
	switch (r->event.type) {
	case YAML_SCALAR_EVENT:
		return read_scalar(out, r);
	case YAML_SEQUENCE_START_EVENT:
		return read_seq(out, r, depth);
	case YAML_MAPPING_START_EVENT:
		return read_map(out, r, depth);
	case YAML_ALIAS_EVENT:
		return refuse_at(r, at, "aliases are not allowed");
	default:
		return refuse_at(r, at, "a value is missing");
	}
}

int kl_yaml_parse(struct kl_yaml **out, const char *name, const char *text, size_t len)
{
	KL_AUTO(reader_release) struct reader r = { .name = name };
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	int err;

	if (!yaml_parser_initialize(&r.parser))
		KL_BUG("libyaml cannot start");
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
	if ((err = next_event(&r)) < 0 || (err = next_event(&r)) < 0) /* stream start */
		return err;
	if (r.event.type != YAML_DOCUMENT_START_EVENT)
		return refuse_at(&r, r.event.start_mark, "the file is empty");
	if ((err = next_event(&r)) < 0 || (err = read_node(&y, &r, 0)) < 0 ||
	    (err = next_event(&r)) < 0 || (err = next_event(&r)) < 0) /* document end */
		return err;
	if (r.event.type != YAML_STREAM_END_EVENT)
		return refuse_at(&r, r.event.start_mark, "a second document");
	*out = kl_steal(&y);
	return 0;
}

const struct kl_yaml *kl_yaml_get(const struct kl_yaml *map, const char *key)
{
	if (map->kind != KL_YAML_MAP)
		return NULL;
	for (size_t i = 0; i < map->n; i++)
		if (!strcmp(map->key[i], key))
			return map->item[i];
	return NULL;
}

/* The text quotes a hostile file: no escape sequence may reach a terminal. */
static int error_at(const char *name, int line, int col, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	for (unsigned char *s = (unsigned char *)text; *s; s++)
		if (*s < 0x20 || *s == 0x7f)
			*s = '?';
	if (!line)
		return kl_error(KL_EINVALID, "%s: %s", name, text);
	return kl_error(KL_EINVALID, "%s:%d:%d: %s", name, line, col, text);
}

int kl_yaml_error(const char *name, const struct kl_yaml *at, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = error_at(name, at->line, at->col, fmt, ap);
	va_end(ap);
	return err;
}

int kl_yaml_key_error(const char *name, const struct kl_yaml *map, size_t i, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = error_at(name, map->key_line ? map->key_line[i] : 0,
		       map->key_col ? map->key_col[i] : 0, fmt, ap);
	va_end(ap);
	return err;
}
