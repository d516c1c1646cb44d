/* SPDX-License-Identifier: Apache-2.0 */
#include "card/card_types.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "card/card.h"
#include "card/predicate.h"

#define MAX_DIMS 32
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* --- types of texts --------------------------------------------------------------------------- */

static bool is_commit(const char *text, size_t len)
{
	return len == 40 && strspn(text, "0123456789abcdef") == len;
}

static bool is_event(const char *text, size_t len)
{
	return len == 64 && strspn(text, "0123456789abcdef") == len;
}

/* Check the form of a fact: "cp.async", "trait:tiled", "!cp.async", "call._ZGVbN4v_expf". */
static bool is_fact(const char *text, size_t len)
{
	size_t n;

	(void)len;
	text += *text == '!';
	n = strspn(text, LETTERS "._:*-");
	return n && !text[n] && n <= 96 && (isalnum((unsigned char)*text) || *text == '_');
}

static int check_predicate(const char *file, const struct kl_yaml *node, const char *key)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *predicate = NULL;
	size_t at = 0;

	if (!kl_predicate_parse(&predicate, node->text, &at))
		return 0;
	return kl_yaml_error(file, node, "'%s' is not a valid predicate: byte %zu: %s", key, at + 1,
			     kl_error_last());
}

const struct kl_string_type kl_card_commit_id = { "a commit (40 hex digits)", is_commit, NULL };
const struct kl_string_type kl_card_event_id = { "an event's id (64 hex digits)", is_event, NULL };
const struct kl_string_type kl_card_fact = { "a fact ('cp.async', 'trait:tiled')", is_fact, NULL };
const struct kl_string_type kl_card_predicate = { "a predicate", NULL, check_predicate };

/* --- values of dims --------------------------------------------------------------------------- */

static bool is_dim_name(const char *text)
{
	size_t n = strspn(text, LETTERS "_");

	return n && !text[n] && n <= 63 && !isdigit((unsigned char)*text);
}

static int read_dims(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	const struct kl_field any = { .key = field->key, .min = INT64_MIN + 1 };

	if (node->kind != KL_YAML_MAP || node->n > MAX_DIMS)
		return kl_yaml_error(file, node, "'%s' must be a map of at most %d numbers",
				     field->key, MAX_DIMS);
	for (size_t i = 0; i < node->n; i++) {
		int64_t value;
		int err;

		if (!is_dim_name(node->key[i]))
			return kl_yaml_key_error(file, node, i, "'%.64s' is not a valid dim name",
						 node->key[i]);
		if ((err = kl_schema_read_int(&value, file, &any, node->item[i])) < 0)
			return err;
		kl_card_dims_add(at, node->key[i], value);
	}
	return 0;
}

static struct kl_yaml *write_dims(const void *at, const struct kl_field *field)
{
	const struct kl_card_dims *dims = at;
	struct kl_yaml *node;

	if (!dims->n && !(field->flags & KL_NEEDED))
		return NULL;
	node = kl_yaml_new_map();
	node->flow = 1;
	for (size_t i = 0; i < dims->n; i++)
		kl_yaml_put(node, dims->v[i].name, kl_schema_write_int(dims->v[i].v));
	return node;
}

static void release_dims(void *at)
{
	struct kl_card_dims *dims = at;

	for (size_t i = 0; i < dims->n; i++)
		free(dims->v[i].name);
	free(dims->v);
	*dims = (struct kl_card_dims){ 0 };
}

static void copy_dims(void *to, const void *from)
{
	*(struct kl_card_dims *)to = (struct kl_card_dims){ 0 };
	kl_card_dims_copy(to, from);
}

int kl_card_dims_compare(const void *left, const void *right)
{
	const struct kl_card_dims *first = left, *second = right;

	for (size_t i = 0; i < first->n && i < second->n; i++) {
		const struct kl_card_dim *dim = &first->v[i], *other = &second->v[i];
		int order = strcmp(dim->name, other->name);

		if (!order)
			order = (dim->v > other->v) - (dim->v < other->v);
		if (order)
			return order;
	}
	return (first->n > second->n) - (first->n < second->n);
}

const struct kl_value_type kl_card_dims_value = {
	.read = read_dims,
	.write = write_dims,
	.release = release_dims,
	.copy = copy_dims,
	.compare = kl_card_dims_compare,
};

/* --- the kind of an effect ---------------------------------------------------------------- */

static int read_kind(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	const struct kl_field set = { .key = field->key, .min = 1, .string = &kl_string_slug };

	if (node->kind == KL_YAML_SCALAR && !strcmp(node->text, "win"))
		return 0;
	if (node->kind != KL_YAML_MAP || node->n != 1 || strcmp(node->key[0], "enabler"))
		return kl_yaml_error(file, node, "'%s' must be win, or {enabler: [<card>, ...]}",
				     field->key);
	return kl_schema_read_set(at, file, &set, node->item[0]);
}

static struct kl_yaml *write_kind(const void *at, const struct kl_field *field)
{
	const struct kl_strvec *enables = at;
	struct kl_yaml *node;

	(void)field;
	if (!enables->n)
		return kl_yaml_new_text("win");
	node = kl_yaml_new_map();
	kl_yaml_put(node, "enabler", kl_schema_write_set(enables));
	return node;
}

static void release_kind(void *at)
{
	kl_strvec_release(at);
}

static void copy_kind(void *to, const void *from)
{
	struct kl_strvec copy = KL_STRVEC_INIT;

	kl_strvec_copy(&copy, from);
	*(struct kl_strvec *)to = copy;
}

static void normalize_kind(void *at)
{
	kl_strvec_uniq(at);
}

const struct kl_value_type kl_card_kind_value = {
	.read = read_kind,
	.write = write_kind,
	.release = release_kind,
	.copy = copy_kind,
	.normalize = normalize_kind,
};
