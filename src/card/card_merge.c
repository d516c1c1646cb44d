/* SPDX-License-Identifier: Apache-2.0 */
#include "card/card_merge.h"

#include <string.h>

#include "base/error.h"
#include "card/card_types.h"
#include "event/event.h"

struct merger {
	struct kl_strvec *both; /* output: names of the fields that the sides changed differently */
	/*
	 * name of the list or group that is being merged, such as "carriers"; NULL for the card
	 * itself
	 */
	const char *where;
	const char *row; /* name of the row that is being merged, or NULL */
};

/* The three versions of one value; `base` is NULL if there is no common version. */
struct three {
	const void *base, *ours, *theirs;
};

static const void *field_in(const void *obj, const struct kl_field *field)
{
	return obj ? (const char *)obj + field->at : NULL;
}

static struct three three_inside(struct three three, const struct kl_field *field)
{
	return (struct three){ field_in(three.base, field), field_in(three.ours, field),
			       field_in(three.theirs, field) };
}

static void note_conflict(struct merger *merger, const struct kl_field *field)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s%s%s%s%s", merger->where ? merger->where : "",
						   merger->row ? " " : "",
						   merger->row ? merger->row : "",
						   merger->where ? "." : "", field->key);

	if (merger->both && !kl_strvec_has(merger->both, name))
		kl_strvec_push(merger->both, name);
}

/* --- merging single values -------------------------------------------------------------------- */

/*
 * Return true if the value of `theirs` wins. A changed value wins over an unchanged one. If both
 * sides changed the value, the greater one wins, so that both sides of a merge get the same result.
 * An absent value is less than any other value. If one side has no value, no conflict is reported.
 */
static bool takes_theirs(struct merger *merger, const struct kl_field *field, int order,
			 bool ours_is_old, bool theirs_is_old, bool one_is_absent)
{
	if (!order || theirs_is_old)
		return false;
	if (ours_is_old)
		return true;
	if (!one_is_absent)
		note_conflict(merger, field);
	return order < 0;
}

static int compare_texts(const char *left, const char *right)
{
	if (!left || !right)
		return !!left - !!right;
	return strcmp(left, right);
}

static void merge_string(char **out, struct merger *merger, const struct kl_field *field,
			 struct three three)
{
	const char *base = three.base ? *(char *const *)three.base : NULL;
	const char *ours = *(char *const *)three.ours, *theirs = *(char *const *)three.theirs;
	bool theirs_wins = takes_theirs(merger, field, compare_texts(ours, theirs),
					three.base && !compare_texts(base, ours),
					three.base && !compare_texts(base, theirs),
					!ours || !theirs);
	const char *text = theirs_wins ? theirs : ours;

	*out = text ? kl_strdup(text) : NULL;
}

static int64_t field_number(const void *data, const struct kl_field *field)
{
	if (field->kind == KL_FIELD_BOOL)
		return *(const bool *)data;
	if (field->kind == KL_FIELD_WORD)
		return *(const int *)data;
	return *(const int64_t *)data;
}

static const void *merge_number(struct merger *merger, const struct kl_field *field,
				struct three three)
{
	int64_t base = three.base ? field_number(three.base, field) : 0,
		ours = field_number(three.ours, field), theirs = field_number(three.theirs, field);

	return takes_theirs(merger, field, (ours > theirs) - (ours < theirs),
			    three.base && base == ours, three.base && base == theirs, false) ?
		       three.theirs :
		       three.ours;
}

static void merge_dims(struct kl_card_dims *out, struct merger *merger,
		       const struct kl_field *field, struct three three)
{
	bool theirs = takes_theirs(merger, field, kl_card_dims_compare(three.ours, three.theirs),
				   three.base && !kl_card_dims_compare(three.base, three.ours),
				   three.base && !kl_card_dims_compare(three.base, three.theirs),
				   false);

	*out = (struct kl_card_dims){ 0 };
	kl_card_dims_copy(out, theirs ? three.theirs : three.ours);
}

/* --- merging sets ----------------------------------------------------------------------------- */

/* Keep the entries of both sides. Unless `keep_all`, drop the entries that one side removed. */
static void merge_set(struct kl_strvec *out, bool keep_all, struct three three)
{
	const struct kl_strvec *base = three.base, *side[] = { three.ours, three.theirs };

	*out = (struct kl_strvec)KL_STRVEC_INIT;
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < side[i]->n; k++) {
			const char *text = side[i]->v[k];

			if (kl_strvec_has(out, text))
				continue;
			if (keep_all || kl_strvec_has(side[!i], text) || !base ||
			    !kl_strvec_has(base, text))
				kl_strvec_push(out, text);
		}
	kl_strvec_uniq(out);
}

