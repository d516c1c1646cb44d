/* SPDX-License-Identifier: Apache-2.0 */
#include "card/card_merge.h"

#include <string.h>

#include "base/error.h"
#include "card/shape.h"
#include "event/event.h"

struct merger {
	struct kl_strvec *both; /* fields that both sides changed, differently */
	const char *where;      /* "carriers" */
	const char *row;        /* key of a row there, or NULL */
};

/* three versions of one thing, of which `base` may be missing */
struct three {
	const void *base, *ours, *theirs;
};

static const void *field_in(const void *obj, const struct kl_field *f)
{
	return obj ? (const char *)obj + f->at : NULL;
}

static struct three three_inside(struct three v, const struct kl_field *f)
{
	return (struct three){ field_in(v.base, f), field_in(v.ours, f), field_in(v.theirs, f) };
}

static void note_conflict(struct merger *m, const struct kl_field *f)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s%s%s%s%s", m->where ? m->where : "",
						   m->row ? " " : "", m->row ? m->row : "",
						   m->where ? "." : "", f->key);

	if (m->both && !kl_strvec_has(m->both, name))
		kl_strvec_push(m->both, name);
}

/* --- single values --------------------------------------------------------------------- */

/*
 * Which side has the word? What is new wins over what was; of two that are new the greater,
 * so that everybody's merge ends the same. Absent is less than anything, and no change of meaning.
 */
static bool takes_theirs(struct merger *m, const struct kl_field *f, int order, bool ours_is_old,
			 bool theirs_is_old, bool one_is_absent)
{
	if (!order || theirs_is_old)
		return false;
	if (ours_is_old)
		return true;
	if (!one_is_absent)
		note_conflict(m, f);
	return order < 0;
}

static int compare_texts(const char *a, const char *b)
{
	if (!a || !b)
		return !!a - !!b;
	return strcmp(a, b);
}

static void merge_string(char **out, struct merger *m, const struct kl_field *f, struct three v)
{
	const char *base = v.base ? *(char *const *)v.base : NULL;
	const char *ours = *(char *const *)v.ours, *theirs = *(char *const *)v.theirs;
	bool theirs_wins = takes_theirs(m, f, compare_texts(ours, theirs),
					v.base && !compare_texts(base, ours),
					v.base && !compare_texts(base, theirs), !ours || !theirs);
	const char *s = theirs_wins ? theirs : ours;

	*out = s ? kl_strdup(s) : NULL;
}

static int64_t field_number(const void *p, const struct kl_field *f)
{
	if (f->kind == KL_FIELD_BOOL)
		return *(const bool *)p;
	if (f->kind == KL_FIELD_WORD)
		return *(const int *)p;
	return *(const int64_t *)p;
}

static const void *merge_number(struct merger *m, const struct kl_field *f, struct three v)
{
	int64_t base = v.base ? field_number(v.base, f) : 0, ours = field_number(v.ours, f),
		theirs = field_number(v.theirs, f);

	return takes_theirs(m, f, (ours > theirs) - (ours < theirs), v.base && base == ours,
			    v.base && base == theirs, false) ?
		       v.theirs :
		       v.ours;
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

static void merge_dims(struct kl_card_dims *out, struct merger *m, const struct kl_field *f,
		       struct three v)
{
	bool theirs = takes_theirs(m, f, compare_dims(v.ours, v.theirs),
				   v.base && !compare_dims(v.base, v.ours),
				   v.base && !compare_dims(v.base, v.theirs), false);

	*out = (struct kl_card_dims){ 0 };
	kl_card_dims_copy(out, theirs ? v.theirs : v.ours);
}

/* --- sets --------------------------------------------------------------------------------- */

/* what a side has is kept unless the other side took it out */
static void merge_set(struct kl_strvec *out, bool keep_all, struct three v)
{
	const struct kl_strvec *base = v.base, *side[] = { v.ours, v.theirs };

	*out = (struct kl_strvec)KL_STRVEC_INIT;
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < side[i]->n; k++) {
			const char *s = side[i]->v[k];

			if (kl_strvec_has(out, s))
				continue;
			if (keep_all || kl_strvec_has(side[!i], s) || !base ||
			    !kl_strvec_has(base, s))
				kl_strvec_push(out, s);
		}
	kl_strvec_uniq(out);
}

