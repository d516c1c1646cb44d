/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage/measure.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/prefix.h"
#include "contract/select.h"
#include "event/note_writer.h"
#include "event/speed.h"
#include "gate/rounds.h"
#include "text/digest.h"

#define LEAST_ROUND_MS 500 /* least time of one round */

void kl_measured_release(struct kl_measured *measured)
{
	for (size_t i = 0; i < measured->n; i++) {
		kl_surface_free(measured->state[i].surface);
		kl_judgement_free(measured->state[i].judgement);
	}
	free(measured->state);
	*measured = (struct kl_measured){ 0 };
}

/* --- the session --------------------------------------------------------------------- */

static int open_gate(struct kl_gate **out, struct kl_repo *repo, const struct kl_measure_opts *opts)
{
	struct kl_gate_opts gate_opts = { .progress = opts->progress,
					  .jail = opts->jail,
					  .platform = opts->platform };
	int64_t ms = 0;
	int err = kl_repo_config_int(&ms, repo, "klineage.profileMs", 0);

	if (err < 0)
		return err;
	/* all rounds together share the time of one profile of `git klineage gate` */
	ms = (ms ? ms : KL_GATE_PROFILE_MS) / opts->rounds;
	gate_opts.profile_ms = ms < LEAST_ROUND_MS ? LEAST_ROUND_MS : ms;
	if ((err = kl_gate_open(out, repo, &gate_opts)) < 0)
		return err;
	if (kl_gate_is_remote(*out))
		return kl_error_hint(
			kl_error(KL_ECANNOT,
				 "states can be measured together only on this machine"),
			"unset klineage.runner, or run git klineage measure on the machine with "
			"the hardware");
	return 0;
}

/*
 * Compute the directory of the session. Its name is a digest of all that the measurements depend
 * on.
 */
static int store_of(char **out, struct kl_repo *repo, struct kl_gate *gate,
		    const struct kl_measured *measured, const struct kl_measure_opts *opts)
{
	struct kl_digest *digest = kl_digest_new();
	KL_AUTO(kl_freep) char *rounds = kl_asprintf("%lld", (long long)opts->rounds);
	char hex[KL_DIGEST_HEX];
	int err = 0;

	kl_digest_adds(digest, rounds);
	kl_digest_adds(digest, kl_jail_tier(kl_gate_jail(gate)));
	for (size_t i = 0; i < measured->n && !err; i++) {
		const struct kl_surface *surface = measured->state[i].surface;
		struct kl_platform platform;

		if ((err = kl_gate_platform(&platform, gate, surface)) < 0)
			break;
		kl_digest_adds(digest, surface->digest);
		kl_digest_adds(digest, surface->contract_digest);
		kl_digest_adds(digest, platform.id);
		kl_digest_adds(digest, platform.device);
		kl_digest_adds(digest, platform.compiler);
	}
	kl_digest_end(digest, hex);
	if (!err)
		*out = kl_asprintf("%s/klineage/measure/%s", kl_repo_common_dir(repo), hex);
	return err;
}

static int run_rounds(struct kl_measured *measured, struct kl_gate *gate, const char *store,
		      const struct kl_measure_opts *opts)
{
	KL_AUTO(kl_freep) struct kl_rounds_pair *pair = kl_calloc(measured->n, sizeof(*pair));
	KL_AUTO(kl_freep) struct kl_judgement **judgement = kl_calloc(measured->n,
								      sizeof(*judgement));
	struct kl_rounds rounds = {
		.gate = gate,
		.pair = pair,
		.n = measured->n,
		.rounds = (size_t)opts->rounds,
		.store = store,
		.wait_ms = opts->wait_ms,
		.progress = opts->progress,
	};
	int err;

	for (size_t i = 0; i < measured->n; i++)
		pair[i] = (struct kl_rounds_pair){
			.candidate = measured->state[i].surface,
			.parent = i ? measured->state[i - 1].surface : NULL,
		};
	err = kl_rounds_run(judgement, &rounds);
	for (size_t i = 0; i < measured->n; i++)
		measured->state[i].judgement = judgement[i];
	measured->made = rounds.made;
	measured->kept = rounds.kept;
	measured->busy = rounds.busy;
	measured->again = rounds.again;
	return err;
}

/* --- the events ---------------------------------------------------------------------- */

/*
 * Mark the event as one of a lineage, and copy the traits and their audit from the event that the
 * state already has, because a measurement cannot find them.
 */
static int keep_claims(struct kl_repo *repo, struct kl_measured *measured, size_t i, int64_t rounds)
{
	struct kl_event *event = measured->state[i].judgement->event;
	KL_AUTO(kl_event_freep) struct kl_event *old = NULL;
	int err = kl_view_event(&old, repo, &measured->state[i].commit);

	event->session.there = true;
	event->session.states = (int64_t)measured->n;
	event->session.rounds = rounds;
	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	for (size_t k = 0; old && k < old->facts.traits.n; k++)
		kl_map_put(&event->facts.traits, old->facts.traits.e[k].key,
			   kl_strdup(old->facts.traits.e[k].value));
	if (old && old->audit) {
		json_decref(event->audit);
		event->audit = json_incref(old->audit);
	}
	kl_event_seal(event);
	return 0;
}

