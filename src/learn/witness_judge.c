/* SPDX-License-Identifier: Apache-2.0 */
/* witness_judge - runs the gate for a clause and records the verdict */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "learn/lift_parts.h"
#include "learn/witness_parts.h"

#define MAX_WHY 300

/* --- opening and running the gate ------------------------------------------------------------- */

int kl_witness_gate(struct kl_gate **out, struct kl_repo *repo, const char *platform,
		    struct kl_progress *progress)
{
	return kl_gate_open(out, repo,
			    &(struct kl_gate_opts){
				    .progress = progress,
				    .platform = platform,
				    .no_profile = true,
			    });
}

int kl_witness_session(struct kl_gate **out, struct kl_witness_search *search, const char *platform)
{
	struct kl_gate *gate = NULL;
	int err;

	if (!search->o->gate)
		return kl_error(KL_ECANNOT, "%s", search->o->no_gate);
	*out = search->o->gate;
	if (!*platform)
		return 0;
	for (size_t i = 0; i < search->ngate; i++)
		if (!strcmp(search->gate[i].platform, platform)) {
			*out = search->gate[i].gate;
			return 0;
		}
	err = kl_witness_gate(&gate, search->o->repo, platform, search->o->progress);
	if (err < 0)
		return err;
	KL_GROW(search->gate, search->ngate + 1, search->gate_alloc);
	search->gate[search->ngate++] = (struct kl_witness_session){ kl_strdup(platform), gate };
	*out = gate;
	return 0;
}

/*
 * Return true if the error means that the gate cannot give a verdict here and now. Such an error
 * leaves the clause open even if another kernel passes.
 */
static bool is_open(int err)
{
	return err == KL_ECANNOT || err == KL_ENO || err == KL_EINVALID;
}

/* Keep only the first reason, because the nearest kernel and platform are tried first. */
void kl_witness_leave_open(struct kl_witness_clause *clause, const char *why)
{
	size_t n = strcspn(why, "\n");

	if (clause->why)
		return;
	clause->why = kl_strndup(why, n < MAX_WHY ? n : MAX_WHY);
	for (unsigned char *at = (unsigned char *)clause->why; *at; at++)
		/* compiler output can contain such bytes, and terminals and commits show `why` */
		if (*at < 0x20 || *at >= 0x7f)
			*at = ' ';
}

int kl_witness_unsure(struct kl_witness_search *search, struct kl_witness_clause *clause, int err)
{
	if (!is_open(err))
		return err;
	if (err == KL_ECANNOT) {
		free(search->out->cannot);
		search->out->cannot = kl_strdup(kl_error_last());
	}
	clause->unsure = true;
	kl_witness_leave_open(clause, kl_error_last());
	kl_error_clear();
	return 0;
}

int kl_witness_judge(struct kl_judgement **judgements, struct kl_witness_search *search,
		     struct kl_witness_clause *clause, struct kl_gate *gate,
		     const struct kl_surface *surface, bool runs)
{
	const struct kl_event *event;
	int err = 0;

	*judgements = NULL;
	if (search->out->runs >= search->o->limit) {
		search->out->limited = true;
		err = kl_error(KL_ENO, "the limit of %zu gate runs is reached", search->o->limit);
	} else if (runs && search->no_device && kl_backend_of(surface->contract)->device) {
		err = kl_error(KL_ECANNOT, "%s", search->no_device);
	} else {
		err = kl_card_commit_try(judgements, gate, surface, NULL, false);
		if (err == KL_ECANNOT && kl_gate_lacked_device(gate) && !search->no_device)
			search->no_device = kl_strdup(kl_error_last());
	}
	if (err < 0)
		return kl_witness_unsure(search, clause, err);
	if (err == KL_CARD_COMMIT_LATER) {
		search->out->runs++;
		search->out->waiting++;
		clause->waits = true;
		return 0;
	}
	search->out->runs += !(*judgements)->cached;
	search->out->verdicts++;
	event = (*judgements)->event;
	if (event->verdict == KL_VERDICT_PASS || event->verdict == KL_VERDICT_FAIL)
		return 0;
	clause->unsure = true;
	kl_witness_leave_open(clause,
			      *event->message ? event->message : kl_verdict_name(event->verdict));
	kl_judgement_free(*judgements);
	*judgements = NULL;
	return 0;
}

bool kl_witness_passed(const struct kl_judgement *judgement)
{
	return judgement->event->verdict == KL_VERDICT_PASS;
}

/* Check features only, because a trait cannot be read from machine code. */
bool kl_witness_is_there(const struct kl_card *card, const struct kl_strvec *features)
{
	size_t n = 0;

	for (size_t i = 0; i < card->provides.n; i++) {
		bool claim = !strncmp(card->provides.v[i], "trait:", 6);

		n += !claim;
		if (!claim && !kl_strvec_has(features, card->provides.v[i]))
			return false;
	}
	return n > 0;
}

bool kl_witness_ran(enum kl_failure failure)
{
	return failure == KL_FAILURE_HANG || failure == KL_FAILURE_FAULT ||
	       failure == KL_FAILURE_WRONG_ALL || failure == KL_FAILURE_WRONG_EDGE ||
	       failure == KL_FAILURE_NONDETERMINISTIC;
}

/* --- recording outcomes ----------------------------------------------------------------------- */

const git_oid *kl_witness_commit(const struct kl_transition *transition)
{
	return kl_lift_is_verified(transition) ? &transition->rederived : &transition->after;
}

void kl_witness_fails(struct kl_witness_search *search, struct kl_witness_clause *clause,
		      const struct kl_judgement *judgement, char *at)
{
	clause->end = KL_WITNESS_FAILS;
	snprintf(clause->class_, sizeof(clause->class_), "%s", kl_event_class(judgement->event));
	free(clause->event);
	clause->event = kl_strdup(judgement->event->id);
	free(clause->at);
	clause->at = at;
	kl_map_put(&search->events, clause->event, kl_event_ref(judgement->event));
}

/* Record the event of the first passing kernel; only count the later ones. */
void kl_witness_passes(struct kl_witness_search *search, struct kl_witness_clause *clause,
		       const struct kl_judgement *judgement, char *at)
{
	if (!clause->passes++) {
		clause->event = kl_strdup(judgement->event->id);
		clause->at = kl_strdup(at);
		kl_map_put(&search->events, clause->event, kl_event_ref(judgement->event));
	}
	free(at);
}
