/* SPDX-License-Identifier: Apache-2.0 */
/* gate_judge - judges a candidate: recalls its verdict, or compiles it and runs or defers a job */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "event/cache.h"
#include "event/event.h"
#include "event/judgement.h"
#include "event/segment_verdict.h"
#include "event/trusted_verdict.h"
#include "gate/gate_parts.h"

/*
 * Return how well the run is confined. A worker on another machine does not run in our jail, but
 * itself confines the process that runs the kernel.
 */
static enum kl_tier tier_of(const struct kl_gate *gate, const struct kl_backend *backend)
{
	if (backend->tier != KL_TIER_OTHER)
		return backend->tier;
	if (!gate->runner.way->run)
		return KL_TIER_HOST_RESTRICTED;
	return kl_tier_parse(kl_jail_tier(&gate->jail));
}

static void set_place(struct kl_event *event, const struct kl_platform *platform,
		      const struct kl_surface *surface)
{
	event->place.id = kl_event_keep(event, platform->id);
	event->place.device = kl_event_keep(event, platform->device);
	event->place.compiler = kl_event_keep(event, platform->compiler);
	kl_strvec_copy(&event->place.flags, &surface->contract->flags);
}

/* Create an event and fill in the members that do not depend on the verdict. */
static struct kl_event *event_new(struct kl_gate *gate, const struct kl_surface *surface,
				  const struct kl_gate_task *task)
{
	struct kl_event *event = kl_event_new();
	const char *identity = NULL;
	char now[21];

	kl_clock_iso(now);
	event->kind = gate->point ? KL_KIND_PROBE : gate->opts.quick ? KL_KIND_CHECK : KL_KIND_GATE;
	event->time = kl_event_keep(event, now);
	event->workload = kl_event_keep(event, surface->contract->workload);
	event->policy = KL_GATE_POLICY;
	event->surface = kl_event_keep(event, surface->digest);
	event->contract = kl_event_keep(event, surface->contract_digest);
	event->tier = tier_of(gate, task->backend);
	set_place(event, &task->platform, surface);
	if (gate->repo && kl_repo_identity(&identity, gate->repo) < 0)
		/*
		 * a verdict needs no identity; the code that writes a note reports a missing
		 * identity
		 */
		kl_error_clear();
	event->by = kl_event_keep(event, identity);
	if (gate->point)
		event->point = json_deep_copy(gate->point->member);
	return event;
}

static int64_t *point_weights(const struct kl_contract *contract)
{
	int64_t *weights = kl_calloc(contract->nperf + 1, sizeof(*weights));

	for (size_t i = 0; i < contract->nperf; i++)
		weights[i] = contract->perf[i].weight;
	return weights;
}

/* Return the description of a task for kl_judgement_take(); `weight` is from point_weights(). */
static struct kl_judgement_of describe_task(const struct kl_gate_task *task,
					    const struct kl_surface *surface,
					    const struct kl_surface *parent, const int64_t *weight)
{
	return (struct kl_judgement_of){
		.workload = surface->contract->workload,
		.weight = weight,
		.nweight = surface->contract->nperf,
		.parent = task->parent && task->parent->artefact ? parent->digest : NULL,
	};
}

/* Add the job to the bundle, with the draft of its event. */
static int defer_judgement(struct kl_judgement *judgement, struct kl_gate *gate, const json_t *job,
			   const struct kl_judgement_of *of, struct kl_bundle_job *bundle_job)
{
	int err;

	bundle_job->job = job;
	bundle_job->event = judgement->event;
	bundle_job->of = of;
	err = kl_bundle_add(gate->bundle, bundle_job);
	kl_judgement_set(judgement, KL_VERDICT_NOT_RUN, NULL,
			 "the job waits to be judged on another machine");
	judgement->deferred = true;
	return err;
}

static bool same_code(const struct kl_built *candidate, const struct kl_built *parent)
{
	return candidate && parent && candidate->artefact && parent->artefact &&
	       !strcmp(candidate->artefact->facts.code_digest, parent->artefact->facts.code_digest);
}

/* Return the parent to compare the candidate with; NULL if there is none. */
static const struct kl_surface *compared_parent(const struct kl_gate *gate,
						const struct kl_surface *parent)
{
	return gate->opts.quick ? NULL : parent;
}

/* Compile everything that the judgement needs. If the candidate is refused, set the verdict. */
static int build_task(struct kl_gate_task *task, struct kl_judgement *judgement,
		      struct kl_gate *gate, const struct kl_surface *surface,
		      const struct kl_surface *parent)
{
	const struct kl_builder_needs needs = {
		.candidate = surface,
		.parent = compared_parent(gate, parent),
		.march = gate->opts.no_profile ? NULL : task->platform.march,
	};
	struct kl_builder_set set;
	int err = kl_builder_all(&set, &gate->builder, &needs);

	if (err < 0)
		return err;
	task->oracle = set.oracle;
	task->candidate = set.candidate;
	task->parent = set.parent;
	task->baseline = set.baseline;
	if (!task->candidate->artefact) {
		kl_judgement_set(judgement, KL_VERDICT_FAIL, task->candidate->class_,
				 task->candidate->message);
		return 0;
	}
	kl_judgement_facts(judgement, &task->candidate->artefact->facts);
	judgement->event->statics = json_incref(task->candidate->artefact->statics);
	kl_judgement_notes(judgement, &task->candidate->artefact->notes);
	return 0;
}

