/* SPDX-License-Identifier: Apache-2.0 */
#include "text/schema.h"

#include <string.h>

#include "base/error.h"
#include "base/vec.h"

static void *field_at(void *obj, const struct kl_field *field)
{
	return (char *)obj + field->at;
}

static const void *field_in(const void *obj, const struct kl_field *field)
{
	return (const char *)obj + field->at;
}

static bool is_list(const struct kl_field *field)
{
	return field->kind == KL_FIELD_LIST || field->kind == KL_FIELD_MAP;
}

const struct kl_schema *kl_schema_of(const void *obj, const struct kl_schema *schema)
{
	const struct kl_field *field = schema->other ? schema->other->field : NULL;

	/* if the first field of schema->other is set in the row, schema->other describes the row */
	return field && *(char *const *)field_in(obj, field) ? schema->other : schema;
}

/* --- initializing, releasing and copying structures ----------------------------------- */

void kl_schema_clear(void *obj, const struct kl_schema *schema)
{
	for (const struct kl_field *field = schema->field; field->key; field++) {
		if (field->kind == KL_FIELD_INT || field->kind == KL_FIELD_DECIMAL)
			*(int64_t *)field_at(obj, field) = field->min - 1;
		else if (field->kind == KL_FIELD_GROUP || field->kind == KL_FIELD_PART)
			kl_schema_clear(field_at(obj, field), field->sub);
	}
}

static void list_release(struct kl_list *list, const struct kl_schema *schema)
{
	for (size_t i = 0; i < list->n; i++)
		kl_schema_release(list->v + i * schema->size, schema);
	free(list->v);
	*list = (struct kl_list){ 0 };
}

static void release_field(void *obj, const struct kl_field *field)
{
	if (field->kind == KL_FIELD_STRING)
		kl_freep(field_at(obj, field));
	else if (field->kind == KL_FIELD_SET)
		kl_strvec_release(field_at(obj, field));
	else if (field->kind == KL_FIELD_VALUE && field->value->release)
		field->value->release(field_at(obj, field));
	else if (is_list(field))
		list_release(field_at(obj, field), field->sub);
	else if (field->kind == KL_FIELD_GROUP || field->kind == KL_FIELD_PART)
		kl_schema_release(field_at(obj, field), field->sub);
}

void kl_schema_release(void *obj, const struct kl_schema *schema)
{
	schema = kl_schema_of(obj, schema);
	for (const struct kl_field *field = schema->field; field->key; field++)
		release_field(obj, field);
}

/* Set a field to the value that means "absent". The value of the field must own no memory. */
static void clear_scalar(void *at, const struct kl_field *field)
{
	switch (field->kind) {
	case KL_FIELD_INT:
	case KL_FIELD_DECIMAL:
		*(int64_t *)at = field->min - 1;
		break;
	case KL_FIELD_DOUBLE:
		*(double *)at = 0;
		break;
	case KL_FIELD_BOOL:
		*(bool *)at = false;
		break;
	case KL_FIELD_WORD:
		*(int *)at = 0;
		break;
	default:
		break;
	}
}

void kl_schema_clear_field(void *obj, const struct kl_field *field)
{
	release_field(obj, field);
	clear_scalar(field_at(obj, field), field);
	if (field->kind == KL_FIELD_PART)
		*(bool *)field_at(obj, field) = false;
	if (field->kind != KL_FIELD_GROUP && field->kind != KL_FIELD_PART)
		return;
	for (const struct kl_field *inner = field->sub->field; inner->key; inner++)
		kl_schema_clear_field(field_at(obj, field), inner);
}

static void list_copy(struct kl_list *to, const struct kl_list *from,
		      const struct kl_schema *schema)
{
	*to = (struct kl_list){ 0 };
	for (size_t i = 0; i < from->n; i++) {
		char *row = kl_calloc(1, schema->size);

		kl_schema_copy(row, from->v + i * schema->size, schema);
		kl_schema_push(to, row, schema);
		free(row);
	}
}

/*
 * Give `to`, which is a bytewise copy of `from`, its own copies of all data that `from` points to.
 */
