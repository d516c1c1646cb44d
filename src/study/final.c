/* SPDX-License-Identifier: Apache-2.0 */
#include "study/final.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/proc.h"
#include "event/note_writer.h"
#include "study/final_parts.h"

/* a kernel to measure */
struct subject {
	const struct kl_study_task *task;
	git_oid commit;
	char surface[KL_DIGEST_HEX];
	bool expert;
};

struct measuring {
	const struct kl_final_opts *opts;
	struct kl_final final;
	struct kl_gate *gate;
	struct subject *v;
	size_t n, alloc;
};

static void measuring_release(struct measuring *measuring)
{
	kl_final_release(&measuring->final);
	kl_gate_free(measuring->gate);
	free(measuring->v);
}

/* --- the kernels ----------------------------------------------------------------------------- */

static int load_kernel(struct kl_surface **out, struct kl_repo *repo,
		       const struct kl_study_task *task, const git_oid *commit)
{
	git_oid tree;
	int err = kl_repo_tree_of(&tree, repo, commit);

	return err < 0 ? err : kl_surface_from_tree(out, repo, &tree, task->place);
}

/* Add a kernel unless the task has it already: several cells can find the same one. */
static void add_subject(struct measuring *measuring, const struct subject *subject)
{
	for (size_t i = 0; i < measuring->n; i++)
		if (measuring->v[i].task == subject->task &&
		    measuring->v[i].expert == subject->expert &&
		    !strcmp(measuring->v[i].surface, subject->surface))
			return;
	KL_GROW(measuring->v, measuring->n + 1, measuring->alloc);
	measuring->v[measuring->n++] = *subject;
}

static int add_winners(struct measuring *measuring)
{
	const struct kl_study *study = measuring->opts->study;
	int err = 0;

	for (size_t i = 0; !err && i < kl_study_cells(study); i++) {
		KL_AUTO(kl_standing_release) struct kl_standing standing = { 0 };
		struct kl_study_cell cell;
		struct subject subject;

		kl_study_cell(&cell, study, i);
		err = kl_standing_load(&standing, measuring->opts->repo, study, &cell);
		if (err < 0 || standing.state != KL_STANDING_ENDED || !standing.best)
			continue;
		subject = (struct subject){ .task = cell.task };
		subject.commit = standing.chain.v[standing.best].commit;
		snprintf(subject.surface, sizeof(subject.surface), "%s",
			 standing.chain.v[standing.best].seen.surface);
		add_subject(measuring, &subject);
	}
	return err;
}

static int add_experts(struct measuring *measuring)
{
	const struct kl_study *study = measuring->opts->study;

	for (size_t i = 0; i < study->ntask; i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
		struct subject subject = { .task = &study->task[i], .expert = true };
		int err;

		subject.commit = study->task[i].expert;
		if (git_oid_is_zero(&subject.commit))
			continue;
		if ((err = load_kernel(&surface, measuring->opts->repo, subject.task,
				       &subject.commit)) < 0)
			return err;
		snprintf(subject.surface, sizeof(subject.surface), "%s", surface->digest);
		add_subject(measuring, &subject);
	}
	return 0;
}

/* --- measuring ------------------------------------------------------------------------------- */

static bool is_measured(const struct measuring *measuring, const struct subject *subject,
			int64_t round)
{
	for (size_t i = 0; i < measuring->final.n; i++) {
		const struct kl_final_line *line = &measuring->final.v[i];

		if (line->round == round && line->expert == subject->expert &&
		    !strcmp(line->task, subject->task->id) &&
		    !strcmp(line->surface, subject->surface))
			return true;
	}
	return false;
}

static int judge_subject(struct kl_judgement **out, struct measuring *measuring,
			 const struct subject *subject)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *kernel = NULL;
	KL_AUTO(kl_surface_freep) struct kl_surface *root = NULL;
	struct kl_repo *repo = measuring->opts->repo;
	int err;

	if ((err = load_kernel(&kernel, repo, subject->task, &subject->commit)) < 0 ||
	    (err = load_kernel(&root, repo, subject->task, &subject->task->root)) < 0 ||
	    (err = kl_gate_reaches(measuring->gate, root)) < 0 ||
	    (err = kl_gate_judge_anew(out, measuring->gate, kernel, root)) < 0)
		return err;
	if ((*out)->deferred)
		return kl_error(KL_ECANNOT, "the final measurements need a runner that returns "
					    "results at once; see klineage.runner");
	if ((*out)->event->verdict == KL_VERDICT_NOT_RUN)
		return kl_error(KL_ECANNOT, "the gate did not run: %s", (*out)->event->message);
	return 0;
}

