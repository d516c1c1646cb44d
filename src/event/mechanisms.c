/* SPDX-License-Identifier: Apache-2.0 */
/* mechanisms - reads templates/mechanisms.yaml, the mechanisms that steps are judged against */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/nearest.h"
#include "event/facts.h"
#include "text/schema.h"

#define MAX_FILE ((size_t)1 << 20)
#define MAX_NAME 64

/* Accept lower-case words joined by '-', so that a trailer can contain the name. */
static bool is_name(const char *text, size_t len)
{
	return len && len <= MAX_NAME &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == len && text[0] != '-' &&
	       text[len - 1] != '-';
}

static bool is_pattern(const char *text, size_t len)
{
	return len && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   ".:_*?[]-") == len;
}

static const struct kl_string_type name_type = { "lower-case words joined by '-'", is_name, NULL };
static const struct kl_string_type pattern_type = {
	"a fact or a pattern of facts ('vec.256', 'call.*', 'trait:tiled')",
	is_pattern,
	NULL,
};

static int check_incidental(const void *obj, const char *file, const struct kl_yaml *at)
{
	const struct kl_mechanism *mechanism = obj;

	for (size_t i = 0; i < mechanism->incidental.n; i++)
		if (!kl_strvec_has(&mechanism->primary, mechanism->incidental.v[i]))
			return kl_yaml_error(
				file, at,
				"mechanism '%s': '%s' is in 'incidental' but not in 'primary'",
				mechanism->name, mechanism->incidental.v[i]);
	return 0;
}

static const struct kl_field transform_fields[] = {
#define AT(m) offsetof(struct kl_mechanism_transform, m)
	KL_STRING_FIELD("language", KL_KEY, AT(language), &kl_string_slug),
	KL_STRING_FIELD("use", KL_NEEDED, AT(use), &kl_string_line), KL_FIELDS_END
#undef AT
};
static const struct kl_schema transform_schema = {
	"a transformation",
	sizeof(struct kl_mechanism_transform),
	transform_fields,
	NULL,
	NULL,
	NULL,
};

static const struct kl_field mechanism_fields[] = {
#define AT(m) offsetof(struct kl_mechanism, m)
	KL_STRING_FIELD("name", KL_KEY, AT(name), &name_type),
	KL_STRING_FIELD("text", KL_NEEDED, AT(text), &kl_string_line),
	KL_STRING_FIELD("action", KL_NEEDED, AT(action), &kl_string_line),
	KL_SET_FIELD("primary", KL_NEEDED, AT(primary), &pattern_type, 1, 0),
	KL_SET_FIELD("incidental", 0, AT(incidental), &pattern_type, 0, 0),
	KL_SET_FIELD("companions", 0, AT(companions), &pattern_type, 0, 0),
	KL_SET_FIELD("fallbacks", 0, AT(fallbacks), &pattern_type, 0, 0),
	KL_MAP_FIELD("transform", 0, AT(transform), &transform_schema, 0, 0),
	KL_FIELDS_END
#undef AT
};
static const struct kl_schema mechanism_schema = {
	"a mechanism", sizeof(struct kl_mechanism), mechanism_fields, check_incidental, NULL, NULL,
};

static const struct kl_field file_fields[] = {
#define AT(m) offsetof(struct kl_mechanisms, m)
	KL_INT_FIELD("klineage-mechanisms", KL_NEEDED, AT(version), 1, 1),
	KL_MAP_FIELD("mechanisms", KL_NEEDED, 0, &mechanism_schema, 0, 0), KL_FIELDS_END
#undef AT
};
static const struct kl_schema file_schema = {
	"the file", sizeof(struct kl_mechanisms), file_fields, NULL, NULL, NULL,
};

void kl_mechanisms_release(struct kl_mechanisms *mechanisms)
{
	kl_schema_release(mechanisms, &file_schema);
}

const struct kl_mechanism *kl_mechanisms_find(const struct kl_mechanisms *mechanisms,
					      const char *name)
{
	for (size_t i = 0; i < mechanisms->n; i++)
		if (!strcmp(mechanisms->m[i].name, name))
			return &mechanisms->m[i];
	return NULL;
}

void kl_mechanisms_nearest(struct kl_strvec *out, const struct kl_mechanisms *mechanisms,
			   const char *name)
{
	KL_AUTO(kl_freep) const char **names = kl_calloc(mechanisms->n + 1, sizeof(*names));

	for (size_t i = 0; i < mechanisms->n; i++)
		names[i] = mechanisms->m[i].name;
	kl_nearest(out, name, names, mechanisms->n);
}

int kl_mechanisms_load(struct kl_mechanisms *out, const char *path)
{
	struct kl_mechanisms mechanisms = { 0 };
	int err = kl_schema_load(&mechanisms, &file_schema, path, MAX_FILE);

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
