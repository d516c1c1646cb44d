/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_tree - trees of YAML values, and errors with their positions */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "text/yaml.h"

static void node_free(struct kl_yaml *node)
{
	for (size_t i = 0; i < node->n; i++) {
		if (node->key)
			free(node->key[i]);
		kl_yaml_free(node->item[i]);
	}
	free(node->key);
	free(node->key_line);
	free(node->key_col);
	free(node->item);
	free(node->text);
	free(node);
}

void kl_yaml_free(struct kl_yaml *node)
{
	if (node)
		node_free(node);
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

/* Append the path from the root to a value, such as "launch[0].grid[1]". */
static void add_path(struct kl_buf *out, const struct kl_yaml *node)
{
	const struct kl_yaml *up = node->up;

	if (!up)
		return;
	add_path(out, up);
	for (size_t i = 0; i < up->n; i++) {
		if (up->item[i] != node)
			continue;
		if (up->kind == KL_YAML_SEQ)
			kl_buf_addf(out, "[%zu]", i);
		else
			kl_buf_addf(out, "%s%.80s", out->len ? "." : "", up->key[i]);
	}
}

static bool has_paths(const struct kl_yaml *node)
{
	while (node->up)
		node = node->up;
	return node->paths;
}

/*
 * Set the error for a position. If the root of `node` has `paths` set, include the path of `node`.
 * Control characters are replaced, because the message can quote an untrusted file and can be
 * printed on a terminal.
 */
static int error_at(const char *name, int line, int col, const struct kl_yaml *node,
		    const char *fmt, va_list ap)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, path = KL_BUF_INIT;
	char message[1024];

	vsnprintf(message, sizeof(message), fmt, ap);
	if (has_paths(node))
		add_path(&path, node);
	if (name)
		kl_buf_addf(&text, line ? "%s:%d:%d: " : "%s: ", name, line, col);
	if (path.len)
		kl_buf_addf(&text, "%s: ", path.ptr);
	kl_buf_adds(&text, message);
	for (size_t i = name ? strlen(name) : 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
			text.ptr[i] = '?';
	return kl_error(KL_EINVALID, "%s", text.ptr);
}

static int error_of(const char *name, int line, int col, const struct kl_yaml *node,
		    const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = error_at(name, line, col, node, fmt, ap);
	va_end(ap);
	return err;
}

int kl_yaml_error(const char *name, const struct kl_yaml *at, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = error_at(name, at->line, at->col, at, fmt, ap);
	va_end(ap);
	return err;
}

int kl_yaml_key_error(const char *name, const struct kl_yaml *map, size_t i, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = error_at(name, map->key_line ? map->key_line[i] : 0,
		       map->key_col ? map->key_col[i] : 0, map->item[i], fmt, ap);
	va_end(ap);
	return err;
}

int kl_yaml_error_inside(const char *name, const struct kl_yaml *at, size_t offset)
{
	/*
	 * the text of a quoted scalar begins after the quote; the extra bytes of escapes before
	 * `offset` are not counted
	 */
	return error_of(name, at->line, at->col + (int)offset + !at->plain, at, "%s",
			kl_error_last());
}
