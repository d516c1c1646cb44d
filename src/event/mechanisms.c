/* SPDX-License-Identifier: Apache-2.0 */
/* mechanisms - reads templates/mechanisms.yaml, the mechanisms that facts are judged by */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "event/facts.h"
#include "text/yaml.h"

#define MAX_FILE ((size_t)1 << 20)

static void release_one(struct kl_mechanism *m)
{
	free(m->name);
	free(m->text);
	free(m->action);
	kl_strvec_release(&m->primary);
	kl_strvec_release(&m->incidental);
	kl_strvec_release(&m->companions);
	kl_strvec_release(&m->fallbacks);
}

void kl_mechanisms_release(struct kl_mechanisms *m)
{
	for (size_t i = 0; i < m->n; i++)
		release_one(&m->m[i]);
	free(m->m);
	*m = (struct kl_mechanisms){ 0 };
}

const struct kl_mechanism *kl_mechanisms_find(const struct kl_mechanisms *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->m[i].name, name))
			return &m->m[i];
	return NULL;
}

/* Lower-case words joined by '-': what a trailer can hold. */
static bool name_ok(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n && !s[n] && s[0] != '-' && s[n - 1] != '-' && n <= 64;
}

static bool pattern_ok(const char *s)
{
	return *s &&
	       !s[strspn(s,
			 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_*?[]-")];
}

static int read_text(char **out, const char *file, const struct kl_yaml *y)
{
	if (y->kind != KL_YAML_SCALAR || !y->len)
		return kl_yaml_error(file, y, "a line of text is wanted");
	*out = kl_strdup(y->text);
	return 0;
}

static int read_list(struct kl_strvec *out, const char *file, const struct kl_yaml *y)
{
	if (y->kind != KL_YAML_SEQ)
		return kl_yaml_error(file, y, "a list of facts is wanted");
	for (size_t i = 0; i < y->n; i++) {
		const struct kl_yaml *e = y->item[i];

		if (e->kind != KL_YAML_SCALAR || !pattern_ok(e->text))
			return kl_yaml_error(
				file, e, "a fact is wanted: 'vec.256', 'call.*', 'trait:tiled'");
		kl_strvec_push(out, e->text);
	}
	return 0;
}

static int read_key(struct kl_mechanism *m, const char *file, const char *key,
		    const struct kl_yaml *y)
{
	if (!strcmp(key, "text"))
		return read_text(&m->text, file, y);
	if (!strcmp(key, "action"))
		return read_text(&m->action, file, y);
	if (!strcmp(key, "primary"))
		return read_list(&m->primary, file, y);
	if (!strcmp(key, "incidental"))
		return read_list(&m->incidental, file, y);
	if (!strcmp(key, "companions"))
		return read_list(&m->companions, file, y);
	if (!strcmp(key, "fallbacks"))
		return read_list(&m->fallbacks, file, y);
	return kl_yaml_error(file, y, "unknown key '%.60s'", key);
}

static int read_mechanism(struct kl_mechanism *m, const char *file, const char *name,
			  const struct kl_yaml *y)
{
	int err = 0;

	m->name = kl_strdup(name);
	if (!name_ok(name))
		return kl_yaml_error(file, y, "mechanism '%.64s': lower-case words joined by '-'",
				     name);
	if (y->kind != KL_YAML_MAP)
		return kl_yaml_error(file, y, "mechanism '%s' wants a map", name);
	for (size_t i = 0; !err && i < y->n; i++)
		err = read_key(m, file, y->key[i], y->item[i]);
	if (!err && (!m->text || !m->action || !m->primary.n))
		err = kl_yaml_error(file, y, "mechanism '%s' wants text, action and primary", name);
	for (size_t i = 0; !err && i < m->incidental.n; i++)
		if (!kl_strvec_has(&m->primary, m->incidental.v[i]))
			err = kl_yaml_error(file, y,
					    "mechanism '%s': incidental '%s' is not primary", name,
					    m->incidental.v[i]);
	return err;
}

static int read_all(struct kl_mechanisms *out, const char *file, const struct kl_yaml *y)
{
	const struct kl_yaml *version = kl_yaml_get(y, "klineage-mechanisms");
	const struct kl_yaml *map = kl_yaml_get(y, "mechanisms");
	int err = 0;

	if (!version || version->kind != KL_YAML_SCALAR || strcmp(version->text, "1"))
		return kl_yaml_error(file, version ? version : y,
				     "'klineage-mechanisms: 1' is wanted");
	if (!map || map->kind != KL_YAML_MAP)
		return kl_yaml_error(file, map ? map : y, "a map 'mechanisms' is wanted");
	for (size_t i = 0; i < y->n; i++)
		if (y->item[i] != version && y->item[i] != map)
			return kl_yaml_error(file, y->item[i], "unknown key '%.60s'", y->key[i]);
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
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	struct kl_mechanisms m = { 0 };
	int err = kl_fs_read(&text, path, MAX_FILE);

	if (!err)
		err = kl_yaml_parse(&y, path, text.ptr, text.len);
	if (!err && y->kind != KL_YAML_MAP)
		err = kl_yaml_error(path, y, "a map is wanted");
	if (!err)
		err = read_all(&m, path, y);
	if (err < 0) {
		kl_mechanisms_release(&m);
		return err;
	}
	*out = m;
	return 0;
}

int kl_mechanisms_load_shipped(struct kl_mechanisms *out)
{
	KL_AUTO(kl_freep) char *path = NULL;
	int err = kl_fs_share(&path, "templates/mechanisms.yaml");

	return err < 0 ? err : kl_mechanisms_load(out, path);
}
