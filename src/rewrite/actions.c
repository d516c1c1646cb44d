/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/actions.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/envelope.h"
#include "text/yaml.h"

#define MAX_FILE ((size_t)256 << 10)

void kl_actions_release(struct kl_actions *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct kl_stage *s = &all->stage[i];

		for (size_t k = 0; k < s->n; k++) {
			free(s->a[k].name);
			free(s->a[k].text);
		}
		free(s->a);
		free(s->name);
		free(s->text);
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
		const struct kl_stage *s = &all->stage[i];

		kl_buf_addf(out, "%zu. %s: %s\n", i + 1, s->name, s->text);
		for (size_t k = 0; k < s->n; k++)
			kl_buf_addf(out, "   - `%s`: %s\n", s->a[k].name, s->a[k].text);
	}
}

static int line_of_text(char **out, const char *file, const struct kl_yaml *map, const char *key)
{
	const struct kl_yaml *v = kl_yaml_get(map, key);

	if (!v || v->kind != KL_YAML_SCALAR || !v->len)
		return kl_yaml_error(file, v ? v : map, "a stage has '%s', a line of text", key);
	*out = kl_strdup(v->text);
	return 0;
}

static int read_stage(struct kl_stage *out, const struct kl_actions *all, const char *file,
		      const struct kl_yaml *y)
{
	const struct kl_yaml *list = y->kind == KL_YAML_MAP ? kl_yaml_get(y, "actions") : NULL;
	int err;

	if (!list || list->kind != KL_YAML_MAP || y->n != 3)
		return kl_yaml_error(file, y, "a stage has name, text and actions, a map");
	if ((err = line_of_text(&out->name, file, y, "name")) < 0 ||
	    (err = line_of_text(&out->text, file, y, "text")) < 0)
		return err;
	out->a = kl_calloc(list->n + 1, sizeof(*out->a));
	for (size_t i = 0; i < list->n; i++) {
		if (list->item[i]->kind != KL_YAML_SCALAR || !list->item[i]->len)
			return kl_yaml_error(file, list->item[i],
					     "what an action removes is a line of text");
		if (!kl_envelope_slug(list->key[i]))
			return kl_yaml_key_error(file, list, i, "an action is words joined by '-'");
		if (kl_actions_has(all, list->key[i]))
			return kl_yaml_key_error(file, list, i, "'%.40s' stands here twice",
						 list->key[i]);
		out->a[i].name = kl_strdup(list->key[i]);
		out->a[i].text = kl_strdup(list->item[i]->text);
		out->n++;
	}
	return 0;
}

static int read_all(struct kl_actions *out, const char *file, const struct kl_yaml *y)
{
	const struct kl_yaml *version = y->kind == KL_YAML_MAP ?
						kl_yaml_get(y, "klineage-actions") :
						NULL;
	const struct kl_yaml *list = version ? kl_yaml_get(y, "stages") : NULL;
	int err = 0;

	if (!version || version->kind != KL_YAML_SCALAR || strcmp(version->text, "1"))
		return kl_yaml_error(file, version ? version : y,
				     "'klineage-actions: 1' is wanted");
	if (!list || list->kind != KL_YAML_SEQ || y->n != 2)
		return kl_yaml_error(file, y, "the other key of this file is 'stages', a list");
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
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	int err;

	*out = (struct kl_actions){ 0 };
	if ((err = kl_fs_read(&text, path, MAX_FILE)) < 0 ||
	    (err = kl_yaml_parse(&y, path, text.ptr, text.len)) < 0)
		return err;
	err = read_all(out, path, y);
	if (err < 0)
		kl_actions_release(out);
	return err;
}
