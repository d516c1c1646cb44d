/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/rounds.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/quiet.h"
#include "base/rng.h"
#include "event/pooled.h"
#include "gate/gate_parts.h"

/* first pause on a busy machine; each later pause is twice as long as the one before */
#define NAP_MS 1000
#define MOST_NAP_MS 30000 /* longest pause */
#define MAX_RESULT ((size_t)16 << 20)

/* --- the store ----------------------------------------------------------------------- */

static char *store_path(const char *store, size_t i, size_t round)
{
	return kl_asprintf("%s/%zu-%zu.json", store, i, round);
}

int kl_rounds_forget(const char *store, size_t i, size_t rounds)
{
	int err = 0;

	for (size_t round = 0; round < rounds && !err; round++) {
		KL_AUTO(kl_freep) char *path = store_path(store, i, round);

		err = kl_fs_remove(path);
	}
	return err;
}

/* Return a stored result, or NULL if there is none or it is damaged. */
static json_t *load_result(const struct kl_rounds *rounds, size_t i, size_t round)
{
	KL_AUTO(kl_freep) char *path = store_path(rounds->store, i, round);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	json_t *result = NULL;

	if (kl_fs_read(&text, path, MAX_RESULT) < 0 ||
	    kl_json_parse(&result, text.ptr, text.len) < 0)
		kl_error_clear();
	return result;
}

static int store_result(const struct kl_rounds *rounds, size_t i, size_t round,
			const json_t *result)
{
	KL_AUTO(kl_freep) char *path = store_path(rounds->store, i, round);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_json_canonical(&text, result);
	return kl_fs_write(path, text.ptr, text.len);
}

/* --- a quiet machine ----------------------------------------------------------------- */

static int take_nap(int64_t ms)
{
	int64_t end = kl_clock_ns() + ms * 1000000;

	while (kl_clock_ns() < end) {
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		kl_clock_sleep_ms(100);
	}
	return 0;
}

/* Wait until the machine is quiet, or until the time for waiting is spent. */
static int await_quiet(struct kl_rounds *rounds)
{
	int64_t nap = NAP_MS, waited = 0;
	struct kl_quiet quiet;
	int err = 0;

	while (!err && rounds->wait_ms > 0) {
		int64_t start = kl_clock_ns(), took;

		kl_quiet_measure(&quiet);
		if (kl_quiet_is(&quiet))
			return 0;
		if (nap > rounds->wait_ms)
			nap = rounds->wait_ms;
		kl_progress_wait(
			rounds->progress, waited + 1,
			"the machine is busy: load %.1f, other programs took %.0f %% of the "
			"time, two runs of the same work differ by up to %.1f %%; measuring "
			"in %lld s",
			quiet.load, (double)quiet.lost_ppm / 1e4, (double)quiet.noise_ppm / 1e4,
			(long long)(nap + 999) / 1000);
		err = take_nap(nap);
		took = (kl_clock_ns() - start) / 1000000;
		waited += took;
		rounds->wait_ms -= took;
		nap = 2 * nap < MOST_NAP_MS ? 2 * nap : MOST_NAP_MS;
	}
	return err;
}

/*
 * Return the greatest distance from 1 of a bound of a result's A/A intervals, in ppm, or 0 if it
 * has no such interval.
 */
static int64_t noise_of(const json_t *result)
{
	const json_t *points = json_object_get(json_object_get(result, "profile"), "points");
	int64_t most = 0;
	size_t i;
	json_t *point;

	json_array_foreach(points, i, point) {
		const json_t *again = json_object_get(point, "aa");
		int64_t above = kl_json_int_or(again, "hi_ppm", 1000000) - 1000000;
		int64_t below = 1000000 - kl_json_int_or(again, "lo_ppm", 1000000);

		most = above > most ? above : most;
		most = below > most ? below : most;
	}
	return most;
}

/* --- one measurement ----------------------------------------------------------------- */

static bool has_status(const json_t *result, const char *status)
{
	return !strcmp(kl_json_str_or(result, "status", ""), status);
}

/* Return true if the times of a result are inconclusive or too noisy for a quiet machine. */
static bool is_noisy(const json_t *result)
{
	return has_status(result, "inconclusive") ||
	       (has_status(result, "pass") && noise_of(result) > KL_QUIET_PPM);
}

/* Remove all stages of the job except the profile. */
static void only_profile(json_t *job)
{
	json_t *list = json_object_get(job, "do");

	for (size_t i = json_array_size(list); i-- > 0;)
		if (strcmp(json_string_value(json_array_get(list, i)), "profile") != 0)
			json_array_remove(list, i);
}

/*
 * Run the job of a pair. If `whole` is set, also run the stages before the profile. *result stays
 * NULL if the candidate was refused.
 */
static int run_pair(json_t **result, struct kl_rounds *rounds, size_t i, bool whole)
{
	const struct kl_rounds_pair *pair = &rounds->pair[i];
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	KL_AUTO(json_decrefp) json_t *job = NULL;
	struct kl_gate_task task = { .candidate = NULL };
	int err = kl_gate_task_open(&judgement, &task, rounds->gate, pair->candidate, pair->parent);

	if (err < 0 || !task.candidate->artefact ||
	    (err = kl_gate_job_make(&job, rounds->gate, pair->candidate, &task)) < 0)
		return err;
	if (!whole)
		only_profile(job);
	return kl_gate_job_run(result, rounds->gate, pair->candidate, task.backend, job);
}