/* Return the path of the file that marks a state's figures as noted; the caller frees it. */
static char *mark_path(const char *store, size_t i)
{
	return kl_asprintf("%s/noted-%zu", store, i);
}

static void find_useless(struct kl_measured *measured)
{
	for (size_t i = 0; i < measured->n; i++) {
		struct kl_measured_state *state = &measured->state[i];
		const struct kl_comparison *parent = kl_comparisons_parent(
			&state->judgement->event->profile.vs);

		if (state->judgement->event->verdict == KL_VERDICT_PASS)
			state->useless = parent ? kl_speed_is_useless(&parent->ratio) : i > 0;
		else
			state->useless = state->judgement->event->verdict ==
					 KL_VERDICT_INCONCLUSIVE;
	}
}

static int write_notes(struct kl_repo *repo, const struct kl_measured *measured, const char *store,
		       int sign)
{
	KL_AUTO(kl_noting_release) struct kl_noting noting = { .repo = repo, .sign = sign };
	int err = 0;

	for (size_t i = 0; i < measured->n && !err; i++) {
		const struct kl_measured_state *state = &measured->state[i];
		KL_AUTO(kl_freep) char *mark = mark_path(store, i);

		if (!state->useless && !kl_fs_exists(mark))
			err = kl_noting_add(&noting, &state->commit, state->judgement->event);
	}
	return err < 0 ? err : kl_noting_write(&noting);
}

/*
 * End the session and remove its store. But if figures are useless, remove only these and mark the
 * others as noted, so that the next session measures only the states with useless figures again.
 */
static int close_store(const struct kl_measured *measured, const char *store, int64_t rounds)
{
	size_t useless = 0;
	int err = 0;

	for (size_t i = 0; i < measured->n; i++)
		useless += measured->state[i].useless;
	if (!useless)
		return kl_fs_remove(store);
	for (size_t i = 0; i < measured->n && !err; i++) {
		KL_AUTO(kl_freep) char *mark = mark_path(store, i);

		if (measured->state[i].useless)
			err = kl_rounds_forget(store, i, (size_t)rounds);
		else
			err = kl_fs_write(mark, "", 0);
	}
	return err;
}

static int measure_states(struct kl_measured *measured, struct kl_repo *repo, bool lineage,
			  const struct kl_measure_opts *opts)
{
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = NULL;
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	KL_AUTO(kl_freep) char *store = NULL, *path = NULL;
	int err;

	if ((err = open_gate(&gate, repo, opts)) < 0 ||
	    (err = store_of(&store, repo, gate, measured, opts)) < 0 ||
	    (err = kl_fs_mkdir(store)) < 0)
		return err;
	path = kl_fs_join(store, "lock");
	err = kl_lock_take(&lock, path, 0);
	if (err == KL_EBUSY)
		return kl_error_in(err, "another process is measuring these states");
	if (err < 0 || (err = run_rounds(measured, gate, store, opts)) < 0)
		return err;
	for (size_t i = 0; i < measured->n && lineage && !err; i++)
		err = keep_claims(repo, measured, i, opts->rounds);
	find_useless(measured);
	if (err < 0 || (err = write_notes(repo, measured, store, opts->sign)) < 0)
		return err;
	return close_store(measured, store, opts->rounds);
}

/* --- measuring lineages and revisions ---------------------------------------------------------------- */

int kl_measure_lineage(struct kl_measured *out, struct kl_repo *repo, const struct kl_view *view,
		       const struct kl_measure_opts *opts)
{
	const char *platform = view->step[0].step.platform;
	struct kl_measure_opts own = *opts;
	int err = 0;

	if (!own.platform && platform && kl_prefix_has(platform, "cpu/"))
		own.platform = platform;
	*out = (struct kl_measured){ .state = kl_calloc(view->n, sizeof(*out->state)) };
	for (size_t i = 0; i < view->n && !err; i++) {
		struct kl_measured_state *state = &out->state[out->n++];
		git_oid tree;

		state->commit = view->step[i].commit;
		err = kl_repo_tree_of(&tree, repo, &state->commit);
		if (!err)
			err = kl_surface_from_tree(&state->surface, repo, &tree, "");
	}
	return err < 0 ? err : measure_states(out, repo, true, &own);
}

int kl_measure_revisions(struct kl_measured *out, struct kl_repo *repo, char *const *rev, size_t n,
			 const char *workload, const struct kl_measure_opts *opts)
{
	int err = 0;

	*out = (struct kl_measured){ .state = kl_calloc(n, sizeof(*out->state)) };
	for (size_t i = 0; i < n && !err; i++) {
		KL_AUTO(kl_selection_release) struct kl_selection selection = { 0 };

		err = kl_select(&selection, repo, KL_STATE_REV, rev[i], workload);
		if (err < 0)
			break;
		out->state[out->n++] = (struct kl_measured_state){
			.commit = selection.commit,
			.surface = kl_steal(&selection.candidate),
		};
	}
	return err < 0 ? err : measure_states(out, repo, false, opts);
}
