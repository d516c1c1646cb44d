/* SPDX-License-Identifier: Apache-2.0 */
/* prune_write - writes the lineage of a pruned expert */
#include <stdlib.h>
#include <string.h>

#include "apply/card_commit.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "event/note_writer.h"
#include "transplant/prune_parts.h"
#include "transplant/transplant_parts.h"

#define MAX_TRIES 20

/* One state of the pruned lineage. */
struct pruned_state {
	size_t of;                  /* index of the state of the old lineage that it is made from */
	struct kl_surface *surface; /* owned */
	struct kl_event *event;     /* judges the state against the one before it; owned */
	struct kl_strvec folded;    /* texts about steps whose own states were left out */
	git_oid commit;
};

struct writing {
	struct kl_prune *prune;
	struct kl_transplant *transplant;
	struct kl_repo *repo;
	const struct kl_prune_opts *opts;
	struct pruned_state *state;
	size_t n;
	struct kl_strvec folded; /* texts about left-out steps, for the next state */
};

static void writing_release(struct writing *writing)
{
	for (size_t i = 0; i < writing->n; i++) {
		kl_surface_free(writing->state[i].surface);
		kl_event_free(writing->state[i].event);
		kl_strvec_release(&writing->state[i].folded);
	}
	free(writing->state);
	kl_strvec_release(&writing->folded);
}

/* --- the states ------------------------------------------------------------------------------ */

static void add_state(struct writing *writing, size_t of, struct kl_surface *surface,
		      struct kl_event *event)
{
	writing->state[writing->n++] = (struct pruned_state){
		.of = of,
		.surface = surface,
		.event = event,
		.folded = writing->folded,
	};
	writing->folded = (struct kl_strvec)KL_STRVEC_INIT;
}

/* Leave out the state of a step; its step belongs to the next state. */
static void fold_step(struct writing *writing, size_t step, const char *why)
{
	const struct kl_step *of = &writing->transplant->view.step[step].step;

	kl_strvec_pushf(&writing->folded, "step %zu (%s), %s", step,
			of->mechanism ? of->mechanism : "-", why);
}

/* Return the last step that was not undone; 0 if all were. */
static size_t last_kept(const struct writing *writing)
{
	size_t step = kl_transplant_steps(writing->transplant);

	while (step && kl_prune_has_undone(writing->prune, step))
		step--;
	return step;
}

/* Make the state of a kept step; the last one is the pruned kernel. */
static int make_state(struct kl_surface **out, struct writing *writing, size_t step)
{
	if (step == last_kept(writing))
		return kl_surface_with(out, writing->prune->kernel, NULL, 0);
	return kl_prune_state(out, writing->repo, writing->prune, writing->transplant, step);
}

/* Judge the state of a kept step against the state before it, and add it if it passes. */
static int judge_state(struct writing *writing, size_t step)
{
	const struct kl_surface *before = writing->state[writing->n - 1].surface;
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	int err = make_state(&surface, writing, step);

	if (err == KL_ENO) {
		kl_error_clear();
		fold_step(writing, step, "whose own state does not merge");
		return 0;
	}
	if (!err && !strcmp(surface->digest, before->digest)) {
		fold_step(writing, step, "which changes nothing alone");
		return 0;
	}
	kl_progress_title(writing->opts->judging.progress, "the pruned K_%zu", step);
	if (!err)
		err = kl_transplant_judge_kernel(&judgement, &writing->opts->judging, surface,
						 before);
	if (err < 0)
		return kl_error_in(err, "the pruned state of K_%zu", step);
	if (!kl_transplant_count(writing->transplant, judgement)) {
		/* Continue as if it passed, so that later states are judged in the same wave. */
		add_state(writing, step, kl_steal(&surface), NULL);
		return 0;
	}
	if (judgement->event->verdict != KL_VERDICT_PASS &&
	    judgement->event->failure != KL_FAILURE_NO_CHANGE && step != last_kept(writing)) {
		fold_step(writing, step, "whose own state the gate refuses");
		return 0;
	}
	add_state(writing, step, kl_steal(&surface), kl_event_copy(judgement->event));
	return 0;
}