/* --- lists of rows -------------------------------------------------------------------------- */

static void merge_record(void *out, struct merger *m, const struct kl_shape *r, struct three v);

static const void *same_row(const struct kl_list *l, const void *row, const struct kl_shape *r)
{
	for (size_t i = 0; l && i < l->n; i++)
		if (kl_shape_same_key(l->v + i * r->size, row, r))
			return l->v + i * r->size;
	return NULL;
}

/* by its first string, if it has one */
static const char *row_name(const void *row, const struct kl_shape *r)
{
	return r->field->kind <= KL_FIELD_PREDICATE ? *(char *const *)field_in(row, r->field) :
						      NULL;
}

static void merge_rows(struct kl_list *out, struct merger *m, const struct kl_field *f,
		       struct three row)
{
	const struct kl_shape *r = f->sub;
	KL_AUTO(kl_freep) char *made = kl_calloc(1, r->size);

	if (kl_shape_equal(row.ours, row.theirs, r)) {
		kl_shape_copy(made, row.ours, r);
	} else if (f->flags & KL_UNION) {
		KL_AUTO(kl_freep) char *other = kl_calloc(1, r->size);

		kl_shape_copy(made, row.ours, r);
		kl_shape_copy(other, row.theirs, r);
		kl_shape_unite(made, other, r);
	} else {
		struct merger below = { m->both, f->key, row_name(row.ours, r) };

		merge_record(made, &below, r, row);
	}
	kl_shape_push(out, made, r);
}

static void merge_list(struct kl_list *out, struct merger *m, const struct kl_field *f,
		       struct three v)
{
	const struct kl_list *base = v.base, *side[] = { v.ours, v.theirs };
	const struct kl_shape *r = f->sub;

	*out = (struct kl_list){ 0 };
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < side[i]->n; k++) {
			const void *row = side[i]->v + k * r->size;
			const void *other = same_row(side[!i], row, r),
				   *old = same_row(base, row, r);
			struct three rows = { old, row, other };

			if (other && i)
				continue; /* merged when ours was looked at */
			if (!other && !(f->flags & KL_UNION) && old && kl_shape_equal(old, row, r))
				continue; /* taken out by the other side */
			if (!other)
				rows.theirs = row;
			merge_rows(out, m, f, rows);
		}
}

/* --- records ---------------------------------------------------------------------------------- */

static void merge_field(void *out, struct merger *m, const struct kl_field *f, struct three v)
{
	switch (f->kind) {
	case KL_FIELD_INT:
	case KL_FIELD_DECIMAL:
		*(int64_t *)out = *(const int64_t *)merge_number(m, f, v);
		break;
	case KL_FIELD_BOOL:
		*(bool *)out = *(const bool *)merge_number(m, f, v);
		break;
	case KL_FIELD_WORD:
		*(int *)out = *(const int *)merge_number(m, f, v);
		break;
	case KL_FIELD_FACTS:
	case KL_FIELD_SLUGS:
	case KL_FIELD_EVENTS:
	case KL_FIELD_PLATFORMS:
	case KL_FIELD_LINES:
	case KL_FIELD_KIND:
		merge_set(out, f->flags & KL_UNION, v);
		break;
	case KL_FIELD_DIMS:
		merge_dims(out, m, f, v);
		break;
	case KL_FIELD_LIST:
	case KL_FIELD_MAP:
		merge_list(out, m, f, v);
		break;
	case KL_FIELD_GROUP:
		merge_record(out, m, f->sub, v);
		break;
	case KL_FIELD_PART:
		KL_BUG("'%s' is merged as a whole row", f->key);
	default:
		merge_string(out, m, f, v);
	}
}

static void merge_record(void *out, struct merger *m, const struct kl_shape *r, struct three v)
{
	for (const struct kl_field *f = r->field; f->key; f++) {
		struct merger below = *m;

		if (f->kind == KL_FIELD_GROUP && !m->where)
			below.where = f->key;
		merge_field((char *)out + f->at, &below, f, three_inside(v, f));
	}
}

/* --- what merging may have torn --------------------------------------------------------------- */