/* Compile the candidate, run or defer its job, and fill in the judgement and its event. */
static int judge_task(struct kl_judgement *judgement, struct kl_gate *gate,
		      struct kl_gate_task *task, const struct kl_surface *surface,
		      const struct kl_surface *parent, struct kl_bundle_job *bundle_job)
{
	KL_AUTO(json_decrefp) json_t *job = NULL, *result = NULL;
	KL_AUTO(kl_freep) int64_t *weight = point_weights(surface->contract);
	struct kl_judgement_of of;
	int err = build_task(task, judgement, gate, surface, parent);

	if (err < 0 || !task->candidate->artefact)
		return err;
	if (gate->opts.same_code_fails && same_code(task->candidate, task->parent)) {
		kl_judgement_set(judgement, KL_VERDICT_FAIL, kl_failure_name(KL_FAILURE_NO_CHANGE),
				 "the machine code is the same as before the change");
		return 0;
	}
	of = describe_task(task, surface, parent, weight);
	if (gate->opts.dims)
		of.nweight = 1;
	if ((err = kl_gate_job_make(&job, gate, surface, task)) < 0)
		return err;
	if (!gate->runner.way->run)
		return defer_judgement(judgement, gate, job, &of, bundle_job);
	if ((err = kl_gate_job_run(&result, gate, surface, task->backend, job)) < 0)
		return err;
	kl_judgement_take(judgement, result, &of);
	return 0;
}

int kl_gate_task_open(struct kl_judgement **out, struct kl_gate_task *task, struct kl_gate *gate,
		      const struct kl_surface *surface, const struct kl_surface *parent)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = kl_judgement_new(NULL);
	int err;

	if ((err = kl_builder_platform(&task->platform, &gate->builder, surface)) < 0 ||
	    (err = kl_builder_backend(&task->backend, &gate->builder, surface)) < 0)
		return err;
	judgement->event = event_new(gate, surface, task);
	if ((err = build_task(task, judgement, gate, surface, parent)) < 0)
		return err;
	*out = kl_steal(&judgement);
	return 0;
}

void kl_gate_task_take(struct kl_judgement *judgement, const struct kl_gate_task *task,
		       const struct kl_surface *surface, const struct kl_surface *parent,
		       const json_t *result)
{
	KL_AUTO(kl_freep) int64_t *weight = point_weights(surface->contract);
	struct kl_judgement_of of = describe_task(task, surface, parent, weight);

	kl_judgement_take(judgement, result, &of);
}

/*
 * Find a cached verdict. In a session without `same_code_fails`, ignore a fail of class
 * `no-change`: it comes from a walk, which did not run the kernel.
 */
static bool recall_event(struct kl_event **event, struct kl_gate *gate,
			 const struct kl_cache_key *key)
{
	if (!gate->repo || gate->opts.no_cache)
		return false;
	if (gate->opts.quick)
		return kl_cache_find(event, gate->repo, key) == 0;
	if (kl_cache_get(event, gate->repo, key) < 0)
		return false;
	if (gate->opts.same_code_fails || (*event)->failure != KL_FAILURE_NO_CHANGE)
		return true;
	kl_event_free(kl_steal(event));
	return false;
}

/* Find a verdict of this clone in a segment. */
static bool recall_segment(struct kl_event **event, struct kl_gate *gate,
			   const struct kl_cache_key *key)
{
	return gate->repo && !gate->opts.no_cache &&
	       kl_segment_verdict_find(event, gate->repo, key) == 0;
}

/* Find a verdict that an allowed signer made on the same files and platform. */
static bool recall_trusted(struct kl_event **event, char **signer, struct kl_gate *gate,
			   const struct kl_cache_key *key)
{
	return gate->repo && !gate->opts.no_cache &&
	       kl_trusted_verdict_find(event, signer, gate->repo, key, gate->opts.signers_base) ==
		       0;
}

/*
 * Cache the verdict, unless the run was a replay or judged only the points of --dims. Do not cache
 * an inconclusive verdict: it depends on the state of the machine, so the next run must judge
 * again.
 */
static int remember_event(struct kl_gate *gate, const struct kl_cache_key *key,
			  const struct kl_judgement *judgement)
{
	if (!gate->repo || gate->opts.seed || gate->opts.dims ||
	    judgement->event->verdict == KL_VERDICT_INCONCLUSIVE)
		return 0;
	return kl_cache_put(gate->repo, key, judgement->event);
}

/*
 * Find a verdict that is known. If the candidate is to be judged again elsewhere, only set `after`
 * to the verdict's id, so that the new job differs from the old one.
 */
