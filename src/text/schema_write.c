/* SPDX-License-Identifier: Apache-2.0 */
/* schema_write - writes a structure as YAML by its table */
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "text/schema.h"

struct kl_yaml *kl_schema_write_int(int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return kl_yaml_new_plain(text);
}

static struct kl_yaml *write_double(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.17g", value);
	return kl_yaml_new_plain(text);
}

static struct kl_yaml *write_decimal(int64_t value)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_buf_add_decimal(&buf, value);
	return kl_yaml_new_plain(buf.ptr);
}

struct kl_yaml *kl_schema_write_set(const struct kl_strvec *set)
{
	struct kl_yaml *node = kl_yaml_new_seq();

	node->flow = 1;
	for (size_t i = 0; i < set->n; i++)
		kl_yaml_push(node, kl_yaml_new_text(set->v[i]));
	return node;
}

static struct kl_yaml *write_list(const struct kl_list *list, const struct kl_schema *schema)
{
	struct kl_yaml *node = kl_yaml_new_seq();

	for (size_t i = 0; i < list->n; i++)
		kl_yaml_push(node, kl_schema_write(list->v + i * schema->size, schema));
	return node;
}

/*
 * Write a list as a map. The first field of each row becomes the key and is not repeated in the
 * row.
 */
static struct kl_yaml *write_map(const struct kl_list *list, const struct kl_schema *schema)
{
	struct kl_yaml *node = kl_yaml_new_map();
	struct kl_schema rest = *schema;

	rest.field++;
	for (size_t i = 0; i < list->n; i++) {
		const char *row = list->v + i * schema->size;

		kl_yaml_put(node, *(char *const *)(row + schema->field->at),
			    kl_schema_write(row, &rest));
	}
	return node;
}

/* Return the value as YAML, or NULL if the field is absent. */
static struct kl_yaml *write_field(const void *at, const struct kl_field *field)
{
	const struct kl_strvec *set = at;
	const struct kl_list *list = at;

	switch (field->kind) {
	case KL_FIELD_INT:
		return *(const int64_t *)at < field->min ?
			       NULL :
			       kl_schema_write_int(*(const int64_t *)at);
	case KL_FIELD_DECIMAL:
		return *(const int64_t *)at < field->min ? NULL :
							   write_decimal(*(const int64_t *)at);
	case KL_FIELD_DOUBLE:
		return write_double(*(const double *)at);
	case KL_FIELD_BOOL:
		return !*(const bool *)at && !(field->flags & KL_NEEDED) ?
			       NULL :
			       kl_yaml_new_plain(*(const bool *)at ? "true" : "false");
	case KL_FIELD_WORD:
		return kl_yaml_new_text(field->words[*(const int *)at]);
	case KL_FIELD_SET:
		return set->n || field->flags & KL_NEEDED ? kl_schema_write_set(set) : NULL;
	case KL_FIELD_VALUE:
		return field->value->write ? field->value->write(at, field) : NULL;
	case KL_FIELD_LIST:
		return list->n || field->flags & KL_NEEDED ? write_list(list, field->sub) : NULL;
	case KL_FIELD_MAP:
		return list->n || field->flags & KL_NEEDED ? write_map(list, field->sub) : NULL;
	case KL_FIELD_GROUP:
		return kl_schema_write(at, field->sub);
	case KL_FIELD_PART:
		return *(const bool *)at ? kl_schema_write(at, field->sub) : NULL;
	case KL_FIELD_STRING:
		return *(char *const *)at ? kl_yaml_new_text(*(char *const *)at) : NULL;
	}
	return NULL;
}

struct kl_yaml *kl_schema_write(const void *obj, const struct kl_schema *schema)
{
	struct kl_yaml *node = kl_yaml_new_map();

	schema = kl_schema_of(obj, schema);
	for (const struct kl_field *field = schema->field; field->key; field++) {
		struct kl_yaml *value = write_field((const char *)obj + field->at, field);

		if (!value && field->flags & KL_NULL)
			value = kl_yaml_new_plain("null");
		if (value)
			kl_yaml_put(node, field->key, value);
	}
	return node;
}
