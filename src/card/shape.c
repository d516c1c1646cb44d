/* SPDX-License-Identifier: Apache-2.0 */
#include "card/shape.h"

#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "card/card.h"

static void *field_at(void *obj, const struct kl_field *field)
{
	return (char *)obj + field->at;
}

static const void *field_in(const void *obj, const struct kl_field *field)
{
	return (const char *)obj + field->at;
}

static bool is_string(const struct kl_field *field)
{
	return field->kind <= KL_FIELD_PREDICATE;
}

static bool is_set(const struct kl_field *field)
{
	return field->kind == KL_FIELD_FACTS || field->kind == KL_FIELD_SLUGS ||
	       field->kind == KL_FIELD_EVENTS || field->kind == KL_FIELD_PLATFORMS ||
	       field->kind == KL_FIELD_LINES || field->kind == KL_FIELD_KIND;
}

static bool is_list(const struct kl_field *field)
{
	return field->kind == KL_FIELD_LIST || field->kind == KL_FIELD_MAP;
}

const struct kl_shape *kl_shape_of(const void *obj, const struct kl_shape *shape)
{
	const struct kl_field *field = shape->other ? shape->other->field : NULL;

	/* the other table begins with the field that makes a row its own */
	return field && *(char *const *)field_in(obj, field) ? shape->other : shape;
}

/* --- life ------------------------------------------------------------------------ */

void kl_shape_clear(void *obj, const struct kl_shape *shape)
{
	for (const struct kl_field *field = shape->field; field->key; field++) {
		if (field->kind == KL_FIELD_INT || field->kind == KL_FIELD_DECIMAL)
			*(int64_t *)field_at(obj, field) = field->min - 1;
		else if (field->kind == KL_FIELD_GROUP || field->kind == KL_FIELD_PART)
			kl_shape_clear(field_at(obj, field), field->sub);
	}
}

static void dims_release(struct kl_card_dims *dims)
{
	for (size_t i = 0; i < dims->n; i++)
		free(dims->v[i].name);
	free(dims->v);
	*dims = (struct kl_card_dims){ 0 };
}

static void list_release(struct kl_list *list, const struct kl_shape *shape)
{
	for (size_t i = 0; i < list->n; i++)
		kl_shape_release(list->v + i * shape->size, shape);
	free(list->v);
	*list = (struct kl_list){ 0 };
}

void kl_shape_release(void *obj, const struct kl_shape *shape)
{
	shape = kl_shape_of(obj, shape);
	for (const struct kl_field *field = shape->field; field->key; field++) {
		if (is_string(field))
			kl_freep(field_at(obj, field));
		else if (is_set(field))
			kl_strvec_release(field_at(obj, field));
		else if (field->kind == KL_FIELD_DIMS)
			dims_release(field_at(obj, field));
		else if (is_list(field))
			list_release(field_at(obj, field), field->sub);
		else if (field->kind == KL_FIELD_GROUP || field->kind == KL_FIELD_PART)
			kl_shape_release(field_at(obj, field), field->sub);
	}
}

static void list_copy(struct kl_list *to, const struct kl_list *from, const struct kl_shape *shape)
{
	*to = (struct kl_list){ 0 };
	for (size_t i = 0; i < from->n; i++) {
		char *row = kl_calloc(1, shape->size);

		kl_shape_copy(row, from->v + i * shape->size, shape);
		kl_shape_push(to, row, shape);
		free(row);
	}
}

/* `to` has the bytes of `from`: what these point to is copied */
static void copy_owned(void *to, const void *from, const struct kl_shape *shape)
{
	shape = kl_shape_of(from, shape);
	for (const struct kl_field *field = shape->field; field->key; field++) {
		if (is_string(field)) {
			char *const *list = field_in(from, field);

			*(char **)field_at(to, field) = *list ? kl_strdup(*list) : NULL;
		} else if (is_set(field)) {
			struct kl_strvec copy = KL_STRVEC_INIT;

			kl_strvec_copy(&copy, field_in(from, field));
			*(struct kl_strvec *)field_at(to, field) = copy;
		} else if (field->kind == KL_FIELD_DIMS) {
			struct kl_card_dims *dims = field_at(to, field);

			*dims = (struct kl_card_dims){ 0 };
			kl_card_dims_copy(dims, field_in(from, field));
		} else if (is_list(field)) {
			list_copy(field_at(to, field), field_in(from, field), field->sub);
		} else if (field->kind == KL_FIELD_GROUP || field->kind == KL_FIELD_PART) {
			copy_owned(field_at(to, field), field_in(from, field), field->sub);
		}
	}
}

