/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/lift.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "card/card_merge.h"
#include "card/library_parts.h"
#include "learn/lift_parts.h"

#define ACTIONS "templates/actions.yaml"
#define MAX_ENABLES 3

static const struct kl_comparison *against_before(const struct kl_transition *transition)
{
	return kl_comparisons_parent(&transition->event->profile.vs);
}

enum kl_speed kl_lift_speed_of(const struct kl_transition *transition)
{
	const struct kl_comparison *before = against_before(transition);

	return before ? before->speed : KL_SPEED_NONE;
}

int64_t kl_lift_ratio_of(const struct kl_transition *transition)
{
	const struct kl_comparison *before = against_before(transition);

	return before ? before->ratio.ppm : 0;
}

/*
 * Return true if the step may have made the kernel faster: it is fast, or it is ambiguous and its
 * upper bound is above KL_LIFT_GAIN.
 */
static bool may_be_win(const struct kl_transition *transition)
{
	enum kl_speed speed = kl_lift_speed_of(transition);

	return speed == KL_SPEED_FAST ||
	       (speed == KL_SPEED_AMBIGUOUS && against_before(transition)->ratio.hi > KL_LIFT_GAIN);
}

bool kl_lift_is_verified(const struct kl_transition *transition)
{
	return transition->confirmed && transition->step.derivation &&
	       !strcmp(transition->step.derivation, "rederived");
}

void kl_lift_signs(struct kl_strvec *out, const struct kl_transition *transition,
		   const struct kl_mechanism *mechanism)
{
	for (int incidental = 0; incidental < 2 && !out->n; incidental++)
		for (size_t i = 0; i < transition->gained.n; i++)
			if (kl_strvec_has(&mechanism->primary, transition->gained.v[i]) &&
			    kl_strvec_has(&mechanism->incidental, transition->gained.v[i]) ==
				    incidental)
				kl_strvec_push(out, transition->gained.v[i]);
}

void kl_lift_delta(struct kl_strvec *out, const struct kl_transition *transition,
		   const struct kl_mechanism *mechanism)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec traits = KL_STRVEC_INIT;

	kl_lift_signs(out, transition, mechanism);
	kl_strvec_split(&traits, transition->step.trait ? transition->step.trait : "", ", ");
	for (size_t i = 0; i < traits.n; i++)
		kl_strvec_pushf(out, "trait:%s", traits.v[i]);
	kl_strvec_uniq(out);
}

/* --- finding the card of a group -------------------------------------------------------------- */

static bool knows_group(const struct kl_card *card, const struct kl_lift_group *group)
{
	for (size_t i = 0; i < group->n; i++)
		for (size_t k = 0; k < card->evidence.n; k++)
			if (!strcmp(card->evidence.v[k].event, group->t[i]->event->id))
				return true;
	return false;
}

static bool same_text(const char *left, const char *right)
{
	return left && right && !strcmp(left, right);
}

/*
 * Check that the card has the group's mechanism and action, and that either both are about the
 * launch plan only or neither is.
 */
static bool fits_group(const struct kl_card *card, const struct kl_lift_group *group)
{
	return card->unlisted == group->unlisted && same_text(card->mechanism, group->m->name) &&
	       same_text(card->action, group->action) &&
	       (card->anchor.construct && !strcmp(card->anchor.construct, "the launch plan")) ==
		       group->plan_only;
}

struct shelf {
	struct kl_card **v;
	size_t n, alloc;
};

static void shelf_release(struct shelf *shelf)
{
	for (size_t i = 0; i < shelf->n; i++)
		kl_card_free(shelf->v[i]);
	free(shelf->v);
}

static int read_shelf(struct shelf *out, struct kl_lifter *lifter, struct kl_library *lib)
{
	for (size_t i = 0; i < kl_library_count(lib); i++) {
		struct kl_card *card;

		if (kl_library_card_at(&card, lib, i) < 0) {
			kl_strvec_push(lifter->notes, kl_error_last());
			kl_error_clear();
			continue;
		}
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n++] = card;
	}
	return 0;
}