static bool recall_verdict(struct kl_judgement *judgement, char after[KL_DIGEST_HEX],
			   struct kl_gate *gate, const struct kl_cache_key *key)
{
	*after = '\0';
	judgement->cached = recall_event(&judgement->event, gate, key) ||
			    recall_segment(&judgement->event, gate, key) ||
			    recall_trusted(&judgement->event, &judgement->voucher, gate, key);
	kl_error_clear();
	if (!judgement->cached || !gate->again)
		return judgement->cached;
	snprintf(after, KL_DIGEST_HEX, "%s", judgement->event->id);
	kl_event_free(kl_steal(&judgement->event));
	kl_freep(&judgement->voucher);
	judgement->cached = false;
	return false;
}

static int judge_at(struct kl_judgement **out, struct kl_gate *gate,
		    const struct kl_surface *candidate, const struct kl_surface *parent,
		    const char *commit)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = kl_judgement_new(NULL);
	struct kl_gate_task task = { .candidate = NULL };
	struct kl_platform platform;
	struct kl_cache_key key = {
		.surface = candidate->digest,
		.contract = candidate->contract_digest,
		.platform = &platform,
		.flags = &candidate->contract->flags,
		.parent = parent && !gate->opts.quick ? parent->digest : NULL,
		.profile = !gate->opts.no_profile,
		.quick = gate->opts.quick,
		.runner = gate->runner.way->run ? NULL : gate->runner.name,
	};
	char hex[KL_DIGEST_HEX], after[KL_DIGEST_HEX];
	struct kl_runner_device runner_device;
	struct kl_bundle_job bundle_job = {
		.cache = hex,
		.runner = gate->runner.name,
		.dir = candidate->place,
		.commit = commit,
		.campaign = gate->point ? gate->point->campaign : NULL,
	};
	int err;

	gate->no_device = gate->refused = false;
	kl_judgement_free(kl_steal(&gate->compiled));
	if ((err = kl_builder_platform(&task.platform, &gate->builder, candidate)) < 0 ||
	    (err = kl_builder_backend(&task.backend, &gate->builder, candidate)) < 0)
		return err;
	key.tier = tier_of(gate, task.backend);
	platform = task.platform;
	if (task.backend->device)
		task.backend->device->list(platform.device, sizeof(platform.device));
	if (key.runner && gate->repo) {
		kl_runner_device_get(&runner_device, gate->repo, key.runner, platform.id);
		key.runner_device = &runner_device;
	}
	if (recall_verdict(judgement, after, gate, &key)) {
		*out = kl_steal(&judgement);
		return 0;
	}
	bundle_job.after = *after ? after : NULL;
	kl_cache_key_hex(hex, &key);
	judgement->event = event_new(gate, candidate, &task);
	err = judge_task(judgement, gate, &task, candidate, parent, &bundle_job);
	if (err < 0 && gate->no_device && *judgement->event->facts.code_digest)
		gate->compiled = kl_steal(&judgement);
	if (err == KL_ECANNOT && gate->point && gate->refused) {
		kl_judgement_set(judgement, KL_VERDICT_NOT_RUN, NULL, kl_error_last());
		kl_error_clear();
		err = 0;
	}
	if (err < 0)
		return err;
	kl_event_seal(judgement->event);
	if (!judgement->deferred && (err = remember_event(gate, &key, judgement)) < 0)
		return err;
	*out = kl_steal(&judgement);
	return 0;
}

int kl_gate_judge_at(struct kl_judgement **out, struct kl_gate *gate,
		     const struct kl_surface *candidate, const struct kl_surface *parent,
		     const char *commit)
{
	int err = kl_gate_trouble(judge_at(out, gate, candidate, parent, commit));

	/* forget the surfaces that kl_gate_expect() borrowed until now, even if no job ran */
	gate->ahead = (struct kl_ahead){ .candidate = NULL };
	return err;
}

int kl_gate_judge(struct kl_judgement **out, struct kl_gate *gate,
		  const struct kl_surface *candidate, const struct kl_surface *parent)
{
	return kl_gate_judge_at(out, gate, candidate, parent, NULL);
}

void kl_gate_expect(struct kl_gate *gate, const struct kl_surface *candidate,
		    const struct kl_surface *parent)
{
	gate->ahead = (struct kl_ahead){
		.candidate = candidate,
		.parent = compared_parent(gate, parent),
		.baseline = !gate->opts.no_profile,
	};
}

int kl_gate_judge_anew(struct kl_judgement **out, struct kl_gate *gate,
		       const struct kl_surface *candidate, const struct kl_surface *parent)
{
	bool no_cache = gate->opts.no_cache;
	int err;

	gate->again = kl_gate_is_remote(gate);
	gate->opts.no_cache |= !gate->again;
	err = kl_gate_judge(out, gate, candidate, parent);
	gate->opts.no_cache = no_cache;
	gate->again = false;
	return err;
}

bool kl_gate_is_again(const struct kl_gate *gate, const struct kl_event *event)
{
	return gate->repo && kl_bundle_is_again(gate->repo, event);
}
