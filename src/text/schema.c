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

	/* the other table begins with the field that makes a row its own */
	return field && *(char *const *)field_in(obj, field) ? schema->other : schema;
}

/* --- life ------------------------------------------------------------------------ */

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

void kl_schema_release(void *obj, const struct kl_schema *schema)
{
	schema = kl_schema_of(obj, schema);
	for (const struct kl_field *field = schema->field; field->key; field++) {
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

/* `to` has the bytes of `from`: what these point to is copied */
static void copy_owned(void *to, const void *from, const struct kl_schema *schema)
{
	schema = kl_schema_of(from, schema);
	for (const struct kl_field *field = schema->field; field->key; field++) {
		if (field->kind == KL_FIELD_STRING) {
			char *const *list = field_in(from, field);

			*(char **)field_at(to, field) = *list ? kl_strdup(*list) : NULL;
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
	struct kl_list *other = list;

	if (other->n + 1 > other->alloc) {
		other->alloc = other->n + 1 + (other->n + 1) / 2 + 2;
		other->v = kl_realloc(other->v, other->alloc, schema->size);
	}
	return memcpy(other->v + other->n++ * schema->size, row, schema->size);
}

/* --- order ------------------------------------------------------------------------ */

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
		int64_t value = *(const int64_t *)field_in(left, field),
			other = *(const int64_t *)field_in(right, field);

		return (value > other) - (value < other);
	}
	if (field->kind == KL_FIELD_WORD)
		return *(const int *)field_in(left, field) - *(const int *)field_in(right, field);
	if (field->kind == KL_FIELD_VALUE && field->value->compare)
		return field->value->compare(field_in(left, field), field_in(right, field));
	KL_BUG("'%s' cannot be a key", field->key);
}

/* names before numbers, each in the table's order */
static int compare_by(const void *left, const void *right, const struct kl_schema *schema, int flag)
{
	for (int numbers = 0; numbers <= 1; numbers++) {
		for (const struct kl_field *field = schema->field; field->key; field++) {
			bool number = field->kind == KL_FIELD_INT ||
				      field->kind == KL_FIELD_DECIMAL;
			int ch = field->flags & flag && number == numbers ?
					 compare_field(left, right, field) :
					 0;

			if (ch)
				return ch;
		}
	}
	return 0;
}

static int compare_whole(const void *left, const void *right, const struct kl_schema *schema)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *ya = kl_schema_write(left, schema);
	KL_AUTO(kl_yaml_freep) struct kl_yaml *yb = kl_schema_write(right, schema);
	KL_AUTO(kl_buf_release) struct kl_buf ta = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf tb = KL_BUF_INIT;

	kl_yaml_emit(&ta, ya);
	kl_yaml_emit(&tb, yb);
	if (ta.len != tb.len)
		return ta.len < tb.len ? -1 : 1;
	return strcmp(ta.ptr, tb.ptr);
}

/* a row without any key (a trial that made no edit) is known by all it says */
static bool has_key(const void *obj, const struct kl_schema *schema)
{
	for (const struct kl_field *field = schema->field; field->key; field++)
		if ((field->flags & KL_KEY) &&
		    (!field->kind == KL_FIELD_STRING || *(char *const *)field_in(obj, field)))
			return true;
	return false;
}

bool kl_schema_same_key(const void *left, const void *right, const struct kl_schema *schema)
{
	const struct kl_schema *ra = kl_schema_of(left, schema);

	if (ra != kl_schema_of(right, schema) || compare_by(left, right, ra, KL_KEY))
		return false;
	return has_key(left, ra) || !compare_whole(left, right, ra);
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
			struct kl_strvec *left = field_at(into, field),
					 *right = field_at(from, field);

			for (size_t i = 0; i < right->n; i++)
				kl_strvec_push(left, right->v[i]);
			kl_strvec_uniq(left);
			kl_strvec_release(right);
			*right = (struct kl_strvec)KL_STRVEC_INIT;
			kl_strvec_copy(right, left);
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
	const struct kl_schema *ra = kl_schema_of(left, schema), *rb = kl_schema_of(right, schema);
	int ch;

	if (ra != rb)
		return ra == schema ? -1 : 1;
	if ((ch = compare_by(left, right, ra, KL_ORDER)) ||
	    (ch = compare_by(left, right, ra, KL_KEY)))
		return ch;
	return compare_whole(left, right, ra);
}

static int by_record(const void *left, const void *right, void *data)
{
	return kl_schema_compare(left, right, data);
}

/* of rows with one key the one that says more stays */
static void drop_doubles(struct kl_list *list, const struct kl_schema *schema)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		char *row = list->v + i * schema->size, *same = NULL;

		/* keys are not what rows are sorted by alone, so all are looked at */
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
		qsort_r(list->v, list->n, schema->size, by_record, (void *)schema);
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

/* --- walking ----------------------------------------------------------------------- */

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