/* Measure a pair on a quiet machine, or on a busy one if the time for waiting is spent. */
static int measure_quietly(json_t **result, struct kl_rounds *rounds, size_t i, bool whole)
{
	for (;;) {
		int64_t start;
		int err = await_quiet(rounds);

		start = kl_clock_ns();
		if (err < 0 || (err = run_pair(result, rounds, i, whole)) < 0)
			return err;
		rounds->made++;
		if (!*result || !is_noisy(*result))
			return 0;
		if (rounds->wait_ms <= 0) {
			rounds->busy++;
			return 0;
		}
		rounds->wait_ms -= (kl_clock_ns() - start) / 1000000;
		rounds->again++;
		json_decref(kl_steal(result));
	}
}

static int measure_pair(bool *failed, struct kl_rounds *rounds, size_t i, size_t round)
{
	KL_AUTO(json_decrefp) json_t *result = load_result(rounds, i, round);
	int err = 0;

	if (result) {
		rounds->kept++;
		*failed = has_status(result, "fail");
		return 0;
	}
	kl_progress_title(rounds->progress, "measure %s, round %zu of %zu: state %zu",
			  rounds->pair[i].candidate->contract->workload, round + 1, rounds->rounds,
			  i);
	err = measure_quietly(&result, rounds, i, !round);
	*failed = !result || has_status(result, "fail");
	return err < 0 || !result ? err : store_result(rounds, i, round, result);
}

/* --- the verdicts -------------------------------------------------------------------- */

/* Combine the results of all rounds: return the result of the first, with the pooled profile. */
static json_t *pool_results(const struct kl_rounds *rounds, size_t i)
{
	KL_AUTO(kl_freep) json_t **profile = kl_calloc(rounds->rounds, sizeof(*profile));
	KL_AUTO(kl_freep) char *note = NULL;
	json_t *first = load_result(rounds, i, 0), *pooled;
	size_t n = 0;

	for (size_t round = 0; round < rounds->rounds; round++) {
		KL_AUTO(json_decrefp) json_t *result = load_result(rounds, i, round);

		/* leave out a round that gave no usable times */
		if (has_status(result, "pass") &&
		    json_array_size(json_object_get(json_object_get(result, "profile"), "points")))
			profile[n++] = json_incref(json_object_get(result, "profile"));
	}
	pooled = kl_pooled_profile(profile, n);
	if (first && pooled && json_object_get(first, "correct")) {
		/* the kernel is correct, even if the first round gave no usable times */
		kl_json_set_str(first, "status", "pass");
		json_object_del(first, "message");
		kl_json_set(first, "profile", json_incref(pooled));
		note = kl_asprintf("measured in %zu round%s together with the %zu other states", n,
				   n == 1 ? "" : "s", rounds->n - 1);
		if (!json_is_array(json_object_get(pooled, "notes")))
			kl_json_set(pooled, "notes", json_array());
		json_array_append_new(json_object_get(pooled, "notes"), json_string(note));
	}
	for (size_t k = 0; k < n; k++)
		json_decref(profile[k]);
	json_decref(pooled);
	return first;
}

/* Return the first result that is a fail, or NULL if there is none. */
static json_t *find_failure(const struct kl_rounds *rounds, size_t i)
{
	for (size_t round = 0; round < rounds->rounds; round++) {
		json_t *result = load_result(rounds, i, round);

		if (has_status(result, "fail"))
			return result;
		json_decref(result);
	}
	return NULL;
}

static int conclude_pair(struct kl_judgement **out, struct kl_rounds *rounds, size_t i)
{
	const struct kl_rounds_pair *pair = &rounds->pair[i];
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	KL_AUTO(json_decrefp) json_t *result = find_failure(rounds, i);
	struct kl_gate_task task = { .candidate = NULL };
	int err = kl_gate_task_open(&judgement, &task, rounds->gate, pair->candidate, pair->parent);

	if (err < 0)
		return err;
	if (!result)
		result = pool_results(rounds, i);
	if (result)
		kl_gate_task_take(judgement, &task, pair->candidate, pair->parent, result);
	kl_event_seal(judgement->event);
	*out = kl_steal(&judgement);
	return 0;
}

int kl_rounds_run(struct kl_judgement **out, struct kl_rounds *rounds)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(rounds->n + 1, sizeof(*order));
	KL_AUTO(kl_freep) bool *failed = kl_calloc(rounds->n + 1, sizeof(*failed));
	struct kl_rng rng;
	int err = 0;

	kl_rng_fresh(&rng);
	for (size_t i = 0; i < rounds->n; i++)
		order[i] = i;
	for (size_t round = 0; round < rounds->rounds && !err; round++) {
		kl_rng_shuffle(&rng, order, rounds->n, sizeof(*order));
		for (size_t k = 0; k < rounds->n && !err; k++)
			if (!failed[order[k]])
				err = kl_gate_trouble(
					measure_pair(&failed[order[k]], rounds, order[k], round));
	}
	for (size_t i = 0; i < rounds->n && !err; i++)
		err = kl_gate_trouble(conclude_pair(&out[i], rounds, i));
	return err;
}
