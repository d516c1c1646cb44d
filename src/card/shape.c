/* SPDX-License-Identifier: Apache-2.0 */
#include "card/shape.h"

#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "card/card.h"

static void *field_at(void *obj, const struct kl_field *f)
{
	return (char *)obj + f->at;
}

static const void *field_in(const void *obj, const struct kl_field *f)
{
	return (const char *)obj + f->at;
}

static bool is_string(const struct kl_field *f)
{
	return f->kind <= KL_FIELD_PREDICATE;
}

static bool is_set(const struct kl_field *f)
{
	return f->kind == KL_FIELD_FACTS || f->kind == KL_FIELD_SLUGS ||
	       f->kind == KL_FIELD_EVENTS || f->kind == KL_FIELD_PLATFORMS ||
	       f->kind == KL_FIELD_LINES || f->kind == KL_FIELD_KIND;
}

static bool is_list(const struct kl_field *f)
{
	return f->kind == KL_FIELD_LIST || f->kind == KL_FIELD_MAP;
}

const struct kl_shape *kl_shape_of(const void *obj, const struct kl_shape *r)
{
	const struct kl_field *f = r->other ? r->other->field : NULL;

	/* the other table begins with the field that makes a row its own */
	return f && *(char *const *)field_in(obj, f) ? r->other : r;
}

/* --- life ------------------------------------------------------------------------ */

void kl_shape_clear(void *obj, const struct kl_shape *r)
{
	for (const struct kl_field *f = r->field; f->key; f++) {
		if (f->kind == KL_FIELD_INT || f->kind == KL_FIELD_DECIMAL)
			*(int64_t *)field_at(obj, f) = f->min - 1;
		else if (f->kind == KL_FIELD_GROUP || f->kind == KL_FIELD_PART)
			kl_shape_clear(field_at(obj, f), f->sub);
	}
}

static void dims_release(struct kl_card_dims *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->v[i].name);
	free(d->v);
	*d = (struct kl_card_dims){ 0 };
}

static void list_release(struct kl_list *l, const struct kl_shape *r)
{
	for (size_t i = 0; i < l->n; i++)
		kl_shape_release(l->v + i * r->size, r);
	free(l->v);
	*l = (struct kl_list){ 0 };
}

void kl_shape_release(void *obj, const struct kl_shape *r)
{
	r = kl_shape_of(obj, r);
	for (const struct kl_field *f = r->field; f->key; f++) {
		if (is_string(f))
			kl_freep(field_at(obj, f));
		else if (is_set(f))
			kl_strvec_release(field_at(obj, f));
		else if (f->kind == KL_FIELD_DIMS)
			dims_release(field_at(obj, f));
		else if (is_list(f))
			list_release(field_at(obj, f), f->sub);
		else if (f->kind == KL_FIELD_GROUP || f->kind == KL_FIELD_PART)
			kl_shape_release(field_at(obj, f), f->sub);
	}
}

static void list_copy(struct kl_list *to, const struct kl_list *from, const struct kl_shape *r)
{
	*to = (struct kl_list){ 0 };
	for (size_t i = 0; i < from->n; i++) {
		char *row = kl_calloc(1, r->size);

		kl_shape_copy(row, from->v + i * r->size, r);
		kl_shape_push(to, row, r);
		free(row);
	}
}

/* `to` has the bytes of `from`: what these point to is copied */
static void copy_owned(void *to, const void *from, const struct kl_shape *r)
{
	r = kl_shape_of(from, r);
	for (const struct kl_field *f = r->field; f->key; f++) {
		if (is_string(f)) {
			char *const *s = field_in(from, f);

			*(char **)field_at(to, f) = *s ? kl_strdup(*s) : NULL;
		} else if (is_set(f)) {
			struct kl_strvec copy = KL_STRVEC_INIT;

			kl_strvec_copy(&copy, field_in(from, f));
			*(struct kl_strvec *)field_at(to, f) = copy;
		} else if (f->kind == KL_FIELD_DIMS) {
			struct kl_card_dims *d = field_at(to, f);

			*d = (struct kl_card_dims){ 0 };
			kl_card_dims_copy(d, field_in(from, f));
		} else if (is_list(f)) {
			list_copy(field_at(to, f), field_in(from, f), f->sub);
		} else if (f->kind == KL_FIELD_GROUP || f->kind == KL_FIELD_PART) {
			copy_owned(field_at(to, f), field_in(from, f), f->sub);
		}
	}
}