/* a precondition that one side moved to the other list is `sound`; a state follows its witness */
static void mend_card(struct kl_card *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->useful.n; i++) {
		bool twice = false;

		for (size_t k = 0; k < c->sound.n; k++)
			twice |= !strcmp(c->sound.v[k].id, c->useful.v[i].id);
		if (twice)
			kl_card_pre_release(&c->useful.v[i]);
		else
			c->useful.v[n++] = c->useful.v[i];
	}
	c->useful.n = n;
	for (int list = 0; list < 2; list++)
		for (size_t i = 0; i < (list ? c->useful.n : c->sound.n); i++) {
			struct kl_card_pre *p = list ? &c->useful.v[i] : &c->sound.v[i];

			p->state = p->by ? KL_PRE_WITNESSED : KL_PRE_ASSUMED;
			if (!p->by)
				kl_freep(&p->class_);
		}
	for (size_t i = 0; i < c->risk.n; i++)
		if (c->risk.v[i].violates && !kl_card_has_pre(c, c->risk.v[i].violates))
			kl_freep(&c->risk.v[i].violates);
}

int kl_card_merge(struct kl_card **out, struct kl_strvec *both, const struct kl_card *base,
		  const struct kl_card *ours, const struct kl_card *theirs)
{
	struct merger m = { .both = both };
	struct kl_card *c;

	if (strcmp(ours->id, theirs->id))
		return kl_error(KL_EINVALID, "'%s' and '%s' are two cards", ours->id, theirs->id);
	c = kl_card_new();
	merge_record(c, &m, &kl_shape_card, (struct three){ base, ours, theirs });
	mend_card(c);
	kl_card_normalize(c);
	*out = c;
	if (both) { /* computed, not said */
		size_t n = 0;

		for (size_t i = 0; i < both->n; i++) {
			if (strcmp(both->v[i], "status"))
				both->v[n++] = both->v[i];
			else
				free(both->v[i]);
		}
		both->n = n;
	}
	return 0;
}

/* two copies of one event differ in their signature alone: a signed one stays */
static int merge_events(struct kl_buf *out, const struct kl_buf *ours, const struct kl_buf *theirs)
{
	KL_AUTO(kl_event_freep) struct kl_event *a = NULL, *b = NULL;
	bool take_b;
	int err;

	if ((err = kl_event_parse(&a, ours->ptr, strcspn(ours->ptr, "\n"))) < 0 ||
	    (err = kl_event_parse(&b, theirs->ptr, strcspn(theirs->ptr, "\n"))) < 0)
		return err;
	if (strcmp(a->id, b->id))
		return kl_error(KL_EINVALID, "two events, not two copies of one");
	take_b = !*a->sig == !*b->sig ? strcmp(ours->ptr, theirs->ptr) < 0 : *b->sig;
	kl_buf_add(out, (take_b ? theirs : ours)->ptr, (take_b ? theirs : ours)->len);
	return 0;
}

int kl_card_merge_text(struct kl_buf *out, const char *name, const struct kl_buf *base,
		       const struct kl_buf *ours, const struct kl_buf *theirs)
{
	KL_AUTO(kl_card_freep) struct kl_card *b = NULL, *o = NULL, *t = NULL, *merged = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec both = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	int err;

	if (ours->ptr[0] == '{')
		return merge_events(out, ours, theirs);
	if (base && base->len && kl_card_parse(&b, name, base->ptr, base->len) < 0)
		kl_error_clear(); /* an old version that nobody can read is none */
	if ((err = kl_card_parse(&o, name, ours->ptr, ours->len)) < 0)
		return kl_error_in(err, "ours");
	if ((err = kl_card_parse(&t, name, theirs->ptr, theirs->len)) < 0)
		return kl_error_in(err, "theirs");
	if ((err = kl_card_merge(&merged, &both, b, o, t)) < 0)
		return err;
	kl_card_write(out, merged);
	for (size_t i = 0; i < both.n; i++)
		kl_buf_addf(&list, "%s%s", i ? ", " : "", both.v[i]);
	return both.n ? kl_error(KL_ENO, "%s: both sides changed %s", merged->id, list.ptr) : 0;
}
