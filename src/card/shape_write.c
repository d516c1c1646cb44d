/* SPDX-License-Identifier: Apache-2.0 */
/* shape_write - writes a structure as YAML by its table */
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "card/card.h"
#include "card/shape.h"

static struct kl_yaml *write_number(int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return kl_yaml_new_plain(text);
}

void kl_card_decimal(struct kl_buf *out, int64_t millionths)
{
	uint64_t unit = millionths < 0 ? -(uint64_t)millionths : (uint64_t)millionths;

	kl_buf_addf(out, "%s%llu.%06llu", millionths < 0 ? "-" : "",
		    (unsigned long long)(unit / 1000000), (unsigned long long)(unit % 1000000));
	while (out->ptr[out->len - 1] == '0')
		out->ptr[--out->len] = '\0';
	if (out->ptr[out->len - 1] == '.')
		out->ptr[--out->len] = '\0';
}

static struct kl_yaml *write_decimal(int64_t value)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_card_decimal(&buf, value);
	return kl_yaml_new_plain(buf.ptr);
}

static struct kl_yaml *write_set(const struct kl_strvec *list)
{
	struct kl_yaml *node = kl_yaml_new_seq();

	node->flow = 1;
	for (size_t i = 0; i < list->n; i++)
		kl_yaml_push(node, kl_yaml_new_text(list->v[i]));
	return node;
}

static struct kl_yaml *write_dims(const struct kl_card_dims *dims)
{
	struct kl_yaml *node = kl_yaml_new_map();

	node->flow = 1;
	for (size_t i = 0; i < dims->n; i++)
		kl_yaml_put(node, dims->v[i].name, write_number(dims->v[i].v));
	return node;
}

static struct kl_yaml *write_list(const struct kl_list *list, const struct kl_shape *shape)
{
	struct kl_yaml *node = kl_yaml_new_seq();

	for (size_t i = 0; i < list->n; i++)
		kl_yaml_push(node, kl_shape_write(list->v + i * shape->size, shape));
	return node;
}

/* by the first field, which stands as the key and not in the row */
static struct kl_yaml *write_map(const struct kl_list *list, const struct kl_shape *shape)
{
	struct kl_yaml *node = kl_yaml_new_map();
	struct kl_shape rest = *shape;

	rest.field++;
	for (size_t i = 0; i < list->n; i++) {
		const char *row = list->v + i * shape->size;

		kl_yaml_put(node, *(char *const *)(row + shape->field->at),
			    kl_shape_write(row, &rest));
	}
	return node;
}

static struct kl_yaml *write_kind(const struct kl_strvec *enables)
{
	struct kl_yaml *node;

	if (!enables->n)
		return kl_yaml_new_text("win");
	node = kl_yaml_new_map();
	kl_yaml_put(node, "enabler", write_set(enables));
	return node;
}

/* NULL: absent */
static struct kl_yaml *write_field(const void *at, const struct kl_field *field)
{
	const struct kl_strvec *list = at;
	const struct kl_list *other = at;
	const struct kl_card_dims *dims = at;

	switch (field->kind) {
	case KL_FIELD_INT:
		return *(const int64_t *)at < field->min ? NULL :
							   write_number(*(const int64_t *)at);
	case KL_FIELD_DECIMAL:
		return *(const int64_t *)at < field->min ? NULL :
							   write_decimal(*(const int64_t *)at);
	case KL_FIELD_BOOL:
		return !*(const bool *)at && !(field->flags & KL_NEEDED) ?
			       NULL :
			       kl_yaml_new_plain(*(const bool *)at ? "true" : "false");
	case KL_FIELD_WORD:
		return kl_yaml_new_text(field->words[*(const int *)at]);
	case KL_FIELD_FACTS:
	case KL_FIELD_SLUGS:
	case KL_FIELD_EVENTS:
	case KL_FIELD_PLATFORMS:
	case KL_FIELD_LINES:
		return list->n || field->flags & KL_NEEDED ? write_set(list) : NULL;
	case KL_FIELD_DIMS:
		return dims->n || field->flags & KL_NEEDED ? write_dims(dims) : NULL;
	case KL_FIELD_LIST:
		return other->n || field->flags & KL_NEEDED ? write_list(other, field->sub) : NULL;
	case KL_FIELD_MAP:
		return other->n || field->flags & KL_NEEDED ? write_map(other, field->sub) : NULL;
	case KL_FIELD_GROUP:
		return kl_shape_write(at, field->sub);
	case KL_FIELD_PART:
		return *(const bool *)at ? kl_shape_write(at, field->sub) : NULL;
	case KL_FIELD_KIND:
		return write_kind(list);
	default:
		return *(char *const *)at ? kl_yaml_new_text(*(char *const *)at) : NULL;
	}
}

struct kl_yaml *kl_shape_write(const void *obj, const struct kl_shape *shape)
{
	struct kl_yaml *node = kl_yaml_new_map();

	shape = kl_shape_of(obj, shape);
	for (const struct kl_field *field = shape->field; field->key; field++) {
		struct kl_yaml *value = write_field((const char *)obj + field->at, field);

		if (!value && field->flags & KL_NULL)
			value = kl_yaml_new_plain("null");
		if (value)
			kl_yaml_put(node, field->key, value);
	}
	return node;
}
