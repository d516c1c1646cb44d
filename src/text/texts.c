/* SPDX-License-Identifier: Apache-2.0 */
/* texts - a schema's value type for a map of names to lines of text */
#include <string.h>

#include "base/error.h"
#include "text/schema.h"

#define MAX_TEXTS 256

static int read_texts(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	struct kl_texts *texts = at;
	size_t max = field->max ? (size_t)field->max : MAX_TEXTS;

	if (node->kind != KL_YAML_MAP)
		return kl_yaml_error(file, node, "'%s' must be a map {name: text}", field->key);
	if (node->n < (size_t)field->min || node->n > max)
		return kl_yaml_error(file, node, "'%s' has %zu entries, but must have %lld to %zu",
				     field->key, node->n, (long long)field->min, max);
	for (size_t i = 0; i < node->n; i++) {
		const struct kl_yaml *text = node->item[i];
		int err;

		if (text->kind != KL_YAML_SCALAR || !text->len)
			return kl_yaml_error(file, text, "'%.64s' must be a line of text",
					     node->key[i]);
		if ((err = kl_string_line.check(file, text, field->key)) < 0)
			return err;
		KL_GROW(texts->v, texts->n + 1, texts->alloc);
		texts->v[texts->n++] = (struct kl_text){ kl_strdup(node->key[i]),
							 kl_strdup(text->text) };
	}
	return 0;
}

static struct kl_yaml *write_texts(const void *at, const struct kl_field *field)
{
	const struct kl_texts *texts = at;
	struct kl_yaml *node;

	if (!texts->n && !(field->flags & KL_NEEDED))
		return NULL;
	node = kl_yaml_new_map();
	for (size_t i = 0; i < texts->n; i++)
		kl_yaml_put(node, texts->v[i].name, kl_yaml_new_text(texts->v[i].text));
	return node;
}

static void release_texts(void *at)
{
	struct kl_texts *texts = at;

	for (size_t i = 0; i < texts->n; i++) {
		free(texts->v[i].name);
		free(texts->v[i].text);
	}
	free(texts->v);
	*texts = (struct kl_texts){ 0 };
}

static void copy_texts(void *to, const void *from)
{
	const struct kl_texts *source = from;
	struct kl_texts copy = { 0 };

	for (size_t i = 0; i < source->n; i++) {
		KL_GROW(copy.v, copy.n + 1, copy.alloc);
		copy.v[copy.n++] = (struct kl_text){ kl_strdup(source->v[i].name),
						     kl_strdup(source->v[i].text) };
	}
	*(struct kl_texts *)to = copy;
}

const struct kl_value_type kl_texts_value = {
	.read = read_texts,
	.write = write_texts,
	.release = release_texts,
	.copy = copy_texts,
};

int kl_texts_find(const struct kl_texts *texts, const char *name)
{
	for (size_t i = 0; i < texts->n; i++)
		if (!strcmp(texts->v[i].name, name))
			return (int)i;
	return -1;
}
