/* SPDX-License-Identifier: Apache-2.0 */
/* shape_write - writes a structure as YAML by its table */
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "card/card.h"
#include "card/shape.h"

static struct kl_yaml *write_number(int64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)v);
	return kl_yaml_new_plain(text);
}

void kl_card_decimal(struct kl_buf *out, int64_t millionths)
{
	uint64_t u = millionths < 0 ? -(uint64_t)millionths : (uint64_t)millionths;

	kl_buf_addf(out, "%s%llu.%06llu", millionths < 0 ? "-" : "",
		    (unsigned long long)(u / 1000000), (unsigned long long)(u % 1000000));
	while (out->ptr[out->len - 1] == '0')
		out->ptr[--out->len] = '\0';
	if (out->ptr[out->len - 1] == '.')
		out->ptr[--out->len] = '\0';
}

static struct kl_yaml *write_decimal(int64_t v)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	kl_card_decimal(&b, v);
	return kl_yaml_new_plain(b.ptr);
}

static struct kl_yaml *write_set(const struct kl_strvec *v)
{
	struct kl_yaml *y = kl_yaml_new_seq();

	y->flow = 1;
	for (size_t i = 0; i < v->n; i++)
		kl_yaml_push(y, kl_yaml_new_text(v->v[i]));
	return y;
}

static struct kl_yaml *write_dims(const struct kl_card_dims *d)
{
	struct kl_yaml *y = kl_yaml_new_map();

	y->flow = 1;
	for (size_t i = 0; i < d->n; i++)
		kl_yaml_put(y, d->v[i].name, write_number(d->v[i].v));
	return y;
}

static struct kl_yaml *write_list(const struct kl_list *l, const struct kl_shape *r)
{
	struct kl_yaml *y = kl_yaml_new_seq();

	for (size_t i = 0; i < l->n; i++)
		kl_yaml_push(y, kl_shape_write(l->v + i * r->size, r));
	return y;
}

/* by the first field, which stands as the key and not in the row */
static struct kl_yaml *write_map(const struct kl_list *l, const struct kl_shape *r)
{
	struct kl_yaml *y = kl_yaml_new_map();
	struct kl_shape rest = *r;

	rest.field++;
	for (size_t i = 0; i < l->n; i++) {
		const char *row = l->v + i * r->size;

		kl_yaml_put(y, *(char *const *)(row + r->field->at), kl_shape_write(row, &rest));
	}
	return y;
}

static struct kl_yaml *write_kind(const struct kl_strvec *enables)
{
	struct kl_yaml *y;

	if (!enables->n)
		return kl_yaml_new_text("win");
	y = kl_yaml_new_map();
	kl_yaml_put(y, "enabler", write_set(enables));
	return y;
}

/* NULL: absent */
static struct kl_yaml *write_field(const void *at, const struct kl_field *f)
{
	const struct kl_strvec *v = at;
	const struct kl_list *l = at;
	const struct kl_card_dims *d = at;

	switch (f->kind) {
	case KL_FIELD_INT:
		return *(const int64_t *)at < f->min ? NULL : write_number(*(const int64_t *)at);
	case KL_FIELD_DECIMAL:
		return *(const int64_t *)at < f->min ? NULL : write_decimal(*(const int64_t *)at);
	case KL_FIELD_BOOL:
		return !*(const bool *)at && !(f->flags & KL_NEEDED) ?
			       NULL :
			       kl_yaml_new_plain(*(const bool *)at ? "true" : "false");
	case KL_FIELD_WORD:
		return kl_yaml_new_text(f->words[*(const int *)at]);
	case KL_FIELD_FACTS:
	case KL_FIELD_SLUGS:
	case KL_FIELD_EVENTS:
	case KL_FIELD_PLATFORMS:
	case KL_FIELD_LINES:
		return v->n || f->flags & KL_NEEDED ? write_set(v) : NULL;
	case KL_FIELD_DIMS:
		return d->n || f->flags & KL_NEEDED ? write_dims(d) : NULL;
	case KL_FIELD_LIST:
		return l->n || f->flags & KL_NEEDED ? write_list(l, f->sub) : NULL;
	case KL_FIELD_MAP:
		return l->n || f->flags & KL_NEEDED ? write_map(l, f->sub) : NULL;
	case KL_FIELD_GROUP:
		return kl_shape_write(at, f->sub);
	case KL_FIELD_PART:
		return *(const bool *)at ? kl_shape_write(at, f->sub) : NULL;
	case KL_FIELD_KIND:
		return write_kind(v);
	default:
		return *(char *const *)at ? kl_yaml_new_text(*(char *const *)at) : NULL;
	}
}

struct kl_yaml *kl_shape_write(const void *obj, const struct kl_shape *r)
{
	struct kl_yaml *y = kl_yaml_new_map();

	r = kl_shape_of(obj, r);
	for (const struct kl_field *f = r->field; f->key; f++) {
		struct kl_yaml *v = write_field((const char *)obj + f->at, f);

		if (!v && f->flags & KL_NULL)
			v = kl_yaml_new_plain("null");
		if (v)
			kl_yaml_put(y, f->key, v);
	}
	return y;
}