/*
 * Find the card of a group: a card that has some of the group's evidence, preferably one that is
 * not retracted; otherwise the first card of the same mechanism and action that is not retracted.
 */
static struct kl_card *find_card(const struct shelf *shelf, const struct kl_lift_group *group)
{
	struct kl_card *like = NULL, *has = NULL, *gone = NULL;

	for (size_t i = 0; i < shelf->n; i++) {
		struct kl_card *card = shelf->v[i];
		bool live = card->status != KL_CARD_RETRACTED, it_knows = knows_group(card, group);

		if (live && it_knows && (!has || kl_lift_outranks(card, has)))
			has = card;
		if (!live && it_knows && !gone)
			gone = card;
		if (!like && live && fits_group(card, group))
			like = card;
	}
	return has ? has : gone ? gone : like;
}

/* Return the transition that comes first by lineage name and step number. */
static const struct kl_transition *first_of(const struct kl_lift_group *group)
{
	const struct kl_transition *first = group->t[0];

	for (size_t i = 1; i < group->n; i++) {
		int order = strcmp(group->t[i]->lineage, first->lineage);

		if (order < 0 || (!order && group->t[i]->step.number < first->step.number))
			first = group->t[i];
	}
	return first;
}

static void result_release(struct kl_lift_result *result)
{
	kl_card_free(result->card);
	kl_card_free(result->old);
	free(result->same_as);
	free(result->t);
}

/* --- results, one per card -------------------------------------------------------------------- */

/*
 * Check that the written card can be parsed again. If not, return false and add a note that the
 * card was not lifted.
 */
static bool is_sound(struct kl_lifter *lifter, const struct kl_card *card)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_card_freep) struct kl_card *again = NULL;
	bool ok;

	kl_card_write(&text, card);
	ok = !kl_card_parse(&again, card->id, text.ptr, text.len);
	if (!ok) {
		kl_strvec_pushf(lifter->notes, "not lifted: %s", kl_error_last());
		lifter->unfit++;
	}
	kl_error_clear();
	return ok;
}

static bool is_twin(struct kl_lifter *lifter, const struct kl_card *card,
		    const struct kl_card *keep, const struct kl_lift_group *group)
{
	if (card == keep || !fits_group(card, group) || !fits_group(keep, group) ||
	    !kl_lift_is_lifted(keep) || !kl_lift_is_twin(card, group))
		return false;
	/* do not merge a card that has trials, because they tested its own texts */
	if (card->ver.n)
		kl_strvec_pushf(lifter->notes,
				"%s and %s were learned from the same steps; both have trials, so "
				"both are kept",
				keep->id, card->id);
	return !card->ver.n;
}

static void unite_twins(struct kl_card **cards, struct kl_lifter *lifter,
			const struct kl_lift_group *group, const struct shelf *shelf,
			const struct kl_card *keep)
{
	for (size_t i = 0; keep && i < shelf->n; i++)
		if (is_twin(lifter, shelf->v[i], keep, group) &&
		    kl_lift_unite(cards, shelf->v[i]) < 0) {
			kl_strvec_pushf(lifter->notes, "%s", kl_error_last());
			kl_error_clear();
		}
}

/*
 * Append results that retract the cards that were merged into `keep`. These results come last, so
 * that if lift is killed before it stores them, the next lift makes them again.
 */
static void retract_twins(struct kl_lift *out, struct kl_lifter *lifter,
			  const struct kl_lift_group *group, const struct shelf *shelf,
			  const struct kl_card *keep)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec ignored = KL_STRVEC_INIT;
	struct kl_strvec *notes = lifter->notes;

	lifter->notes = &ignored; /* unite_twins() added these notes already */
	for (size_t i = 0; keep && i < shelf->n; i++)
		if (is_twin(lifter, shelf->v[i], keep, group)) {
			KL_GROW(out->v, out->n + 1, out->alloc);
			out->v[out->n++] = (struct kl_lift_result){
				.card = kl_card_copy(shelf->v[i]),
				.old = kl_card_copy(shelf->v[i]),
				.same_as = kl_strdup(keep->id),
			};
		}
	lifter->notes = notes;
}