void kl_shape_copy(void *to, const void *from, const struct kl_shape *shape)
{
	memcpy(to, from, shape->size);
	copy_owned(to, from, shape);
}

void *kl_shape_push(void *list, const void *row, const struct kl_shape *shape)
{
	struct kl_list *other = list;

	if (other->n + 1 > other->alloc) {
		other->alloc = other->n + 1 + (other->n + 1) / 2 + 2;
		other->v = kl_realloc(other->v, other->alloc, shape->size);
	}
	return memcpy(other->v + other->n++ * shape->size, row, shape->size);
}

/* --- order ------------------------------------------------------------------------ */

static int compare_text(const char *left, const char *right)
{
	if (!left || !right)
		return !!left - !!right;
	return strcmp(left, right);
}

static int compare_dims(const struct kl_card_dims *left, const struct kl_card_dims *right)
{
	for (size_t i = 0; i < left->n && i < right->n; i++) {
		int ch = strcmp(left->v[i].name, right->v[i].name);

		if (!ch)
			ch = (left->v[i].v > right->v[i].v) - (left->v[i].v < right->v[i].v);
		if (ch)
			return ch;
	}
	return (left->n > right->n) - (left->n < right->n);
}

static int compare_field(const void *left, const void *right, const struct kl_field *field)
{
	if (is_string(field))
		return compare_text(*(char *const *)field_in(left, field),
				    *(char *const *)field_in(right, field));
	if (field->kind == KL_FIELD_INT || field->kind == KL_FIELD_DECIMAL) {
		int64_t value = *(const int64_t *)field_in(left, field),
			other = *(const int64_t *)field_in(right, field);

		return (value > other) - (value < other);
	}
	if (field->kind == KL_FIELD_WORD)
		return *(const int *)field_in(left, field) - *(const int *)field_in(right, field);
	if (field->kind == KL_FIELD_DIMS)
		return compare_dims(field_in(left, field), field_in(right, field));
	KL_BUG("'%s' cannot be a key", field->key);
}