static int make_states(struct writing *writing)
{
	struct kl_transplant *transplant = writing->transplant;
	size_t n = kl_transplant_steps(transplant), last = last_kept(writing);
	struct kl_surface *root = NULL;
	int err = kl_surface_with(&root, last ? transplant->state[0] : writing->prune->kernel, NULL,
				  0);

	writing->state = kl_calloc(n + 1, sizeof(*writing->state));
	if (err < 0)
		return err;
	add_state(writing, 0, root, NULL);
	for (size_t step = 1; !err && step <= last; step++) {
		if (kl_prune_has_undone(writing->prune, step))
			continue;
		if (kl_transplant_is_late(transplant, &writing->opts->judging))
			return 0;
		err = judge_state(writing, step);
	}
	return err;
}

/* --- the commits ----------------------------------------------------------------------------- */

static bool is_key(const char *line, const char *key)
{
	return !strncmp(line, key, strlen(key));
}

/* Append the trailers of the old commit, and replace those that differ in the pruned lineage. */
static void add_trailers(struct kl_buf *out, const char *trailers, size_t number, bool folded)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec line = KL_STRVEC_INIT;

	kl_strvec_split(&line, trailers, "\n");
	for (size_t i = 0; i < line.n; i++) {
		if (is_key(line.v[i], "Klineage-Step:"))
			kl_buf_addf(out, "Klineage-Step: %zu\n", number);
		else if (is_key(line.v[i], "Klineage-Derivation:"))
			kl_buf_adds(out, "Klineage-Derivation: inverse\n");
		else if (is_key(line.v[i], "Klineage-Delta:") && folded)
			kl_buf_adds(out, "Klineage-Delta: compound\n");
		else if (!is_key(line.v[i], "Klineage-Attempts:"))
			kl_buf_addf(out, "%s\n", line.v[i]);
	}
}

/* The trailer in the root's commit that names the commits of the undone steps. */
static const char undone_key[] = "Klineage-Pruned";

/* Append the commits of the undone steps as a trailer. */
static void add_undone(struct kl_buf *out, const struct writing *writing)
{
	kl_buf_addf(out, "%s: ", undone_key);
	for (size_t i = 0; i < writing->prune->nundone; i++) {
		size_t step = writing->prune->undone[i];
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, &writing->transplant->view.step[step].commit);
		kl_buf_addf(out, "%s%s", i ? ", " : "", hex);
	}
	kl_buf_addch(out, '\n');
}

static void make_message(struct kl_buf *out, const struct writing *writing, size_t i,
			 const char *old)
{
	const struct pruned_state *state = &writing->state[i];
	const char *last = NULL;
	char hex[KL_OID_HEX];

	/* the trailers are the last paragraph */
	for (const char *at = old; (at = strstr(at, "\n\n")); at++)
		if (at[2])
			last = at + 2;
	if (!last)
		last = old + strlen(old);
	kl_buf_add(out, old, last - old);
	for (size_t k = 0; k < state->folded.n; k++)
		kl_buf_addf(out, "With %s.\n\n", state->folded.v[k]);
	add_trailers(out, last, i, state->folded.n > 0);
	kl_oid_hex(hex, &writing->transplant->view.step[state->of].commit);
	kl_buf_addf(out, "Klineage-Of: %s\n", hex);
	if (!i)
		add_undone(out, writing);
}

/*
 * Write the commit of a state, with the author and time of the old one, so that a later run writes
 * the same commit.
 */
