/* SPDX-License-Identifier: Apache-2.0 */
/* transplant_judge - judges the cells of a transplant, the most telling first */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "event/speed.h"
#include "transplant/step_merge.h"
#include "transplant/transplant.h"
#include "transplant/transplant_log.h"
#include "transplant/transplant_parts.h"

struct judging {
	struct kl_transplant *transplant;
	struct kl_repo *repo;
	const struct kl_transplant_opts *opts;
};

bool kl_transplant_is_late(struct kl_transplant *transplant, const struct kl_transplant_opts *opts)
{
	if (opts->deadline_ns && kl_clock_ns() >= opts->deadline_ns)
		transplant->late = true;
	return transplant->late;
}

static bool is_late(struct judging *judging)
{
	return kl_transplant_is_late(judging->transplant, judging->opts);
}

void kl_transplant_forget(struct kl_transplant *transplant)
{
	size_t n = kl_transplant_steps(transplant);

	for (size_t step = 1; step <= n; step++)
		for (size_t place = 0; place <= n; place++)
			kl_transplant_at(transplant, step, place)->asked = false;
	transplant->judged = transplant->known = transplant->waiting = 0;
	transplant->late = false;
}

/*
 * Return true if the kernel should be measured again because of noise. If the verdict was known
 * before, this is so only if its interval says nothing at all, or if it came from elsewhere and is
 * the first one.
 */
static bool is_noisy(const struct kl_transplant_opts *opts, const struct kl_judgement *judgement)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&judgement->event->profile.vs);

	if (judgement->deferred || judgement->event->verdict != KL_VERDICT_PASS || !parent)
		return false;
	if (opts->is_again)
		return parent->speed == KL_SPEED_AMBIGUOUS &&
		       !opts->is_again(judgement->event, opts->payload);
	return kl_speed_is_useless(&parent->ratio) ||
	       (!judgement->cached && parent->speed == KL_SPEED_AMBIGUOUS);
}

int kl_transplant_judge_kernel(struct kl_judgement **out, const struct kl_transplant_opts *opts,
			       const struct kl_surface *kernel, const struct kl_surface *parent)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	int err = opts->judge(&judgement, kernel, parent, opts->payload);

	if (!err && opts->judge_anew && is_noisy(opts, judgement)) {
		kl_judgement_free(kl_steal(&judgement));
		err = opts->judge_anew(&judgement, kernel, parent, opts->payload);
	}
	if (err < 0)
		return err;
	if (judgement->event->verdict == KL_VERDICT_NOT_RUN && !judgement->deferred)
		return kl_error(KL_ECANNOT, "the gate cannot judge here: %s",
				judgement->event->message);
	*out = kl_steal(&judgement);
	return 0;
}

bool kl_transplant_count(struct kl_transplant *transplant, const struct kl_judgement *judgement)
{
	if (judgement->deferred)
		transplant->waiting++;
	else if (judgement->cached)
		transplant->known++;
	else
		transplant->judged++;
	return !judgement->deferred;
}

/* Move the event of a judgement to *event. Set *is_new unless *event was the same event before. */
static bool take_event(struct judging *judging, struct kl_event **event, bool *is_new,
		       const struct kl_judgement *judgement)
{
	if (!kl_transplant_count(judging->transplant, judgement))
		return false;
	*is_new = !*event || strcmp((*event)->id, judgement->event->id) != 0;
	if (*is_new) {
		kl_event_free(*event);
		*event = kl_event_ref(judgement->event);
	}
	return true;
}

static int judge_cell(struct judging *judging, size_t step, size_t place)
{
	struct kl_transplant *transplant = judging->transplant;
	struct kl_transplant_cell *cell = kl_transplant_at(transplant, step, place);
	const struct kl_step *of = &transplant->view.step[step].step;
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	KL_AUTO(kl_surface_freep) struct kl_surface *kernel = NULL;
	bool is_new = false;
	int err;

	if (cell->asked || (cell->state != KL_CELL_OPEN && cell->state != KL_CELL_JUDGED) ||
	    is_late(judging))
		return 0;
	cell->asked = true;
	kl_progress_title(judging->opts->progress, "%s %s of K_%zu at K_%zu",
			  place >= step ? "undo" : "put in", of->mechanism ? of->mechanism : "-",
			  step, place);
	err = kl_transplant_merge(&kernel, judging->repo, transplant, step, place);
	if (!err)
		err = kl_transplant_judge_kernel(&judgement, judging->opts, kernel,
						 transplant->state[place]);
	if (err < 0)
		return kl_error_in(err, "K_%zu with step %zu %s", place, step,
				   place >= step ? "undone" : "put in");
	if (!take_event(judging, &cell->event, &is_new, judgement))
		return 0;
	cell->state = KL_CELL_JUDGED;
	return is_new ? kl_transplant_log_add(transplant, judging->repo, step, place, kernel,
					      judging->opts->sign) :
			0;
}