static void copy_owned(void *to, const void *from, const struct kl_schema *schema)
{
	schema = kl_schema_of(from, schema);
	for (const struct kl_field *field = schema->field; field->key; field++) {
		if (field->kind == KL_FIELD_STRING) {
			char *const *string = field_in(from, field);

			*(char **)field_at(to, field) = *string ? kl_strdup(*string) : NULL;
		} else if (field->kind == KL_FIELD_SET) {
			struct kl_strvec copy = KL_STRVEC_INIT;

			kl_strvec_copy(&copy, field_in(from, field));
			*(struct kl_strvec *)field_at(to, field) = copy;
		} else if (field->kind == KL_FIELD_VALUE && field->value->copy) {
			field->value->copy(field_at(to, field), field_in(from, field));
		} else if (is_list(field)) {
			list_copy(field_at(to, field), field_in(from, field), field->sub);
		} else if (field->kind == KL_FIELD_GROUP || field->kind == KL_FIELD_PART) {
			copy_owned(field_at(to, field), field_in(from, field), field->sub);
		}
	}
}

void kl_schema_copy(void *to, const void *from, const struct kl_schema *schema)
{
	memcpy(to, from, schema->size);
	copy_owned(to, from, schema);
}

void *kl_schema_push(void *list, const void *row, const struct kl_schema *schema)
{
	struct kl_list *rows = list;

	if (rows->n + 1 > rows->alloc) {
		rows->alloc = rows->n + 1 + (rows->n + 1) / 2 + 2;
		rows->v = kl_realloc(rows->v, rows->alloc, schema->size);
	}
	return memcpy(rows->v + rows->n++ * schema->size, row, schema->size);
}

/* --- comparing, merging and sorting rows ------------------------------------------------ */

static int compare_text(const char *left, const char *right)
{
	if (!left || !right)
		return !!left - !!right;
	return strcmp(left, right);
}

static int compare_field(const void *left, const void *right, const struct kl_field *field)
{
	if (field->kind == KL_FIELD_STRING)
		return compare_text(*(char *const *)field_in(left, field),
				    *(char *const *)field_in(right, field));
	if (field->kind == KL_FIELD_INT || field->kind == KL_FIELD_DECIMAL) {
		int64_t x = *(const int64_t *)field_in(left, field),
			y = *(const int64_t *)field_in(right, field);

		return (x > y) - (x < y);
	}
	if (field->kind == KL_FIELD_WORD)
		return *(const int *)field_in(left, field) - *(const int *)field_in(right, field);
	if (field->kind == KL_FIELD_VALUE && field->value->compare)
		return field->value->compare(field_in(left, field), field_in(right, field));
	KL_BUG("the field '%s' cannot be a key", field->key);
}

/*
 * Compare the fields that have `flag`: first all fields that are not numbers, then the numbers,
 * both in the order of the table.
 */
static int compare_by(const void *left, const void *right, const struct kl_schema *schema, int flag)
{
	for (int pass = 0; pass <= 1; pass++) {
		for (const struct kl_field *field = schema->field; field->key; field++) {
			bool number = field->kind == KL_FIELD_INT ||
				      field->kind == KL_FIELD_DECIMAL;
			int order = field->flags & flag && number == pass ?
					    compare_field(left, right, field) :
					    0;

			if (order)
				return order;
		}
	}
	return 0;
}

static int compare_whole(const void *left, const void *right, const struct kl_schema *schema)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node_a = kl_schema_write(left, schema);
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node_b = kl_schema_write(right, schema);
	KL_AUTO(kl_buf_release) struct kl_buf text_a = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text_b = KL_BUF_INIT;

	kl_yaml_emit(&text_a, node_a);
	kl_yaml_emit(&text_b, node_b);
	if (text_a.len != text_b.len)
		return text_a.len < text_b.len ? -1 : 1;
	return strcmp(text_a.ptr, text_b.ptr);
}

/*
 * Return true if the row has a key. A trial that made no edit, for example, has no key; its whole
 * content identifies it.
 */
static bool has_key(const void *obj, const struct kl_schema *schema)
{
	for (const struct kl_field *field = schema->field; field->key; field++)
		if ((field->flags & KL_KEY) &&
		    (field->kind != KL_FIELD_STRING || *(char *const *)field_in(obj, field)))
			return true;
	return false;
}

bool kl_schema_same_key(const void *left, const void *right, const struct kl_schema *schema)
{
	const struct kl_schema *of = kl_schema_of(left, schema);

	if (of != kl_schema_of(right, schema) || compare_by(left, right, of, KL_KEY))
		return false;
	return has_key(left, of) || !compare_whole(left, right, of);
}

bool kl_schema_equal(const void *left, const void *right, const struct kl_schema *schema)
{
	return kl_schema_of(left, schema) == kl_schema_of(right, schema) &&
	       !compare_whole(left, right, schema);
}

