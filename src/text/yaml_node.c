/* SPDX-License-Identifier: Apache-2.0 */
#include "text/yaml_node.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

struct kl_node kl_node_get(struct kl_node map, const char *key)
{
	return (struct kl_node){ map.file, kl_yaml_get(map.y, key), key };
}

struct kl_node kl_node_item(struct kl_node list, size_t i)
{
	return (struct kl_node){ list.file, list.y->item[i], list.what };
}

int kl_node_error(struct kl_node n, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return kl_yaml_error(n.file, n.y, "%s", text);
}

int kl_node_error_at(struct kl_node n, size_t offset)
{
	struct kl_yaml at = *n.y;

	/* A quoted scalar begins after its quote; escapes shift it, rarely. */
	at.col += (int)offset + !at.plain;
	return kl_yaml_error(n.file, &at, "%s", kl_error_last());
}

static bool is_known(const char *const *known, const char *key)
{
	for (; *known; known++)
		if (!strcmp(*known, key))
			return true;
	return false;
}

static int unknown_key(struct kl_node n, size_t i, const char *const *known)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;

	for (; *known; known++)
		kl_buf_addf(&list, "%s%s", list.len ? ", " : "", *known);
	return kl_yaml_key_error(n.file, n.y, i, "unknown key '%.64s' (known here: %s)",
				 n.y->key[i], list.ptr);
}

int kl_node_map(struct kl_node n, size_t min, size_t max)
{
	if (n.y->kind != KL_YAML_MAP)
		return kl_node_error(n, "'%s' must be a map {key: value}", n.what);
	if (n.y->n < min || n.y->n > max)
		return kl_node_error(n, "'%s' has %zu keys, it takes %zu to %zu", n.what, n.y->n,
				     min, max);
	return 0;
}

int kl_node_keys(struct kl_node n, const char *const *known, size_t required)
{
	if (n.y->kind != KL_YAML_MAP)
		return kl_node_error(n, "'%s' must be a map {key: value}", n.what);
	for (size_t i = 0; i < n.y->n; i++)
		if (!is_known(known, n.y->key[i]))
			return unknown_key(n, i, known);
	for (size_t i = 0; i < required; i++)
		if (!kl_yaml_get(n.y, known[i]))
			return kl_node_error(n, "'%s' is missing in '%s'", known[i], n.what);
	return 0;
}

int kl_node_list(struct kl_node n, size_t min, size_t max)
{
	if (n.y->kind != KL_YAML_SEQ)
		return kl_node_error(n, "'%s' must be a list [...]", n.what);
	if (n.y->n < min || n.y->n > max)
		return kl_node_error(n, "'%s' has %zu entries, it takes %zu to %zu", n.what, n.y->n,
				     min, max);
	return 0;
}

int kl_node_text(const char **out, struct kl_node n)
{
	if (n.y->kind != KL_YAML_SCALAR)
		return kl_node_error(n, "'%s' must be a single value", n.what);
	if (!n.y->len)
		return kl_node_error(n, "'%s' is empty", n.what);
	*out = n.y->text;
	return 0;
}

bool kl_node_is_slug(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789._-");

	if (!n || s[n] || n > 64 || !isalnum((unsigned char)s[0]))
		return false;
	/* what git refuses in a ref name, of what is left */
	if (strstr(s, "..") || s[n - 1] == '.')
		return false;
	return n < 5 || strcmp(s + n - 5, ".lock") != 0;
}

bool kl_node_is_ident(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n && !s[n] && n < 64 && !isdigit((unsigned char)s[0]);
}

int kl_node_slug(const char **out, struct kl_node n)
{
	const char *s = NULL;
	int err = kl_node_text(&s, n);

	if (err < 0)
		return err;
	if (!kl_node_is_slug(s))
		return kl_node_error(n,
				     "'%s' is '%.64s': a slug is [a-z0-9][a-z0-9._-]*, "
				     "at most 64, and a valid part of a ref name",
				     n.what, s);
	*out = s;
	return 0;
}

int kl_node_ident(const char **out, struct kl_node n)
{
	const char *s = NULL;
	int err = kl_node_text(&s, n);

	if (err < 0)
		return err;
	if (!kl_node_is_ident(s))
		return kl_node_error(
			n, "'%s' is '%.64s', which is no C identifier of at most 63 bytes", n.what,
			s);
	*out = s;
	return 0;
}

int kl_node_int(int64_t *out, struct kl_node n, int64_t min, int64_t max)
{
	const char *s = n.y->kind == KL_YAML_SCALAR && n.y->plain ? n.y->text : "";
	size_t digits = strspn(s + (s[0] == '-'), "0123456789");
	char *end;
	long long v;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (!digits || *end || errno || v < min || v > max)
		return kl_node_error(n, "'%s' must be a whole number from %lld to %lld", n.what,
				     (long long)min, (long long)max);
	*out = v;
	return 0;
}

static int special_number(double *out, const char *s)
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
		if (!strcmp(s, words[i].word)) {
			*out = words[i].value;
			return 1;
		}
	}
	return 0;
}

int kl_node_num(double *out, struct kl_node n)
{
	const char *s = n.y->kind == KL_YAML_SCALAR && n.y->plain ? n.y->text : "";
	char *end;
	double v;

	if (special_number(out, s))
		return 0;
	/* decimal only: strtod alone would take hex, "inf" and blanks */
	if (!*s || s[strspn(s, "+-.0123456789eE")])
		return kl_node_error(n, "'%s' must be a number", n.what);
	v = strtod(s, &end);
	if (*end || !isfinite(v))
		return kl_node_error(n, "'%s' must be a number that a double holds", n.what);
	*out = v;
	return 0;
}

int kl_node_num_in(double *out, struct kl_node n, double min, double max)
{
	double v;
	int err = kl_node_num(&v, n);

	if (err < 0)
		return err;
	if (!(v >= min && v <= max))
		return kl_node_error(n, "'%s' must be a number from %g to %g", n.what, min, max);
	*out = v;
	return 0;
}

int kl_node_bool(bool *out, struct kl_node n)
{
	const char *s = n.y->kind == KL_YAML_SCALAR && n.y->plain ? n.y->text : "";

	if (strcmp(s, "true") && strcmp(s, "false"))
		return kl_node_error(n, "'%s' must be true or false", n.what);
	*out = s[0] == 't';
	return 0;
}

int kl_node_choice(int *out, struct kl_node n, const char *const *words)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	const char *s;
	int err = kl_node_text(&s, n);

	if (err < 0)
		return err;
	for (int i = 0; words[i]; i++) {
		if (!strcmp(words[i], s)) {
			*out = i;
			return 0;
		}
		kl_buf_addf(&list, "%s%s", i ? ", " : "", words[i]);
	}
	return kl_node_error(n, "'%s' is '%.64s'; known: %s", n.what, s, list.ptr);
}