void kl_shape_copy(void *to, const void *from, const struct kl_shape *r)
{
	memcpy(to, from, r->size);
	copy_owned(to, from, r);
}

void *kl_shape_push(void *list, const void *row, const struct kl_shape *r)
{
	struct kl_list *l = list;

	if (l->n + 1 > l->alloc) {
		l->alloc = l->n + 1 + (l->n + 1) / 2 + 2;
		l->v = kl_realloc(l->v, l->alloc, r->size);
	}
	return memcpy(l->v + l->n++ * r->size, row, r->size);
}

/* --- order ------------------------------------------------------------------------ */

static int compare_text(const char *a, const char *b)
{
	if (!a || !b)
		return !!a - !!b;
	return strcmp(a, b);
}

static int compare_dims(const struct kl_card_dims *a, const struct kl_card_dims *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++) {
		int c = strcmp(a->v[i].name, b->v[i].name);

		if (!c)
			c = (a->v[i].v > b->v[i].v) - (a->v[i].v < b->v[i].v);
		if (c)
			return c;
	}
	return (a->n > b->n) - (a->n < b->n);
}

static int compare_field(const void *a, const void *b, const struct kl_field *f)
{
	if (is_string(f))
		return compare_text(*(char *const *)field_in(a, f), *(char *const *)field_in(b, f));
	if (f->kind == KL_FIELD_INT || f->kind == KL_FIELD_DECIMAL) {
		int64_t x = *(const int64_t *)field_in(a, f), y = *(const int64_t *)field_in(b, f);

		return (x > y) - (x < y);
	}
	if (f->kind == KL_FIELD_WORD)
		return *(const int *)field_in(a, f) - *(const int *)field_in(b, f);
	if (f->kind == KL_FIELD_DIMS)
		return compare_dims(field_in(a, f), field_in(b, f));
	KL_BUG("'%s' cannot be a key", f->key);
}

/* names before numbers, each in the table's order */
static int compare_by(const void *a, const void *b, const struct kl_shape *r, int flag)
{
	for (int numbers = 0; numbers <= 1; numbers++) {
		for (const struct kl_field *f = r->field; f->key; f++) {
			bool number = f->kind == KL_FIELD_INT || f->kind == KL_FIELD_DECIMAL;
			int c = f->flags & flag && number == numbers ? compare_field(a, b, f) : 0;

			if (c)
				return c;
		}
	}
	return 0;
}

static int compare_whole(const void *a, const void *b, const struct kl_shape *r)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *ya = kl_shape_write(a, r);
	KL_AUTO(kl_yaml_freep) struct kl_yaml *yb = kl_shape_write(b, r);
	KL_AUTO(kl_buf_release) struct kl_buf ta = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf tb = KL_BUF_INIT;

	kl_yaml_emit(&ta, ya);
	kl_yaml_emit(&tb, yb);
	if (ta.len != tb.len)
		return ta.len < tb.len ? -1 : 1;
	return strcmp(ta.ptr, tb.ptr);
}

/* a row without any key (a trial that made no edit) is known by all it says */
static bool has_key(const void *obj, const struct kl_shape *r)
{
	for (const struct kl_field *f = r->field; f->key; f++)
		if ((f->flags & KL_KEY) && (!is_string(f) || *(char *const *)field_in(obj, f)))
			return true;
	return false;
}

bool kl_shape_same_key(const void *a, const void *b, const struct kl_shape *r)
{
	const struct kl_shape *ra = kl_shape_of(a, r);

	if (ra != kl_shape_of(b, r) || compare_by(a, b, ra, KL_KEY))
		return false;
	return has_key(a, ra) || !compare_whole(a, b, ra);
}

bool kl_shape_equal(const void *a, const void *b, const struct kl_shape *r)
{
	return kl_shape_of(a, r) == kl_shape_of(b, r) && !compare_whole(a, b, r);
}

