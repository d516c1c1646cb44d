/* SPDX-License-Identifier: Apache-2.0 */
#include "text/yaml.h"

#include <string.h>
#include <yaml.h>

#include "base/error.h"

#define MAX_DEPTH 32
#define MAX_NODES 65536
/* limit for one map, because the search for duplicate keys takes linear time */
#define MAX_KEYS 1024

struct reader {
	yaml_parser_t parser;
	yaml_event_t event;
	const char *name;
	int nodes;
};

static void reader_release(struct reader *reader)
{
	yaml_event_delete(&reader->event);
	yaml_parser_delete(&reader->parser);
}

static int refuse_at(const struct reader *reader, yaml_mark_t at, const char *what)
{
	return kl_error(KL_EINVALID, "%s:%zu:%zu: %s", reader->name, at.line + 1, at.column + 1,
			what);
}

/* Read the next event into reader->event. */
static int next_event(struct reader *reader)
{
	yaml_parser_t *parser = &reader->parser;
	yaml_event_t event;

	yaml_event_delete(&reader->event);
	memset(&reader->event, 0, sizeof(reader->event));
	if (!yaml_parser_parse(parser, &event)) {
		yaml_mark_t at = parser->problem_mark;

		/* for an encoding error, libyaml gives only an offset and does not set the mark */
		return refuse_at(reader, at,
				 parser->problem ? parser->problem : "cannot parse YAML");
	}
	reader->event = event;
	return 0;
}

static struct kl_yaml *node_new(struct reader *reader, enum kl_yaml_kind kind)
{
	struct kl_yaml *node = kl_calloc(1, sizeof(*node));

	node->kind = kind;
	node->line = (int)reader->event.start_mark.line + 1;
	node->col = (int)reader->event.start_mark.column + 1;
	return node;
}

static int refuse_extras(struct reader *reader, const yaml_char_t *anchor, const yaml_char_t *tag)
{
	if (anchor)
		return refuse_at(reader, reader->event.start_mark, "anchors are not allowed");
	if (tag)
		return refuse_at(reader, reader->event.start_mark, "tags are not allowed");
	return 0;
}

static int read_node(struct kl_yaml **out, struct reader *reader, int depth);

/*
 * Take over the text of the scalar from the event without copying it, because libyaml has allocated
 * it by malloc() and terminated it by NUL.
 */
static char *take_text(struct reader *reader)
{
	char *text = (char *)reader->event.data.scalar.value;

	reader->event.data.scalar.value = NULL;
	return text;
}

static int read_scalar(struct kl_yaml **out, struct reader *reader)
{
	const yaml_event_t *event = &reader->event;
	int err = refuse_extras(reader, event->data.scalar.anchor, event->data.scalar.tag);
	struct kl_yaml *node;

	if (err < 0)
		return err;
	if (memchr(event->data.scalar.value, 0, event->data.scalar.length))
		return refuse_at(reader, event->start_mark, "the text contains a NUL byte");
	node = node_new(reader, KL_YAML_SCALAR);
	node->len = event->data.scalar.length;
	node->text = take_text(reader);
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	*out = node;
	return 0;
}

static int read_seq(struct kl_yaml **out, struct reader *reader, int depth)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	size_t alloc = 0;
	int err = refuse_extras(reader, reader->event.data.sequence_start.anchor,
				reader->event.data.sequence_start.tag);

	if (err < 0)
		return err;
	node = node_new(reader, KL_YAML_SEQ);
	while (!(err = next_event(reader)) && reader->event.type != YAML_SEQUENCE_END_EVENT) {
		struct kl_yaml *child;

		if ((err = read_node(&child, reader, depth + 1)) < 0)
			return err;
		KL_GROW(node->item, node->n + 1, alloc);
		child->up = node;
		node->item[node->n++] = child;
	}
	if (!err)
		*out = kl_steal(&node);
	return err;
}

static int read_key(char **out, struct reader *reader)
{
	const yaml_event_t *event = &reader->event;
	int err = refuse_extras(reader, event->data.scalar.anchor, event->data.scalar.tag);

	if (err < 0)
		return err;
	if (memchr(event->data.scalar.value, 0, event->data.scalar.length))
		return refuse_at(reader, event->start_mark, "the text contains a NUL byte");
	*out = take_text(reader);
	return 0;
}