static int write_state(struct writing *writing, size_t i)
{
	struct pruned_state *state = &writing->state[i];
	const struct kl_transplant *transplant = writing->transplant;
	const struct kl_card_commit tree = { .repo = writing->repo,
					     .parent = transplant->view.step[state->of].commit,
					     .from = transplant->state[state->of],
					     .to = state->surface };
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	struct kl_commit_spec spec = { .nparent = i ? 1 : 0 };
	struct kl_commit old = { 0 };
	int err = kl_card_commit_tree(&spec.tree, &tree);

	if (err < 0 || (err = kl_repo_commit_read(&old, writing->repo, &tree.parent)) < 0)
		return err;
	make_message(&message, writing, i, old.message);
	spec.message = message.ptr;
	spec.parent = i ? &writing->state[i - 1].commit : NULL;
	spec.author = old.author;
	spec.time = old.author_time;
	spec.offset = old.author_offset;
	err = kl_repo_commit_write(&state->commit, writing->repo, &spec);
	kl_commit_release(&old);
	return err;
}

/* --- the refs -------------------------------------------------------------------------------- */

/* Queue the events, marked as those of a lineage that is read forward. */
static int queue_notes(struct kl_noting *noting, struct writing *writing)
{
	int err = 0;

	for (size_t i = 1; !err && i < writing->n; i++) {
		struct kl_event *event = writing->state[i].event;

		event->session.there = true;
		event->session.states = (int64_t)writing->n;
		event->session.rounds = 1;
		kl_event_seal(event);
		err = kl_noting_add(noting, &writing->state[i].commit, event);
	}
	return err;
}

/* Move the ref and the notes together. */
static int move_refs(struct writing *writing, struct kl_noting *noting)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(writing->repo);
	git_oid notes, was;
	int err;

	for (size_t i = 0; i < noting->n; i++)
		noting->note[i].line = noting->texts.v[i];
	if ((err = kl_notes_prepare(&notes, &was, writing->repo, KL_NOTES_GATE, noting->note,
				    noting->n)) < 0)
		return err;
	if (memcmp(&notes, &was, sizeof(notes)))
		kl_refs_txn_update(txn, KL_NOTES_GATE, &notes, git_oid_is_zero(&was) ? NULL : &was);
	kl_refs_txn_create(txn, writing->prune->ref, &writing->prune->tip);
	if ((err = KL_FAULT("prune-move")) < 0)
		return err;
	err = kl_refs_txn_commit(txn, "klineage prune: lineage");
	return err < 0 ? err : KL_FAULT("prune-moved");
}

/* Return true if the ref exists. Set *same to true if it points to the new tip. */
static bool ref_is_there(bool *same, const struct writing *writing)
{
	git_oid there;
	bool found = kl_refs_get(&there, writing->repo, writing->prune->ref) == 0;

	kl_error_clear();
	*same = found && !memcmp(&there, &writing->prune->tip, sizeof(there));
	return found;
}

static int write_refs(struct writing *writing)
{
	KL_AUTO(kl_noting_release) struct kl_noting noting = { .repo = writing->repo };
	int err = 0;

	noting.sign = writing->opts->judging.sign;
	for (int i = 0;; i++) {
		bool there = ref_is_there(&writing->prune->already, writing);

		if (writing->prune->already)
			return 0;
		if (there)
			return kl_error_hint(kl_error(KL_EEXISTS, "'%s' is another lineage",
						      writing->prune->ref),
					     "choose another name with --name, or delete the "
					     "branch with git");
		if (!i)
			err = queue_notes(&noting, writing);
		if (err < 0)
			return err;
		err = move_refs(writing, &noting);
		if (err != KL_ECHANGED || i == MAX_TRIES)
			return err;
		kl_clock_sleep_ms(20 * (i + 1));
	}
}

int kl_prune_write(struct kl_prune *prune, struct kl_transplant *transplant, struct kl_repo *repo,
		   const struct kl_prune_opts *opts)
{
	KL_AUTO(writing_release) struct writing writing = {
		.prune = prune, .transplant = transplant, .repo = repo, .opts = opts
	};
	int err = make_states(&writing);

	if (err < 0 || transplant->late || transplant->waiting)
		return err;
	for (size_t i = 0; !err && i < writing.n; i++)
		err = write_state(&writing, i);
	if (err < 0)
		return err;
	prune->tip = writing.state[writing.n - 1].commit;
	prune->states = writing.n;
	return write_refs(&writing);
}
