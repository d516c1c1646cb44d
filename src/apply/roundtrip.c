/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/roundtrip.h"

#include <stdio.h>
#include <string.h>

#include "apply/card_commit.h"
#include "base/error.h"
#include "base/prefix.h"
#include "event/note_writer.h"
#include "repo/refs.h"

#define PREFIX "refs/heads/klineage/lineage/"
#define MAX_STEPS 10000
#define ONE 1000000

void kl_roundtrip_forget(struct kl_roundtrip *rt)
{
	for (size_t i = 0; i < rt->n; i++)
		kl_materialize_release(&rt->v[i].m);
	rt->n = rt->successes = rt->noisy = rt->waiting = 0;
}

void kl_roundtrip_release(struct kl_roundtrip *rt)
{
	kl_roundtrip_forget(rt);
	free(rt->v);
	kl_surface_free(rt->root);
	kl_surface_free(rt->goal);
	free(rt->lineage);
	*rt = (struct kl_roundtrip){ 0 };
}

static int find_lineage(struct kl_roundtrip *out, struct kl_repo *repo, const char *lineage)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	const char *bare = kl_prefix_has(lineage, PREFIX) ? lineage + strlen(PREFIX) : lineage;
	KL_AUTO(kl_freep) char *prefix = kl_asprintf(PREFIX "%s%s", bare,
						     strchr(bare, '/') ? "" : "/");
	int err = kl_refs_list(&refs, repo, prefix);

	for (size_t i = 0; !err && i < refs.n; i++) {
		if (strchr(bare, '/') && strcmp(refs.ref[i].name, prefix))
			continue;
		if (out->lineage)
			return kl_error(KL_EUSAGE,
					"'%s' has several lineages; specify one as "
					"<workload>/<name>",
					bare);
		out->lineage = kl_strdup(refs.ref[i].name + strlen(PREFIX));
		out->expert = refs.ref[i].oid;
	}
	if (!err && !out->lineage)
		return kl_error(KL_ENOTFOUND, "there is no lineage '%s' here", bare);
	return err;
}

static int find_first(struct kl_roundtrip *out, struct kl_repo *repo)
{
	out->first = out->expert;
	for (int i = 0; i < MAX_STEPS; i++) {
		KL_AUTO(kl_freep) git_oid *parent = NULL;
		size_t n = 0;
		int err = kl_repo_parents(&parent, &n, repo, &out->first);

		if (err < 0 || !n)
			return err;
		out->first = parent[0];
	}
	return kl_error(KL_EINVALID, "lineage '%s' has more than %d steps", out->lineage,
			MAX_STEPS);
}

static int read_state(struct kl_surface **out, struct kl_repo *repo, const git_oid *commit)
{
	git_oid tree;
	int err = kl_repo_tree_of(&tree, repo, commit);

	return err < 0 ? err : kl_surface_from_tree(out, repo, &tree, "");
}

int kl_roundtrip_begin(struct kl_roundtrip *out, struct kl_repo *repo, const char *lineage)
{
	int err;

	*out = (struct kl_roundtrip){ 0 };
	if ((err = find_lineage(out, repo, lineage)) < 0 || (err = find_first(out, repo)) < 0 ||
	    (err = read_state(&out->root, repo, &out->first)) < 0)
		return err;
	return read_state(&out->goal, repo, &out->expert);
}

/* Add to a commit's note the event that compares the best result with K*. */
static int note_event(const struct kl_materialize_opts *opts, const git_oid *commit,
		      struct kl_event *event)
{
	KL_AUTO(kl_noting_release) struct kl_noting noting = { .repo = opts->repo };
	int err = kl_noting_add(&noting, commit, event);

	return err < 0 ? err : kl_noting_write(&noting);
}