static void add_result(struct kl_lift *out, struct kl_lifter *lifter, struct kl_lift_group *group,
		       const struct shelf *shelf, const struct kl_card *old)
{
	struct kl_lift_result *result = NULL;
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

	if (old && old->status == KL_CARD_RETRACTED) {
		kl_strvec_pushf(lifter->notes, "%s is retracted and is not updated", old->id);
		return;
	}
	/* two groups can belong to one card: add to the result of the first group */
	for (size_t i = 0; old && i < out->n && !result; i++)
		if (!strcmp(out->v[i].card->id, old->id))
			result = &out->v[i];
	card = result ? kl_card_copy(result->card) : old ? kl_card_copy(old) : kl_card_new();
	if (!old) {
		card->id = kl_card_make_id(group->m->name, first_of(group)->event->id);
		kl_lift_word(card, lifter, group);
	}
	unite_twins(&card, lifter, group, shelf, old);
	kl_lift_learn(card, lifter, group);
	kl_card_normalize(card);
	if (!is_sound(lifter, card))
		return;
	if (!result) {
		KL_GROW(out->v, out->n + 1, out->alloc);
		result = &out->v[out->n++];
		*result = (struct kl_lift_result){ .old = old ? kl_card_copy(old) : NULL };
	}
	kl_card_free(result->card);
	result->card = kl_steal(&card);
	result->gained = result->card->evidence.n - (old ? old->evidence.n : 0);
	for (size_t i = 0; i < group->n; i++) {
		KL_GROW(result->t, result->n + 1, result->alloc);
		result->t[result->n++] = group->t[i];
	}
}

static const struct kl_lift_result *result_of(const struct kl_lift *out,
					      const struct kl_transition *transition)
{
	for (size_t i = 0; i < out->n; i++)
		for (size_t k = 0; k < out->v[i].n; k++)
			if (out->v[i].t[k] == transition)
				return &out->v[i];
	return NULL;
}

/* Return the result of the lineage's next fast step that belongs to another card, or NULL. */
static const struct kl_lift_result *next_win(const struct kl_lift *out,
					     const struct kl_transition *transition)
{
	const struct kl_transitions *all = out->t;
	const struct kl_transition *end = all->v + all->n;
	const struct kl_lift_result *own = result_of(out, transition);

	for (const struct kl_transition *later = transition + 1;
	     later < end && !strcmp(later->lineage, transition->lineage); later++) {
		bool fast = kl_lift_speed_of(later) == KL_SPEED_FAST;
		const struct kl_lift_result *result = fast ? result_of(out, later) : NULL;

		if (result && result != own)
			return result;
	}
	return NULL;
}

/* Let a card without a possible gain enable the cards of the next fast steps. */
static void name_enabled(struct kl_lift *out, struct kl_lift_result *result)
{
	for (size_t i = 0; i < result->n; i++)
		if (may_be_win(result->t[i]))
			return;
	for (size_t i = 0; i < result->n && result->card->enables.n < MAX_ENABLES; i++) {
		const struct kl_lift_result *next = next_win(out, result->t[i]);

		if (next && !kl_strvec_has(&result->card->enables, next->card->id))
			kl_strvec_push(&result->card->enables, next->card->id);
	}
	kl_card_normalize(result->card);
}

/* --- lifting ---------------------------------------------------------------------------------- */

static void lifter_release(struct kl_lifter *lifter)
{
	kl_mechanisms_release(&lifter->mechanisms);
	kl_actions_release(&lifter->actions);
	kl_taxonomy_free(lifter->tax);
}

static int load_tables(struct kl_lifter *lifter)
{
	KL_AUTO(kl_freep) char *actions = NULL;
	int err = kl_mechanisms_load_shipped(&lifter->mechanisms);

	if (!err)
		err = kl_fs_share(&actions, ACTIONS);
	if (!err)
		err = kl_actions_load(&lifter->actions, actions);
	return err < 0 ? err : kl_taxonomy_load(&lifter->tax);
}

