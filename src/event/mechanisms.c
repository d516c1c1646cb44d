/* SPDX-License-Identifier: Apache-2.0 */
/* mechanisms - reads templates/mechanisms.yaml, the mechanisms that facts are judged by */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "event/facts.h"
#include "text/yaml.h"

#define MAX_FILE ((size_t)1 << 20)

static void release_one(struct kl_mechanism *mechanism)
{
	free(mechanism->name);
	free(mechanism->text);
	free(mechanism->action);
	kl_strvec_release(&mechanism->primary);
	kl_strvec_release(&mechanism->incidental);
	kl_strvec_release(&mechanism->companions);
	kl_strvec_release(&mechanism->fallbacks);
}

void kl_mechanisms_release(struct kl_mechanisms *mechanisms)
{
	for (size_t i = 0; i < mechanisms->n; i++)
		release_one(&mechanisms->m[i]);
	free(mechanisms->m);
	*mechanisms = (struct kl_mechanisms){ 0 };
}

const struct kl_mechanism *kl_mechanisms_find(const struct kl_mechanisms *mechanisms,
					      const char *name)
{
	for (size_t i = 0; i < mechanisms->n; i++)
		if (!strcmp(mechanisms->m[i].name, name))
			return &mechanisms->m[i];
	return NULL;
}

/* Lower-case words joined by '-': what a trailer can hold. */
static bool name_ok(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n && !text[n] && text[0] != '-' && text[n - 1] != '-' && n <= 64;
}

static bool pattern_ok(const char *text)
{
	return *text &&
	       !text[strspn(
		       text,
		       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_*?[]-")];
}

static int read_text(char **out, const char *file, const struct kl_yaml *node)
{
	if (node->kind != KL_YAML_SCALAR || !node->len)
		return kl_yaml_error(file, node, "a line of text is wanted");
	*out = kl_strdup(node->text);
	return 0;
}

static int read_list(struct kl_strvec *out, const char *file, const struct kl_yaml *node)
{
	if (node->kind != KL_YAML_SEQ)
		return kl_yaml_error(file, node, "a list of facts is wanted");
	for (size_t i = 0; i < node->n; i++) {
		const struct kl_yaml *value = node->item[i];

		if (value->kind != KL_YAML_SCALAR || !pattern_ok(value->text))
			return kl_yaml_error(
				file, value,
				"a fact is wanted: 'vec.256', 'call.*', 'trait:tiled'");
		kl_strvec_push(out, value->text);
	}
	return 0;
}

static int read_key(struct kl_mechanism *mechanism, const char *file, const char *key,
		    const struct kl_yaml *node)
{
	if (!strcmp(key, "text"))
		return read_text(&mechanism->text, file, node);
	if (!strcmp(key, "action"))
		return read_text(&mechanism->action, file, node);
	if (!strcmp(key, "primary"))
		return read_list(&mechanism->primary, file, node);
	if (!strcmp(key, "incidental"))
		return read_list(&mechanism->incidental, file, node);
	if (!strcmp(key, "companions"))
		return read_list(&mechanism->companions, file, node);
	if (!strcmp(key, "fallbacks"))
		return read_list(&mechanism->fallbacks, file, node);
	return kl_yaml_error(file, node, "unknown key '%.60s'", key);
}

static int read_mechanism(struct kl_mechanism *mechanism, const char *file, const char *name,
			  const struct kl_yaml *node)
{
	int err = 0;

	mechanism->name = kl_strdup(name);
	if (!name_ok(name))
		return kl_yaml_error(file, node,
				     "mechanism '%.64s': lower-case words joined by '-'", name);
	if (node->kind != KL_YAML_MAP)
		return kl_yaml_error(file, node, "mechanism '%s' wants a map", name);
	for (size_t i = 0; !err && i < node->n; i++)
		err = read_key(mechanism, file, node->key[i], node->item[i]);
	if (!err && (!mechanism->text || !mechanism->action || !mechanism->primary.n))
		err = kl_yaml_error(file, node, "mechanism '%s' wants text, action and primary",
				    name);
	for (size_t i = 0; !err && i < mechanism->incidental.n; i++)
		if (!kl_strvec_has(&mechanism->primary, mechanism->incidental.v[i]))
			err = kl_yaml_error(file, node,
					    "mechanism '%s': incidental '%s' is not primary", name,
					    mechanism->incidental.v[i]);
	return err;
}

static int read_all(struct kl_mechanisms *out, const char *file, const struct kl_yaml *node)
{
	const struct kl_yaml *version = kl_yaml_get(node, "klineage-mechanisms");
	const struct kl_yaml *map = kl_yaml_get(node, "mechanisms");
	int err = 0;

	if (!version || version->kind != KL_YAML_SCALAR || strcmp(version->text, "1"))
		return kl_yaml_error(file, version ? version : node,
				     "'klineage-mechanisms: 1' is wanted");
	if (!map || map->kind != KL_YAML_MAP)
		return kl_yaml_error(file, map ? map : node, "a map 'mechanisms' is wanted");
	for (size_t i = 0; i < node->n; i++)
		if (node->item[i] != version && node->item[i] != map)
			return kl_yaml_error(file, node->item[i], "unknown key '%.60s'",
					     node->key[i]);
	out->m = kl_calloc(map->n + 1, sizeof(*out->m));
	for (size_t i = 0; !err && i < map->n; i++) {
		out->n++;
		err = read_mechanism(&out->m[i], file, map->key[i], map->item[i]);
	}
	return err;
}

int kl_mechanisms_load(struct kl_mechanisms *out, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	struct kl_mechanisms mechanisms = { 0 };
	int err = kl_fs_read(&text, path, MAX_FILE);

	if (!err)
		err = kl_yaml_parse(&node, path, text.ptr, text.len);
	if (!err && node->kind != KL_YAML_MAP)
		err = kl_yaml_error(path, node, "a map is wanted");
	if (!err)
		err = read_all(&mechanisms, path, node);
	if (err < 0) {
		kl_mechanisms_release(&mechanisms);
		return err;
	}
	*out = mechanisms;
	return 0;
}

int kl_mechanisms_load_shipped(struct kl_mechanisms *out)
{
	KL_AUTO(kl_freep) char *path = NULL;
	int err = kl_fs_share(&path, "templates/mechanisms.yaml");

	return err < 0 ? err : kl_mechanisms_load(out, path);
}