static int measure_subject(struct measuring *measuring, const struct subject *subject,
			   int64_t round)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	KL_AUTO(kl_noting_release) struct kl_noting noting = { .repo = measuring->opts->repo };
	struct kl_final_line line = { .round = round, .expert = subject->expert };
	const struct kl_comparison *root;
	int err = judge_subject(&judgement, measuring, subject);

	if (err < 0 || (err = kl_noting_add(&noting, &subject->commit, judgement->event)) < 0 ||
	    (err = kl_noting_write(&noting)) < 0)
		return err;
	root = kl_comparisons_parent(&judgement->event->profile.vs);
	snprintf(line.task, sizeof(line.task), "%s", subject->task->id);
	snprintf(line.surface, sizeof(line.surface), "%s", subject->surface);
	snprintf(line.event, sizeof(line.event), "%s", judgement->event->id);
	if (judgement->event->verdict == KL_VERDICT_PASS && root) {
		line.ppm = root->ratio.ppm;
		line.lo = root->ratio.lo;
		line.hi = root->ratio.hi;
	}
	return kl_final_append(&measuring->final, measuring->opts->repo, measuring->opts->study,
			       &line);
}

/* Measure all kernels once, in the order that is drawn for this round. */
static int measure_round(size_t *made, struct measuring *measuring, int64_t round)
{
	KL_AUTO(kl_freep) int64_t *order = kl_calloc(measuring->n, sizeof(*order));
	char key[KL_DIGEST_HEX];
	struct kl_draws draws = { .key = key, .ticket = round };
	struct kl_rng rng;
	int err = 0;

	kl_draw_key(key, measuring->opts->study->name, "final", "order", 0);
	kl_draw_open(&rng, &draws, "order");
	for (size_t i = 0; i < measuring->n; i++)
		order[i] = (int64_t)i;
	kl_draw_sample(&rng, order, measuring->n, measuring->n);
	for (size_t i = 0; !err && i < measuring->n; i++) {
		const struct subject *subject = &measuring->v[order[i]];

		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		if (is_measured(measuring, subject, round))
			continue;
		kl_progress_title(measuring->opts->progress, "round %lld: %s", (long long)round,
				  subject->task->id);
		err = measure_subject(measuring, subject, round);
		*made += !err;
	}
	return err;
}

static int open_gate(struct measuring *measuring)
{
	const struct kl_final_opts *opts = measuring->opts;
	struct kl_gate_opts gate = { .progress = opts->progress,
				     .jail = opts->jail,
				     .platform = opts->platform };
	int err = kl_repo_config_int(&gate.profile_ms, opts->repo, "klineage.profileMs", 0);

	return err < 0 ? err : kl_gate_open(&measuring->gate, opts->repo, &gate);
}

int kl_final_measure(size_t *made, const struct kl_final_opts *opts)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	KL_AUTO(measuring_release) struct measuring measuring = { .opts = opts };
	int err;

	*made = 0;
	if (strcmp(opts->study->judge, "real") != 0)
		return kl_error(KL_EINVALID,
				"the verdicts of study '%s' come from tables; measurements cannot "
				"be mixed with them",
				opts->study->name);
	if ((err = kl_study_lock(&lock, opts->repo, opts->study)) < 0 ||
	    (err = kl_final_load(&measuring.final, opts->repo, opts->study)) < 0 ||
	    (err = add_winners(&measuring)) < 0)
		return err;
	if (!measuring.n)
		return kl_error(KL_ENO,
				"study '%s' has no winner yet: no cell that has ended is "
				"faster than its root",
				opts->study->name);
	if ((err = add_experts(&measuring)) < 0 || (err = open_gate(&measuring)) < 0)
		return err;
	for (int64_t round = 1; !err && round <= opts->study->final; round++)
		err = measure_round(made, &measuring, round);
	return err;
}