/* names before numbers, each in the table's order */
static int compare_by(const void *left, const void *right, const struct kl_shape *shape, int flag)
{
	for (int numbers = 0; numbers <= 1; numbers++) {
		for (const struct kl_field *field = shape->field; field->key; field++) {
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

static int compare_whole(const void *left, const void *right, const struct kl_shape *shape)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *ya = kl_shape_write(left, shape);
	KL_AUTO(kl_yaml_freep) struct kl_yaml *yb = kl_shape_write(right, shape);
	KL_AUTO(kl_buf_release) struct kl_buf ta = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf tb = KL_BUF_INIT;

	kl_yaml_emit(&ta, ya);
	kl_yaml_emit(&tb, yb);
	if (ta.len != tb.len)
		return ta.len < tb.len ? -1 : 1;
	return strcmp(ta.ptr, tb.ptr);
}

/* a row without any key (a trial that made no edit) is known by all it says */
static bool has_key(const void *obj, const struct kl_shape *shape)
{
	for (const struct kl_field *field = shape->field; field->key; field++)
		if ((field->flags & KL_KEY) &&
		    (!is_string(field) || *(char *const *)field_in(obj, field)))
			return true;
	return false;
}

bool kl_shape_same_key(const void *left, const void *right, const struct kl_shape *shape)
{
	const struct kl_shape *ra = kl_shape_of(left, shape);

	if (ra != kl_shape_of(right, shape) || compare_by(left, right, ra, KL_KEY))
		return false;
	return has_key(left, ra) || !compare_whole(left, right, ra);
}

bool kl_shape_equal(const void *left, const void *right, const struct kl_shape *shape)
{
	return kl_shape_of(left, shape) == kl_shape_of(right, shape) &&
	       !compare_whole(left, right, shape);
}

void kl_shape_unite(void *into, void *from, const struct kl_shape *shape)
{
	const struct kl_shape *of = kl_shape_of(into, shape);

	for (const struct kl_field *field = of->field; field->key; field++) {
		if (field->flags & KL_WEAK) {
			bool both = *(const bool *)field_in(into, field) &&
				    *(const bool *)field_in(from, field);

			*(bool *)field_at(into, field) = *(bool *)field_at(from, field) = both;
		} else if (is_set(field) && field->flags & KL_UNION) {
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
		kl_shape_release(into, shape);
		memcpy(into, from, shape->size);
	} else {
		kl_shape_release(from, shape);
	}
}

int kl_shape_compare(const void *left, const void *right, const struct kl_shape *shape)
{
	const struct kl_shape *ra = kl_shape_of(left, shape), *rb = kl_shape_of(right, shape);
	int ch;

	if (ra != rb)
		return ra == shape ? -1 : 1;
	if ((ch = compare_by(left, right, ra, KL_ORDER)) ||
	    (ch = compare_by(left, right, ra, KL_KEY)))
		return ch;
	return compare_whole(left, right, ra);
}

static int by_record(const void *left, const void *right, void *data)
{
	return kl_shape_compare(left, right, data);
}

/* of rows with one key the one that says more stays */
static void drop_doubles(struct kl_list *list, const struct kl_shape *shape)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		char *row = list->v + i * shape->size, *same = NULL;

		/* keys are not what rows are sorted by alone, so all are looked at */
		for (size_t k = n; k-- && !same;)
			if (kl_shape_same_key(list->v + k * shape->size, row, shape))
				same = list->v + k * shape->size;
		if (!same) {
			memmove(list->v + n++ * shape->size, row, shape->size);
			continue;
		}
		kl_shape_unite(same, row, shape);
	}
	list->n = n;
}

static bool is_sorted(const struct kl_list *list, const struct kl_shape *shape)
{
	for (size_t i = 1; i < list->n; i++)
		if (kl_shape_compare(list->v + (i - 1) * shape->size, list->v + i * shape->size,
				     shape) >= 0)
			return false;
	return true;
}

static void list_normalize(struct kl_list *list, const struct kl_shape *shape)
{
	for (size_t i = 0; i < list->n; i++)
		kl_shape_normalize(list->v + i * shape->size, shape);
	drop_doubles(list, shape);
	if (!is_sorted(list, shape))
		qsort_r(list->v, list->n, shape->size, by_record, (void *)shape);
}

void kl_shape_normalize(void *obj, const struct kl_shape *shape)
{
	shape = kl_shape_of(obj, shape);
	for (const struct kl_field *field = shape->field; field->key; field++) {
		if (is_set(field))
			kl_strvec_uniq(field_at(obj, field));
		else if (is_list(field))
			list_normalize(field_at(obj, field), field->sub);
		else if (field->kind == KL_FIELD_GROUP || field->kind == KL_FIELD_PART)
			kl_shape_normalize(field_at(obj, field), field->sub);
	}
}

/* --- walking ----------------------------------------------------------------------- */

void kl_shape_each(const void *obj, const struct kl_shape *shape, enum kl_field_kind kind,
		   void (*fn)(const char *s, void *payload), void *payload)
{
	shape = kl_shape_of(obj, shape);
	for (const struct kl_field *field = shape->field; field->key; field++) {
		if (field->kind == kind && is_string(field) &&
		    *(char *const *)field_in(obj, field)) {
			fn(*(char *const *)field_in(obj, field), payload);
		} else if (field->kind == kind && is_set(field)) {
			const struct kl_strvec *set = field_in(obj, field);

			for (size_t i = 0; i < set->n; i++)
				fn(set->v[i], payload);
		} else if (is_list(field)) {
			const struct kl_list *list = field_in(obj, field);

			for (size_t i = 0; i < list->n; i++)
				kl_shape_each(list->v + i * field->sub->size, field->sub, kind, fn,
					      payload);
		} else if (field->kind == KL_FIELD_GROUP || field->kind == KL_FIELD_PART) {
			kl_shape_each(field_in(obj, field), field->sub, kind, fn, payload);
		}
	}
}