/* Drop each result whose card equals the library's version and is not to be retracted. */
static void drop_same(struct kl_lift *out)
{
	size_t n = 0;

	for (size_t i = 0; i < out->n; i++) {
		struct kl_lift_result *result = &out->v[i];
		KL_AUTO(kl_buf_release) struct kl_buf now = KL_BUF_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf before = KL_BUF_INIT;

		kl_card_write(&now, result->card);
		if (result->old)
			kl_card_write(&before, result->old);
		if (result->same_as || strcmp(now.ptr, before.ptr))
			out->v[n++] = *result;
		else
			result_release(result);
	}
	out->n = n;
}

int kl_lift_run(struct kl_lift *out, const struct kl_transitions *transitions,
		struct kl_library *lib)
{
	KL_AUTO(lifter_release) struct kl_lifter lifter = { .t = transitions,
							    .notes = &out->notes };
	KL_AUTO(kl_lift_groups_release) struct kl_lift_groups groups = { 0 };
	KL_AUTO(shelf_release) struct shelf shelf = { 0 };
	int err;

	*out = (struct kl_lift){ .t = transitions };
	if ((err = load_tables(&lifter)) < 0 || (err = read_shelf(&shelf, &lifter, lib)) < 0)
		return err;
	for (size_t i = 0; i < transitions->notes.n; i++)
		kl_strvec_push(&out->notes, transitions->notes.v[i]);
	kl_lift_groups_make(&groups, &lifter);
	for (size_t i = 0; i < groups.n; i++) {
		out->used += groups.v[i].n;
		add_result(out, &lifter, &groups.v[i], &shelf, find_card(&shelf, &groups.v[i]));
	}
	for (size_t i = 0; i < groups.n; i++)
		retract_twins(out, &lifter, &groups.v[i], &shelf, find_card(&shelf, &groups.v[i]));
	for (size_t i = 0; i < out->n; i++)
		if (!out->v[i].old)
			name_enabled(out, &out->v[i]);
	drop_same(out);
	out->unfit = lifter.unfit;
	return 0;
}

static int put_tombstone(const struct kl_lift_result *result, struct kl_library *lib)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = kl_card_copy(result->card);
	KL_AUTO(kl_freep) char *subject = kl_asprintf("lift: %s goes into %s", card->id,
						      result->same_as);
	KL_AUTO(kl_freep) char *why = kl_asprintf("the same as %s", result->same_as);
	const char *who;
	char now[21];
	int err = kl_repo_identity(&who, lib->repo);

	if (err < 0)
		return err;
	kl_clock_iso(now);
	kl_card_retract(card, why, who, now);
	return kl_library_put(lib, &(struct kl_library_change){
					   .card = card,
					   .base = result->old,
					   .subject = subject,
				   });
}

int kl_lift_put(const struct kl_lift *lift, size_t i, struct kl_library *lib)
{
	const struct kl_lift_result *result = &lift->v[i];
	KL_AUTO(kl_freep) char *subject = kl_asprintf("lift: %s", result->card->id);
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;

	if (result->same_as)
		return put_tombstone(result, lib);
	kl_buf_addf(&body, "%s, learned from", result->old ? "more evidence" : "a new card");
	for (size_t k = 0; k < result->n; k++)
		kl_buf_addf(&body, "\n%s step %d", result->t[k]->lineage,
			    result->t[k]->step.number);
	if (result->worded)
		kl_buf_addf(&body, "\nworded by a model (%s)", result->worded);
	return kl_library_put(lib, &(struct kl_library_change){
					   .card = result->card,
					   .base = result->old,
					   .is_new = !result->old,
					   .events = &lift->t->events,
					   .subject = subject,
					   .body = body.ptr,
				   });
}

void kl_lift_release(struct kl_lift *lift)
{
	for (size_t i = 0; i < lift->n; i++)
		result_release(&lift->v[i]);
	free(lift->v);
	kl_strvec_release(&lift->notes);
}