void kl_shape_unite(void *into, void *from, const struct kl_shape *r)
{
	const struct kl_shape *of = kl_shape_of(into, r);

	for (const struct kl_field *f = of->field; f->key; f++) {
		if (f->flags & KL_WEAK) {
			bool both = *(const bool *)field_in(into, f) &&
				    *(const bool *)field_in(from, f);

			*(bool *)field_at(into, f) = *(bool *)field_at(from, f) = both;
		} else if (is_set(f) && f->flags & KL_UNION) {
			struct kl_strvec *a = field_at(into, f), *b = field_at(from, f);

			for (size_t i = 0; i < b->n; i++)
				kl_strvec_push(a, b->v[i]);
			kl_strvec_uniq(a);
			kl_strvec_release(b);
			*b = (struct kl_strvec)KL_STRVEC_INIT;
			kl_strvec_copy(b, a);
		}
	}
	if (compare_whole(from, into, of) > 0) {
		kl_shape_release(into, r);
		memcpy(into, from, r->size);
	} else {
		kl_shape_release(from, r);
	}
}

int kl_shape_compare(const void *a, const void *b, const struct kl_shape *r)
{
	const struct kl_shape *ra = kl_shape_of(a, r), *rb = kl_shape_of(b, r);
	int c;

	if (ra != rb)
		return ra == r ? -1 : 1;
	if ((c = compare_by(a, b, ra, KL_ORDER)) || (c = compare_by(a, b, ra, KL_KEY)))
		return c;
	return compare_whole(a, b, ra);
}

static int by_record(const void *a, const void *b, void *r)
{
	return kl_shape_compare(a, b, r);
}

/* of rows with one key the one that says more stays */
static void drop_doubles(struct kl_list *l, const struct kl_shape *r)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		char *row = l->v + i * r->size, *same = NULL;

		/* keys are not what rows are sorted by alone, so all are looked at */
		for (size_t k = n; k-- && !same;)
			if (kl_shape_same_key(l->v + k * r->size, row, r))
				same = l->v + k * r->size;
		if (!same) {
			memmove(l->v + n++ * r->size, row, r->size);
			continue;
		}
		kl_shape_unite(same, row, r);
	}
	l->n = n;
}

static bool is_sorted(const struct kl_list *l, const struct kl_shape *r)
{
	for (size_t i = 1; i < l->n; i++)
		if (kl_shape_compare(l->v + (i - 1) * r->size, l->v + i * r->size, r) >= 0)
			return false;
	return true;
}

static void list_normalize(struct kl_list *l, const struct kl_shape *r)
{
	for (size_t i = 0; i < l->n; i++)
		kl_shape_normalize(l->v + i * r->size, r);
	drop_doubles(l, r);
	if (!is_sorted(l, r))
		qsort_r(l->v, l->n, r->size, by_record, (void *)r);
}

void kl_shape_normalize(void *obj, const struct kl_shape *r)
{
	r = kl_shape_of(obj, r);
	for (const struct kl_field *f = r->field; f->key; f++) {
		if (is_set(f))
			kl_strvec_uniq(field_at(obj, f));
		else if (is_list(f))
			list_normalize(field_at(obj, f), f->sub);
		else if (f->kind == KL_FIELD_GROUP || f->kind == KL_FIELD_PART)
			kl_shape_normalize(field_at(obj, f), f->sub);
	}
}

/* --- walking ----------------------------------------------------------------------- */

void kl_shape_each(const void *obj, const struct kl_shape *r, enum kl_field_kind kind,
		   void (*fn)(const char *s, void *payload), void *payload)
{
	r = kl_shape_of(obj, r);
	for (const struct kl_field *f = r->field; f->key; f++) {
		if (f->kind == kind && is_string(f) && *(char *const *)field_in(obj, f)) {
			fn(*(char *const *)field_in(obj, f), payload);
		} else if (f->kind == kind && is_set(f)) {
			const struct kl_strvec *set = field_in(obj, f);

			for (size_t i = 0; i < set->n; i++)
				fn(set->v[i], payload);
		} else if (is_list(f)) {
			const struct kl_list *l = field_in(obj, f);

			for (size_t i = 0; i < l->n; i++)
				kl_shape_each(l->v + i * f->sub->size, f->sub, kind, fn, payload);
		} else if (f->kind == KL_FIELD_GROUP || f->kind == KL_FIELD_PART) {
			kl_shape_each(field_in(obj, f), f->sub, kind, fn, payload);
		}
	}
}
