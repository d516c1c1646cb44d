/* SPDX-License-Identifier: Apache-2.0 */
#include "text/yaml_node.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "text/name.h"

struct kl_node kl_node_get(struct kl_node map, const char *key)
{
	return (struct kl_node){ map.file, kl_yaml_get(map.y, key), key };
}

struct kl_node kl_node_item(struct kl_node list, size_t i)
{
	return (struct kl_node){ list.file, list.y->item[i], list.what };
}

int kl_node_error(struct kl_node node, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return kl_yaml_error(node.file, node.y, "%s", text);
}

int kl_node_error_at(struct kl_node node, size_t offset)
{
	struct kl_yaml at = *node.y;

	/* The text of a quoted scalar starts after the quote; escapes before it are ignored. */
	at.col += (int)offset + !at.plain;
	return kl_yaml_error(node.file, &at, "%s", kl_error_last());
}

static bool is_known(const char *const *known, const char *key)
{
	for (; *known; known++)
		if (!strcmp(*known, key))
			return true;
	return false;
}

static int unknown_key(struct kl_node node, size_t i, const char *const *known)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;

	for (; *known; known++)
		kl_buf_addf(&list, "%s%s", list.len ? ", " : "", *known);
	return kl_yaml_key_error(node.file, node.y, i, "unknown key '%.64s' (known here: %s)",
				 node.y->key[i], list.ptr);
}

int kl_node_map(struct kl_node node, size_t min, size_t max)
{
	if (node.y->kind != KL_YAML_MAP)
		return kl_node_error(node, "'%s' must be a map {key: value}", node.what);
	if (node.y->n < min || node.y->n > max)
		return kl_node_error(node, "'%s' has %zu keys, it takes %zu to %zu", node.what,
				     node.y->n, min, max);
	return 0;
}

int kl_node_keys(struct kl_node node, const char *const *known, size_t required)
{
	if (node.y->kind != KL_YAML_MAP)
		return kl_node_error(node, "'%s' must be a map {key: value}", node.what);
	for (size_t i = 0; i < node.y->n; i++)
		if (!is_known(known, node.y->key[i]))
			return unknown_key(node, i, known);
	for (size_t i = 0; i < required; i++)
		if (!kl_yaml_get(node.y, known[i]))
			return kl_node_error(node, "'%s' is missing in '%s'", known[i], node.what);
	return 0;
}

int kl_node_list(struct kl_node node, size_t min, size_t max)
{
	if (node.y->kind != KL_YAML_SEQ)
		return kl_node_error(node, "'%s' must be a list [...]", node.what);
	if (node.y->n < min || node.y->n > max)
		return kl_node_error(node, "'%s' has %zu entries, it takes %zu to %zu", node.what,
				     node.y->n, min, max);
	return 0;
}

int kl_node_text(const char **out, struct kl_node node)
{
	if (node.y->kind != KL_YAML_SCALAR)
		return kl_node_error(node, "'%s' must be a single value", node.what);
	if (!node.y->len)
		return kl_node_error(node, "'%s' is empty", node.what);
	*out = node.y->text;
	return 0;
}

int kl_node_slug(const char **out, struct kl_node node)
{
	const char *text = NULL;
	int err = kl_node_text(&text, node);

	if (err < 0)
		return err;
	if (!kl_name_is_slug(text))
		return kl_node_error(node,
				     "'%s' is '%.64s': a slug is [a-z0-9][a-z0-9._-]*, "
				     "at most 64, and a valid part of a ref name",
				     node.what, text);
	*out = text;
	return 0;
}

int kl_node_ident(const char **out, struct kl_node node)
{
	const char *text = NULL;
	int err = kl_node_text(&text, node);

	if (err < 0)
		return err;
	if (!kl_name_is_ident(text))
		return kl_node_error(
			node, "'%s' is '%.64s', which is no C identifier of at most 63 bytes",
			node.what, text);
	*out = text;
	return 0;
}

int kl_node_int(int64_t *out, struct kl_node node, int64_t min, int64_t max)
{
	const char *text = node.y->kind == KL_YAML_SCALAR && node.y->plain ? node.y->text : "";
	size_t digits = strspn(text + (text[0] == '-'), "0123456789");
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (!digits || *end || errno || value < min || value > max)
		return kl_node_error(node, "'%s' must be a whole number from %lld to %lld",
				     node.what, (long long)min, (long long)max);
	*out = value;
	return 0;
}

static int special_number(double *out, const char *text)
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

	for (size_t i = 0; i < KL_ARRAY_SIZE(words); i++) {
		if (!strcmp(text, words[i].word)) {
			*out = words[i].value;
			return 1;
		}
	}
	return 0;
}

int kl_node_num(double *out, struct kl_node node)
{
	const char *text = node.y->kind == KL_YAML_SCALAR && node.y->plain ? node.y->text : "";
	char *end;
	double value;

	if (special_number(out, text))
		return 0;
	/* decimal only: strtod() also accepts hexadecimal, "inf" and leading blanks */
	if (!*text || text[strspn(text, "+-.0123456789eE")])
		return kl_node_error(node, "'%s' must be a number", node.what);
	value = strtod(text, &end);
	if (*end || !isfinite(value))
		return kl_node_error(node, "'%s' must be a number that a double holds", node.what);
	*out = value;
	return 0;
}

int kl_node_num_in(double *out, struct kl_node node, double min, double max)
{
	double value;
	int err = kl_node_num(&value, node);

	if (err < 0)
		return err;
	if (!(value >= min && value <= max))
		return kl_node_error(node, "'%s' must be a number from %g to %g", node.what, min,
				     max);
	*out = value;
	return 0;
}

int kl_node_bool(bool *out, struct kl_node node)
{
	const char *text = node.y->kind == KL_YAML_SCALAR && node.y->plain ? node.y->text : "";

	if (strcmp(text, "true") && strcmp(text, "false"))
		return kl_node_error(node, "'%s' must be true or false", node.what);
	*out = text[0] == 't';
	return 0;
}

int kl_node_choice(int *out, struct kl_node node, const char *const *words)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	const char *text;
	int err = kl_node_text(&text, node);

	if (err < 0)
		return err;
	for (int i = 0; words[i]; i++) {
		if (!strcmp(words[i], text)) {
			*out = i;
			return 0;
		}
		kl_buf_addf(&list, "%s%s", i ? ", " : "", words[i]);
	}
	return kl_node_error(node, "'%s' is '%.64s'; known: %s", node.what, text, list.ptr);
}
