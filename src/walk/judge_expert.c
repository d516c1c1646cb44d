/* SPDX-License-Identifier: Apache-2.0 */
/* judge_expert - judges K* itself, where a walk begins */
#include <string.h>

#include "base/error.h"
#include "repo/notes.h"
#include "walk/judge.h"
#include "walk/sequencer_parts.h"

/* End the operation because the expert did not pass, and note the expert's event. */
static int expert_failed(struct kl_sequencer *sequencer, const struct kl_judgement *judgement)
{
	struct kl_opstate *op = &sequencer->op;
	const char *expert = kl_walk_str(&op->walk, "expert");
	KL_AUTO(kl_freep) char *line = NULL;
	struct kl_note_line note;
	const char *class_;
	int err;

	if (op->dry)
		return kl_error(KL_ENO, "the expert fails the gate");
	if ((err = kl_opstate_event(op, judgement->event, expert)) < 0 ||
	    (err = kl_oid_parse(&note.commit, expert)) < 0)
		return err;
	line = kl_strndup(op->events.ptr, strcspn(op->events.ptr, "\n"));
	note.line = line;
	if ((err = kl_notes_add(sequencer->repo, KL_NOTES_GATE, &note, 1)) < 0 ||
	    (err = kl_sequencer_abort(sequencer)) < 0)
		return err;
	class_ = kl_event_class(judgement->event);
	err = kl_error(KL_ENO, "the expert %.7s fails its own gate (%s%s%s): %s", expert,
		       kl_verdict_name(judgement->event->verdict), *class_ ? ", " : "", class_,
		       judgement->event->message);
	return kl_error_hint(err, "run 'git klineage gate %.12s' to judge it again", expert);
}

int kl_judge_expert(struct kl_sequencer *sequencer)
{
	struct kl_walk *walk = &sequencer->op.walk;
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	struct kl_walk_seen seen = { 0 };
	int err;

	kl_progress_title(sequencer->progress, "[0] the expert, %.7s", kl_walk_str(walk, "expert"));
	if ((err = sequencer->judge(&judgement, sequencer->op.state, NULL, sequencer->payload)) < 0)
		return err;
	if (judgement->deferred)
		return KL_JUDGE_LATER;
	if (judgement->event->verdict == KL_VERDICT_NOT_RUN)
		return kl_error(KL_ECANNOT, "the gate cannot judge here: %s",
				judgement->event->message);
	if (judgement->event->verdict != KL_VERDICT_PASS)
		return expert_failed(sequencer, judgement);
	if ((err = kl_opstate_event(&sequencer->op, judgement->event,
				    kl_walk_str(walk, "expert"))) < 0)
		return err;
	seen.event = judgement->event->id;
	seen.ns = judgement->event->profile.ns;
	seen.facts = kl_judge_facts_json(&judgement->event->facts);
	kl_walk_expert_passed(walk, &seen);
	return kl_sequencer_save(sequencer, "the expert passes");
}