void kl_schema_unite(void *into, void *from, const struct kl_schema *schema)
{
	const struct kl_schema *of = kl_schema_of(into, schema);

	for (const struct kl_field *field = of->field; field->key; field++) {
		if (field->flags & KL_WEAK) {
			bool both = *(const bool *)field_in(into, field) &&
				    *(const bool *)field_in(from, field);

			*(bool *)field_at(into, field) = *(bool *)field_at(from, field) = both;
		} else if (field->kind == KL_FIELD_SET && field->flags & KL_UNION) {
			struct kl_strvec *set = field_at(into, field),
					 *more = field_at(from, field);

			for (size_t i = 0; i < more->n; i++)
				kl_strvec_push(set, more->v[i]);
			kl_strvec_uniq(set);
			kl_strvec_release(more);
			*more = (struct kl_strvec)KL_STRVEC_INIT;
			kl_strvec_copy(more, set);
		}
	}
	if (compare_whole(from, into, of) > 0) {
		kl_schema_release(into, schema);
		memcpy(into, from, schema->size);
	} else {
		kl_schema_release(from, schema);
	}
}

int kl_schema_compare(const void *left, const void *right, const struct kl_schema *schema)
{
	const struct kl_schema *left_of = kl_schema_of(left, schema),
			       *right_of = kl_schema_of(right, schema);
	int order;

	if (left_of != right_of)
		return left_of == schema ? -1 : 1;
	if ((order = compare_by(left, right, left_of, KL_ORDER)) ||
	    (order = compare_by(left, right, left_of, KL_KEY)))
		return order;
	return compare_whole(left, right, left_of);
}

static int by_schema(const void *left, const void *right, void *data)
{
	return kl_schema_compare(left, right, data);
}

/* Merge the rows of a list that have the same key. */
static void drop_doubles(struct kl_list *list, const struct kl_schema *schema)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		char *row = list->v + i * schema->size, *same = NULL;

		/* rows with the same key need not be adjacent, so compare with all earlier rows */
		for (size_t k = n; k-- && !same;)
			if (kl_schema_same_key(list->v + k * schema->size, row, schema))
				same = list->v + k * schema->size;
		if (!same) {
			memmove(list->v + n++ * schema->size, row, schema->size);
			continue;
		}
		kl_schema_unite(same, row, schema);
	}
	list->n = n;
}

static bool is_sorted(const struct kl_list *list, const struct kl_schema *schema)
{
	for (size_t i = 1; i < list->n; i++)
		if (kl_schema_compare(list->v + (i - 1) * schema->size, list->v + i * schema->size,
				      schema) >= 0)
			return false;
	return true;
}

static void list_normalize(struct kl_list *list, const struct kl_schema *schema)
{
	for (size_t i = 0; i < list->n; i++)
		kl_schema_normalize(list->v + i * schema->size, schema);
	drop_doubles(list, schema);
	if (!is_sorted(list, schema))
		qsort_r(list->v, list->n, schema->size, by_schema, (void *)schema);
}

void kl_schema_normalize(void *obj, const struct kl_schema *schema)
{
	schema = kl_schema_of(obj, schema);
	for (const struct kl_field *field = schema->field; field->key; field++) {
		if (field->kind == KL_FIELD_SET)
			kl_strvec_uniq(field_at(obj, field));
		else if (field->kind == KL_FIELD_VALUE && field->value->normalize)
			field->value->normalize(field_at(obj, field));
		else if (is_list(field))
			list_normalize(field_at(obj, field), field->sub);
		else if (field->kind == KL_FIELD_GROUP || field->kind == KL_FIELD_PART)
			kl_schema_normalize(field_at(obj, field), field->sub);
	}
}

/* --- visiting strings ----------------------------------------------------------------- */

void kl_schema_each(const void *obj, const struct kl_schema *schema,
		    const struct kl_string_type *type, void (*fn)(const char *text, void *payload),
		    void *payload)
{
	schema = kl_schema_of(obj, schema);
	for (const struct kl_field *field = schema->field; field->key; field++) {
		if (field->string == type && field->kind == KL_FIELD_STRING) {
			if (*(char *const *)field_in(obj, field))
				fn(*(char *const *)field_in(obj, field), payload);
		} else if (field->string == type && field->kind == KL_FIELD_SET) {
			const struct kl_strvec *set = field_in(obj, field);

			for (size_t i = 0; i < set->n; i++)
				fn(set->v[i], payload);
		} else if (is_list(field)) {
			const struct kl_list *list = field_in(obj, field);

			for (size_t i = 0; i < list->n; i++)
				kl_schema_each(list->v + i * field->sub->size, field->sub, type, fn,
					       payload);
		} else if (field->kind == KL_FIELD_GROUP || field->kind == KL_FIELD_PART) {
			kl_schema_each(field_in(obj, field), field->sub, type, fn, payload);
		}
	}
}