/* --- merging lists of rows -------------------------------------------------------------------- */

static void merge_record(void *out, struct merger *merger, const struct kl_schema *schema,
			 struct three three);

static const void *same_row(const struct kl_list *list, const void *row,
			    const struct kl_schema *schema)
{
	for (size_t i = 0; list && i < list->n; i++)
		if (kl_schema_same_key(list->v + i * schema->size, row, schema))
			return list->v + i * schema->size;
	return NULL;
}

/* Return the row's name: its first field, if that is a string; otherwise NULL. */
static const char *row_name(const void *row, const struct kl_schema *schema)
{
	return schema->field->kind == KL_FIELD_STRING ?
		       *(char *const *)field_in(row, schema->field) :
		       NULL;
}

static void merge_rows(struct kl_list *out, struct merger *merger, const struct kl_field *field,
		       struct three row)
{
	const struct kl_schema *schema = field->sub;
	KL_AUTO(kl_freep) char *made = kl_calloc(1, schema->size);

	if (kl_schema_equal(row.ours, row.theirs, schema)) {
		kl_schema_copy(made, row.ours, schema);
	} else if (field->flags & KL_UNION) {
		KL_AUTO(kl_freep) char *theirs = kl_calloc(1, schema->size);

		kl_schema_copy(made, row.ours, schema);
		kl_schema_copy(theirs, row.theirs, schema);
		kl_schema_unite(made, theirs, schema);
	} else {
		struct merger below = { merger->both, field->key, row_name(row.ours, schema) };

		merge_record(made, &below, schema, row);
	}
	kl_schema_push(out, made, schema);
}

static void merge_list(struct kl_list *out, struct merger *merger, const struct kl_field *field,
		       struct three three)
{
	const struct kl_list *base = three.base, *side[] = { three.ours, three.theirs };
	const struct kl_schema *schema = field->sub;

	*out = (struct kl_list){ 0 };
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < side[i]->n; k++) {
			const void *row = side[i]->v + k * schema->size;
			const void *other = same_row(side[!i], row, schema),
				   *old = same_row(base, row, schema);
			struct three rows = { old, row, other };

			if (other && i)
				/*
				 * both sides have this row, and the loop merged it when it visited
				 * our row
				 */
				continue;
			if (!other && !(field->flags & KL_UNION) && old &&
			    kl_schema_equal(old, row, schema))
				/*
				 * the other side removed this row, and this side did not change it
				 */
				continue;
			if (!other)
				rows.theirs = row;
			merge_rows(out, merger, field, rows);
		}
}

/* --- merging records -------------------------------------------------------------------------- */

static void merge_field(void *out, struct merger *merger, const struct kl_field *field,
			struct three three)
{
	switch (field->kind) {
	case KL_FIELD_INT:
	case KL_FIELD_DECIMAL:
		*(int64_t *)out = *(const int64_t *)merge_number(merger, field, three);
		break;
	case KL_FIELD_BOOL:
		*(bool *)out = *(const bool *)merge_number(merger, field, three);
		break;
	case KL_FIELD_WORD:
		*(int *)out = *(const int *)merge_number(merger, field, three);
		break;
	case KL_FIELD_SET:
		merge_set(out, field->flags & KL_UNION, three);
		break;
	case KL_FIELD_VALUE:
		if (field->value == &kl_card_dims_value)
			merge_dims(out, merger, field, three);
		else
			merge_set(out, false, three);
		break;
	case KL_FIELD_LIST:
	case KL_FIELD_MAP:
		merge_list(out, merger, field, three);
		break;
	case KL_FIELD_GROUP:
		merge_record(out, merger, field->sub, three);
		break;
	case KL_FIELD_DOUBLE:
	case KL_FIELD_PART:
		KL_BUG("'%s' is merged as a whole row", field->key);
	case KL_FIELD_STRING:
		merge_string(out, merger, field, three);
	}
}

static void merge_record(void *out, struct merger *merger, const struct kl_schema *schema,
			 struct three three)
{
	for (const struct kl_field *field = schema->field; field->key; field++) {
		struct merger below = *merger;

		if (field->kind == KL_FIELD_GROUP && !merger->where)
			below.where = field->key;
		merge_field((char *)out + field->at, &below, field, three_inside(three, field));
	}
}

/* --- constraints between fields --------------------------------------------------------------- */

/*
 * Make the state of a precondition agree with its event: with an event and a class it is witnessed,
 * with an event alone it is not needed, and without an event it is neither.
 */
