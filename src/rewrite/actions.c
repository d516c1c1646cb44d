/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/actions.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/reply/envelope.h"
#include "text/yaml.h"

#define MAX_FILE ((size_t)256 << 10)

void kl_actions_release(struct kl_actions *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct kl_stage *stage = &all->stage[i];

		for (size_t k = 0; k < stage->n; k++) {
			free(stage->a[k].name);
			free(stage->a[k].text);
		}
		free(stage->a);
		free(stage->name);
		free(stage->text);
	}
	free(all->stage);
	*all = (struct kl_actions){ 0 };
}

bool kl_actions_has(const struct kl_actions *all, const char *name)
{
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < all->stage[i].n; k++)
			if (!strcmp(all->stage[i].a[k].name, name))
				return true;
	return false;
}

void kl_actions_list(struct kl_buf *out, const struct kl_actions *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct kl_stage *stage = &all->stage[i];

		kl_buf_addf(out, "%zu. %s: %s\n", i + 1, stage->name, stage->text);
		for (size_t k = 0; k < stage->n; k++)
			kl_buf_addf(out, "   - `%s`: %s\n", stage->a[k].name, stage->a[k].text);
	}
}

static int line_of_text(char **out, const char *file, const struct kl_yaml *map, const char *key)
{
	const struct kl_yaml *node = kl_yaml_get(map, key);

	if (!node || node->kind != KL_YAML_SCALAR || !node->len)
		return kl_yaml_error(file, node ? node : map,
				     "a stage must have '%s', one line of text", key);
	*out = kl_strdup(node->text);
	return 0;
}

static int read_stage(struct kl_stage *out, const struct kl_actions *all, const char *file,
		      const struct kl_yaml *node)
{
	const struct kl_yaml *list = node->kind == KL_YAML_MAP ? kl_yaml_get(node, "actions") :
								 NULL;
	int err;

	if (!list || list->kind != KL_YAML_MAP || node->n != 3)
		return kl_yaml_error(file, node,
				     "a stage must have name, text and actions (a map)");
	if ((err = line_of_text(&out->name, file, node, "name")) < 0 ||
	    (err = line_of_text(&out->text, file, node, "text")) < 0)
		return err;
	out->a = kl_calloc(list->n + 1, sizeof(*out->a));
	for (size_t i = 0; i < list->n; i++) {
		if (list->item[i]->kind != KL_YAML_SCALAR || !list->item[i]->len)
			return kl_yaml_error(file, list->item[i],
					     "an action must be described by a line of text");
		if (!kl_envelope_slug(list->key[i]))
			return kl_yaml_key_error(
				file, list, i, "an action must be lower-case words joined by '-'");
		if (kl_actions_has(all, list->key[i]))
			return kl_yaml_key_error(file, list, i, "duplicate action '%.40s'",
						 list->key[i]);
		out->a[i].name = kl_strdup(list->key[i]);
		out->a[i].text = kl_strdup(list->item[i]->text);
		out->n++;
	}
	return 0;
}

static int read_all(struct kl_actions *out, const char *file, const struct kl_yaml *node)
{
	const struct kl_yaml *version = node->kind == KL_YAML_MAP ?
						kl_yaml_get(node, "klineage-actions") :
						NULL;
	const struct kl_yaml *list = version ? kl_yaml_get(node, "stages") : NULL;
	int err = 0;

	if (!version || version->kind != KL_YAML_SCALAR || strcmp(version->text, "1"))
		return kl_yaml_error(file, version ? version : node,
				     "expected 'klineage-actions: 1'");
	if (!list || list->kind != KL_YAML_SEQ || node->n != 2)
		return kl_yaml_error(file, node,
				     "expected exactly one other key: 'stages', a list");
	out->stage = kl_calloc(list->n + 1, sizeof(*out->stage));
	for (size_t i = 0; !err && i < list->n; i++) {
		out->n++;
		err = read_stage(&out->stage[i], out, file, list->item[i]);
	}
	return err;
}

int kl_actions_load(struct kl_actions *out, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	int err;

	*out = (struct kl_actions){ 0 };
	if ((err = kl_fs_read(&text, path, MAX_FILE)) < 0 ||
	    (err = kl_yaml_parse(&node, path, text.ptr, text.len)) < 0)
		return err;
	err = read_all(out, path, node);
	if (err < 0)
		kl_actions_release(out);
	return err;
}