static int refuse_twice(const struct reader *reader, yaml_mark_t at, const char *key)
{
	const struct kl_yaml here = { .line = (int)at.line + 1, .col = (int)at.column + 1 };

	return kl_yaml_error(reader->name, &here, "the key '%.64s' appears twice", key);
}

static int read_map(struct kl_yaml **out, struct reader *reader, int depth)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	size_t alloc = 0, key_alloc = 0, line_alloc = 0, col_alloc = 0;
	int err = refuse_extras(reader, reader->event.data.mapping_start.anchor,
				reader->event.data.mapping_start.tag);

	if (err < 0)
		return err;
	node = node_new(reader, KL_YAML_MAP);
	while (!(err = next_event(reader)) && reader->event.type != YAML_MAPPING_END_EVENT) {
		KL_AUTO(kl_freep) char *key = NULL;
		yaml_mark_t at = reader->event.start_mark;
		struct kl_yaml *child;

		if (reader->event.type != YAML_SCALAR_EVENT)
			return refuse_at(reader, at,
					 "a key must be a plain value, not a list or a map");
		if (node->n == MAX_KEYS)
			return refuse_at(reader, at, "too many keys in one map");
		if ((err = read_key(&key, reader)) < 0)
			return err;
		if (kl_yaml_get(node, key))
			return refuse_twice(reader, at, key);
		if ((err = next_event(reader)) < 0 ||
		    (err = read_node(&child, reader, depth + 1)) < 0)
			return err;
		KL_GROW(node->item, node->n + 1, alloc);
		KL_GROW(node->key, node->n + 1, key_alloc);
		KL_GROW(node->key_line, node->n + 1, line_alloc);
		KL_GROW(node->key_col, node->n + 1, col_alloc);
		child->up = node;
		node->item[node->n] = child;
		node->key_line[node->n] = (int)at.line + 1;
		node->key_col[node->n] = (int)at.column + 1;
		node->key[node->n++] = kl_steal(&key);
	}
	if (!err)
		*out = kl_steal(&node);
	return err;
}

static int read_node(struct kl_yaml **out, struct reader *reader, int depth)
{
	yaml_mark_t at = reader->event.start_mark;

	if (++reader->nodes > MAX_NODES)
		return refuse_at(reader, at, "too many values in the file");
	if (depth > MAX_DEPTH)
		return refuse_at(reader, at, "nested too deeply");
	switch (reader->event.type) {
	case YAML_SCALAR_EVENT:
		return read_scalar(out, reader);
	case YAML_SEQUENCE_START_EVENT:
		return read_seq(out, reader, depth);
	case YAML_MAPPING_START_EVENT:
		return read_map(out, reader, depth);
	case YAML_ALIAS_EVENT:
		return refuse_at(reader, at, "aliases are not allowed");
	default:
		return refuse_at(reader, at, "a value is missing");
	}
}

int kl_yaml_parse(struct kl_yaml **out, const char *name, const char *text, size_t len)
{
	KL_AUTO(reader_release) struct reader reader = { .name = name };
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	int err;

	if (!yaml_parser_initialize(&reader.parser))
		KL_BUG("libyaml cannot start");
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, len);
	/* the first event is the start of the stream */
	if ((err = next_event(&reader)) < 0 || (err = next_event(&reader)) < 0)
		return err;
	if (reader.event.type != YAML_DOCUMENT_START_EVENT)
		return refuse_at(&reader, reader.event.start_mark, "the file is empty");
	/* the node is followed by the end of the document, then by the end of the stream */
	if ((err = next_event(&reader)) < 0 || (err = read_node(&node, &reader, 0)) < 0 ||
	    (err = next_event(&reader)) < 0 || (err = next_event(&reader)) < 0)
		return err;
	if (reader.event.type != YAML_STREAM_END_EVENT)
		return refuse_at(&reader, reader.event.start_mark,
				 "the file has a second document");
	*out = kl_steal(&node);
	return 0;
}