/* Judge K* against K_{n-1}. Return an error if K* fails, because nothing else counts then. */
static int judge_expert(struct judging *judging)
{
	struct kl_transplant *transplant = judging->transplant;
	size_t n = kl_transplant_steps(transplant);
	const struct kl_transplant_cell *cell = kl_transplant_at(transplant, n, n - 1);
	int err = judge_cell(judging, n, n - 1);
	const char *message;

	if (err < 0 || kl_transplant_finding(cell) != KL_CELL_FAILS)
		return err;
	message = *cell->event->message ? cell->event->message : kl_event_class(cell->event);
	err = kl_error(KL_ENO, "the expert of %s/%s fails now: %.*s", transplant->view.workload,
		       transplant->view.name, (int)kl_judgement_reason(message), message);
	return kl_error_hint(err, "judge it alone: git klineage gate %s", transplant->view.ref);
}

/* Judge K_0 alone, to find out whether a failure at K_0 is due to the step or to K_0 itself. */
static int judge_root(struct judging *judging)
{
	struct kl_transplant *transplant = judging->transplant;
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	bool is_new = false;
	int err;

	if (is_late(judging))
		return 0;
	err = kl_transplant_judge_kernel(&judgement, judging->opts, transplant->state[0], NULL);
	if (err < 0)
		return kl_error_in(err, "K_0");
	if (!take_event(judging, &transplant->root, &is_new, judgement) || !is_new)
		return 0;
	return kl_transplant_log_root(transplant, judging->repo, judging->opts->sign);
}

/*
 * If K* fails without a step, undo the step at the states before K*, one after the other, until one
 * fails. The step that leads to this state needs the undone step.
 */
static int find_needer(struct judging *judging, size_t step)
{
	struct kl_transplant *transplant = judging->transplant;
	size_t n = kl_transplant_steps(transplant);
	const struct kl_transplant_cell *cell = kl_transplant_at(transplant, step, n);
	int err = 0;

	if (kl_transplant_finding(cell) != KL_CELL_FAILS)
		return 0;
	for (size_t place = step + 1; !err && place < n; place++) {
		err = judge_cell(judging, step, place);
		cell = kl_transplant_at(transplant, step, place);
		if (kl_transplant_finding(cell) == KL_CELL_FAILS)
			break;
	}
	return err;
}

/* Judge the steps first..last at the places where the step was not made: the nearest ones first. */
static int put_in_steps(struct judging *judging, size_t first, size_t last)
{
	bool root_needed = false;
	int err = 0;

	for (size_t back = 1; !err && back <= last; back++)
		for (size_t step = first; !err && step <= last; step++) {
			if (back > step)
				continue;
			err = judge_cell(judging, step, step - back);
			root_needed |= back == step &&
				       kl_transplant_finding(kl_transplant_at(
					       judging->transplant, step, 0)) == KL_CELL_FAILS;
		}
	return !err && root_needed ? judge_root(judging) : err;
}

static int judge_all(struct judging *judging)
{
	size_t n = kl_transplant_steps(judging->transplant);
	size_t first = judging->opts->step ? judging->opts->step : 1;
	size_t last = judging->opts->step ? judging->opts->step : n;
	int err = judge_expert(judging);

	for (size_t step = last; !err && step >= first; step--)
		err = judge_cell(judging, step, n);
	if (err || judging->opts->at_expert)
		return err;
	err = put_in_steps(judging, first, last);
	for (size_t step = first; !err && step <= last; step++)
		err = find_needer(judging, step);
	return err;
}

int kl_transplant_lock(struct kl_lock *lock, struct kl_repo *repo,
		       const struct kl_transplant *transplant)
{
	KL_AUTO(kl_freep) char *dir = kl_asprintf(
		"%s/klineage/transplant/%s", kl_repo_common_dir(repo), transplant->view.workload);
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s.lock", dir, transplant->view.name);
	int err = kl_fs_mkdir(dir);

	if (!err)
		err = kl_lock_take(lock, path, 0);
	if (err == KL_EBUSY)
		return kl_error_reword(err,
				       "another process transplants or prunes the steps of %s/%s",
				       transplant->view.workload, transplant->view.name);
	return err;
}

int kl_transplant_judge_locked(struct kl_transplant *transplant, struct kl_repo *repo,
			       const struct kl_transplant_opts *opts)
{
	struct judging judging = { .transplant = transplant, .repo = repo, .opts = opts };

	return judge_all(&judging);
}

int kl_transplant_judge(struct kl_transplant *transplant, struct kl_repo *repo,
			const struct kl_transplant_opts *opts)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	int err = kl_transplant_lock(&lock, repo, transplant);

	return err < 0 ? err : kl_transplant_judge_locked(transplant, repo, opts);
}