static void mend_pre(struct kl_card_pre *pre)
{
	if (pre->by) {
		pre->state = pre->class_ || pre->state != KL_PRE_NOT_NEEDED ? KL_PRE_WITNESSED :
									      KL_PRE_NOT_NEEDED;
		return;
	}
	if (pre->state != KL_PRE_NOT_TESTED)
		pre->state = KL_PRE_ASSUMED;
	kl_freep(&pre->class_);
	kl_freep(&pre->pair);
}

/*
 * Restore the constraints that merging field by field can break: a precondition in both lists stays
 * only in `sound`; `state` is witnessed if and only if there is a witness; a risk drops its
 * reference to a precondition that the card no longer has.
 */
static void mend_card(struct kl_card *card)
{
	size_t n = 0;

	for (size_t i = 0; i < card->useful.n; i++) {
		bool twice = false;

		for (size_t k = 0; k < card->sound.n; k++)
			twice |= !strcmp(card->sound.v[k].id, card->useful.v[i].id);
		if (twice)
			kl_card_pre_release(&card->useful.v[i]);
		else
			card->useful.v[n++] = card->useful.v[i];
	}
	card->useful.n = n;
	for (int list = 0; list < 2; list++)
		for (size_t i = 0; i < (list ? card->useful.n : card->sound.n); i++) {
			struct kl_card_pre *pre = list ? &card->useful.v[i] : &card->sound.v[i];

			mend_pre(pre);
		}
	for (size_t i = 0; i < card->risk.n; i++)
		if (card->risk.v[i].violates && !kl_card_has_pre(card, card->risk.v[i].violates))
			kl_freep(&card->risk.v[i].violates);
}

int kl_card_merge(struct kl_card **out, struct kl_strvec *both, const struct kl_card *base,
		  const struct kl_card *ours, const struct kl_card *theirs)
{
	struct merger merger = { .both = both };
	struct kl_card *card;

	if (strcmp(ours->id, theirs->id))
		return kl_error(KL_EINVALID, "cannot merge different cards '%s' and '%s'", ours->id,
				theirs->id);
	card = kl_card_new();
	merge_record(card, &merger, &kl_card_schema, (struct three){ base, ours, theirs });
	mend_card(card);
	kl_card_normalize(card);
	*out = card;
	if (both) { /* a difference in the status is no conflict, because the status is computed */
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

/*
 * Merge two copies of one event, which can differ in their signature. Take the signed copy; if both
 * or neither are signed, take the bytewise greater copy.
 */
static int merge_events(struct kl_buf *out, const struct kl_buf *ours, const struct kl_buf *theirs)
{
	KL_AUTO(kl_event_freep) struct kl_event *our_event = NULL, *their_event = NULL;
	bool take_theirs;
	int err;

	if ((err = kl_event_parse(&our_event, ours->ptr, strcspn(ours->ptr, "\n"))) < 0 ||
	    (err = kl_event_parse(&their_event, theirs->ptr, strcspn(theirs->ptr, "\n"))) < 0)
		return err;
	if (strcmp(our_event->id, their_event->id))
		return kl_error(KL_EINVALID, "cannot merge two different events");
	take_theirs = !*our_event->sig == !*their_event->sig ? strcmp(ours->ptr, theirs->ptr) < 0 :
							       *their_event->sig;
	kl_buf_add(out, (take_theirs ? theirs : ours)->ptr, (take_theirs ? theirs : ours)->len);
	return 0;
}

int kl_card_merge_text(struct kl_buf *out, const char *name, const struct kl_buf *base,
		       const struct kl_buf *ours, const struct kl_buf *theirs)
{
	KL_AUTO(kl_card_freep) struct kl_card *old = NULL, *our_card = NULL, *their_card = NULL,
					      *merged = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec both = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	int err;

	if (ours->ptr[0] == '{')
		return merge_events(out, ours, theirs);
	if (base && base->len && kl_card_parse(&old, name, base->ptr, base->len) < 0)
		kl_error_clear(); /* if the base cannot be read, merge without a base */
	if ((err = kl_card_parse(&our_card, name, ours->ptr, ours->len)) < 0)
		return kl_error_in(err, "ours");
	if ((err = kl_card_parse(&their_card, name, theirs->ptr, theirs->len)) < 0)
		return kl_error_in(err, "theirs");
	if ((err = kl_card_merge(&merged, &both, old, our_card, their_card)) < 0)
		return err;
	kl_card_write(out, merged);
	for (size_t i = 0; i < both.n; i++)
		kl_buf_addf(&list, "%s%s", i ? ", " : "", both.v[i]);
	return both.n ? kl_error(KL_ENO, "%s: both sides changed %s", merged->id, list.ptr) : 0;
}