static int weigh_trial(struct kl_roundtrip_trial *trial, const struct kl_judgement *judgement,
		       const struct kl_surface *goal, struct kl_gate *gate)
{
	bool same;
	int err;

	if (judgement->event->verdict == KL_VERDICT_FAIL)
		/* the kernel passed in the run but fails now: count nothing as recovered */
		return 0;
	if (judgement->event->verdict != KL_VERDICT_PASS)
		return kl_error(KL_ECANNOT, "the gate reached no verdict: %s",
				*judgement->event->message ?
					judgement->event->message :
					kl_verdict_name(judgement->event->verdict));
	if ((err = kl_card_commit_same_code(&same, gate, judgement, goal)) < 0)
		return err == KL_ENO ? kl_error_in(KL_ECANNOT, "the gate no longer accepts K*") :
				       err;
	kl_card_commit_speed(&trial->recovered, judgement->event);
	if (same)
		trial->recovered = (struct kl_ratio){ ONE, ONE, ONE };
	return trial->recovered.ppm ?
		       0 :
		       kl_error(KL_ECANNOT,
				"the speed of the result could not be compared with K* here");
}

static int compare_trial(struct kl_roundtrip_trial *trial, const struct kl_roundtrip *rt,
			 const struct kl_materialize_opts *opts)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	const struct kl_materialize_node *best = &trial->m.node[trial->m.best];
	int err;

	if (!strcmp(best->state->digest, rt->goal->digest)) {
		trial->recovered = (struct kl_ratio){ ONE, ONE, ONE };
		return 0;
	}
	if ((err = kl_card_commit_try(&judgement, opts->gate, best->state, rt->goal, false)) ||
	    (err = weigh_trial(trial, judgement, rt->goal, opts->gate)) < 0)
		return err;
	snprintf(trial->event, sizeof(trial->event), "%s", judgement->event->id);
	return note_event(opts, &best->commit, judgement->event);
}

/*
 * Return true if noise could hide a success: the interval of `recovered` contains the limit, or the
 * trial was not successful and one of its nodes had an ambiguous speed.
 */
static bool is_noisy(const struct kl_roundtrip_trial *trial)
{
	bool hidden = trial->recovered.lo < KL_ROUNDTRIP_SUCCESS &&
		      trial->recovered.hi >= KL_ROUNDTRIP_SUCCESS;

	for (size_t i = 0; !trial->success && i < trial->m.n; i++)
		hidden |= trial->m.v[i].outcome == KL_MATERIALIZE_NODE &&
			  trial->m.v[i].speed == KL_SPEED_AMBIGUOUS;
	return hidden;
}

static void set_trial_name(char name[65], const struct kl_materialize_opts *opts, size_t trial)
{
	snprintf(name, 65, "%.60s-%zu", opts->name, trial);
}

/* Return the options of a trial: those of the caller, with K_0 as the root. */
static struct kl_materialize_opts trial_opts(const struct kl_roundtrip *rt,
					     const struct kl_materialize_opts *opts)
{
	struct kl_materialize_opts run = *opts;

	run.root = rt->root;
	run.commit = rt->first;
	return run;
}

int kl_roundtrip_check(const struct kl_roundtrip *rt, const struct kl_materialize_opts *opts,
		       size_t trials)
{
	struct kl_materialize_opts run = trial_opts(rt, opts);
	char name[65];
	int err = 0;

	run.name = name;
	for (size_t i = 1; !err && i <= trials; i++) {
		set_trial_name(name, opts, i);
		err = kl_materialize_check(&run);
	}
	return err;
}

int kl_roundtrip_trial(struct kl_roundtrip *rt, const struct kl_materialize_opts *opts)
{
	struct kl_materialize_opts run = trial_opts(rt, opts);
	struct kl_roundtrip_trial *trial;
	int err;

	KL_GROW(rt->v, rt->n + 1, rt->alloc);
	trial = &rt->v[rt->n++];
	*trial = (struct kl_roundtrip_trial){ .recovered = { 0 } };
	rt->arm = opts->arm;
	rt->held_out = opts->without != NULL;
	set_trial_name(trial->name, opts, rt->n);
	run.name = trial->name;
	err = kl_materialize(&trial->m, &run);
	if (!err)
		err = trial->m.waiting ? KL_CARD_COMMIT_LATER : compare_trial(trial, rt, &run);
	if (err < 0)
		return kl_error_in(err, "trial %zu", rt->n);
	if (err == KL_CARD_COMMIT_LATER) {
		rt->waiting++;
		return 0;
	}
	trial->success = trial->recovered.ppm >= KL_ROUNDTRIP_SUCCESS;
	trial->noisy = is_noisy(trial);
	rt->successes += trial->success;
	rt->noisy += trial->noisy;
	return 0;
}
