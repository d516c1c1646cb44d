/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/scratch.h"
#include "event/cache.h"
#include "event/event.h"
#include "event/judgement.h"
#include "event/trusted_verdict.h"
#include "gate/ahead.h"
#include "gate/build.h"
#include "gate/resolve.h"
#include "gate/runner/bundle.h"
#include "gate/runner/runner.h"

#define PROFILE_MS 15000
#define WORKER_MS (15 * 60 * 1000)

struct kl_gate {
	struct kl_repo *repo;
	struct kl_gate_opts opts;
	struct kl_jail jail;
	struct kl_runner runner;
	struct kl_bundle *bundle; /* jobs that wait to be sent */
	struct kl_builder builder;
	struct kl_scratch scratch; /* private directory for objects and pools */
	const char *dir;           /* path of `scratch` */
	bool counters;             /* read hardware counters of candidates that pass */
	const char *ncu;           /* path of ncu; NULL: the worker finds it */
	struct kl_map audited;     /* contract digest -> "" once the contract passed its audit */
	bool no_device;            /* the worker found no device in the last judgement */
	struct kl_ahead ahead;     /* surfaces to compile during the next judgement */
};

/* --- the session ----------------------------------------------------------- */

static const char *read_setting(struct kl_gate *gate, const char *asked, const char *key)
{
	if (asked)
		return asked;
	return gate->repo ? kl_repo_config(gate->repo, key) : NULL;
}

static int open_jail(struct kl_gate *gate)
{
	const char *name = read_setting(gate, gate->opts.jail, "klineage.jail");
	const char *forced = getenv("KLINEAGE_JAIL");
	enum kl_jail_level want = KL_JAIL_AUTO;
	int err = 0;

	if (forced && *forced)
		name = forced;
	if (name)
		err = kl_jail_level_parse(&want, name);
	return err < 0 ? err : kl_jail_open(&gate->jail, want);
}

/*
 * Turn errors that are not the kernel's fault (a full disk, a lack of memory or descriptors, a file
 * that vanishes) into KL_ECANNOT: the kernel cannot be tested now.
 */
static int machine_trouble(int err)
{
	switch (err) {
	case KL_EIO:
	case KL_ETIMEOUT:
	case KL_ENOTFOUND:
	case KL_EEXISTS:
	case KL_EBUSY:
		return kl_error_in(KL_ECANNOT, "this machine cannot judge now");
	}
	return err;
}

/*
 * Read the setting klineage.ncu: the path of ncu, or a boolean that says whether to read counters.
 */
static int read_counters(struct kl_gate *gate)
{
	const char *setting = read_setting(gate, NULL, "klineage.ncu");

	if (!setting)
		return 0;
	if (setting[0] != '/')
		return kl_repo_config_bool(&gate->counters, gate->repo, "klineage.ncu", false);
	gate->counters = true;
	gate->ncu = setting;
	return 0;
}

int kl_gate_open(struct kl_gate **out, struct kl_repo *repo, const struct kl_gate_opts *opts)
{
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = kl_calloc(1, sizeof(*gate));
	int err;

	gate->scratch.fd = -1;
	gate->repo = repo;
	gate->opts = *opts;
	gate->opts.no_profile |= gate->opts.quick || gate->opts.dims;
	gate->opts.no_cache |= gate->opts.dims != NULL;
	gate->bundle = kl_bundle_new();
	err = kl_runner_parse(&gate->runner, read_setting(gate, opts->runner, "klineage.runner"));
	if (!err && (opts->seed || opts->dims) && !gate->runner.way->run)
		err = kl_error(KL_EUSAGE, "only runner 'local' can replay a failure, not '%s'",
			       gate->runner.name);
	if (!err)
		err = read_counters(gate);
	if (!err)
		err = open_jail(gate);
	if (!err)
		err = kl_scratch_open(&gate->scratch, "klineage-gate");
	if (err < 0)
		return machine_trouble(err);
	gate->dir = gate->scratch.path;
	gate->builder = (struct kl_builder){
		.session = {
			.jail = &gate->jail, .repo = repo, .dir = gate->dir,
			.platform = read_setting(gate, opts->platform, "klineage.platform"),
		},
		.backends = opts->backends, .progress = opts->progress,
	};
	err = kl_builder_open(&gate->builder);
	if (!err)
		*out = kl_steal(&gate);
	return machine_trouble(err);
}

void kl_gate_free(struct kl_gate *gate)
{
	if (!gate)
		return;
	kl_builder_release(&gate->builder);
	kl_map_release(&gate->audited);
	kl_scratch_release(&gate->scratch);
	kl_bundle_free(gate->bundle);
	free(gate);
}

int kl_gate_platform(struct kl_platform *out, struct kl_gate *gate,
		     const struct kl_surface *surface)
{
	return kl_builder_platform(out, &gate->builder, surface);
}

int kl_gate_machine(struct kl_platform *out, struct kl_gate *gate, const char *platform)
{
	return kl_builder_machine(out, &gate->builder, platform);
}

const struct kl_jail *kl_gate_jail(const struct kl_gate *gate)
{
	return &gate->jail;
}

/* --- stages ---------------------------------------------------------------- */

/* Inputs of one judgement. */
struct task {
	const struct kl_backend *backend; /* of the candidate */
	struct kl_platform platform;
	const struct kl_built *candidate, *parent; /* parent NULL: none */
	const struct kl_built_oracle *oracle;
	const struct kl_artefact *baseline; /* a shipped kernel; NULL: none */
};

/*
 * Return how well the run is confined. A worker elsewhere does not run in our jail, but it confines
 * the process that runs the kernel.
 */
static enum kl_tier tier_of(const struct kl_gate *gate, const struct kl_backend *backend)
{
	if (backend->tier != KL_TIER_OTHER)
		return backend->tier;
	if (!gate->runner.way->run)
		return KL_TIER_HOST_RESTRICTED;
	return kl_tier_parse(kl_jail_tier(&gate->jail));
}

static int make_job(json_t **doc, struct kl_gate *gate, const struct kl_surface *surface,
		    const struct task *task)
{
	const struct kl_resolve_of of = {
		.backend = task->backend,
		.contract = surface->contract,
		.platform = &task->platform,
		.truth = task->oracle->truth,
		.honest = task->oracle->honest,
		.pool = task->oracle->pool,
		.oracle_launch = task->oracle->launch,
		.candidate = task->candidate->artefact,
		.parent = task->parent ? task->parent->artefact : NULL,
		.baseline = task->baseline,
		.audit = !gate->opts.quick && !gate->opts.dims &&
			 (!gate->runner.way->run ||
			  !kl_map_get(&gate->audited, surface->contract_digest)),
		.correct = true,
		.profile = !gate->opts.no_profile,
		.also_only = gate->opts.quick,
		.counters = gate->counters && !gate->opts.no_profile && task->backend->counters,
		.seed = gate->opts.seed,
		.dims = gate->opts.dims,
		.profile_max_ms = gate->opts.profile_ms ? gate->opts.profile_ms : PROFILE_MS,
	};
	KL_AUTO(kl_job_freep) struct kl_job *job = NULL;
	int err = kl_resolve_job(&job, &of);

	if (!err)
		*doc = kl_job_write(job);
	return err;
}

/* Report why the worker cannot judge the job. If it found no device, suggest other runners. */
static int refuse_result(struct kl_gate *gate, const json_t *result,
			 const struct kl_backend *backend)
{
	int err = kl_error(KL_ECANNOT, "%s",
			   kl_json_str_or(result, "message", "the worker gave no reason"));

	gate->no_device = backend->device && kl_runner_lacks_device(result);
	if (gate->no_device)
		kl_error_hint(
			err,
			"to judge the kernel on a machine with such a %s, use --runner bundle "
			"to write the jobs to a file, or --runner ssh:<host> to send them",
			backend->device->name);
	return err;
}

/* Add a note about how the profile was measured. */
static void add_note(json_t *result, const char *note)
{
	json_t *profile = json_object_get(result, "profile");

	if (!json_is_object(profile))
		return;
	if (!json_is_array(json_object_get(profile, "notes")))
		kl_json_set(profile, "notes", json_array());
	json_array_append_new(json_object_get(profile, "notes"), json_string(note));
}

/* Run a job on this machine. A job with a profile on the CPU holds the machine's lock. */
static int run_job(json_t **result, struct kl_gate *gate, const struct kl_surface *surface,
		   const struct kl_backend *backend, const json_t *job)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	const struct kl_runner_work work = {
		.jail = &gate->jail,
		.job = job,
		.dir = gate->dir,
		.timeout_ms = WORKER_MS,
		.ncu = gate->ncu,
		.device = backend->device,
	};
	static char passed[] = "";
	int err = 0;

	/* a device is locked by the worker, since only the worker knows which device it uses */
	if (!gate->opts.no_profile && !backend->device) {
		err = kl_lock_take_machine(&lock, "cpu", 0);
		if (err == KL_EBUSY) {
			kl_progress_step(gate->opts.progress,
					 "waiting: another process is profiling on this machine");
			err = kl_lock_take_machine(&lock, "cpu", -1);
		}
	}
	kl_progress_step(gate->opts.progress,
			 gate->opts.no_profile ? "correctness" : "correctness and profile");
	if (!err)
		err = kl_ahead_run(result, &gate->runner, &work, &gate->builder, &gate->ahead);
	if (err < 0)
		return err;
	if (lock.notice)
		add_note(*result, lock.notice);
	if (!strcmp(kl_json_str_or(*result, "status", ""), "cannot"))
		return refuse_result(gate, *result, backend);
	if (backend->walled && (err = kl_runner_check_wall(*result)) < 0)
		return err;
	if (!gate->opts.quick && !gate->opts.dims)
		kl_map_put(&gate->audited, surface->contract_digest, passed);
	return 0;
}

/* --- the verdict ----------------------------------------------------------- */

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
				  const struct task *task)
{
	struct kl_event *event = kl_event_new();
	const char *identity = NULL;
	char now[21];

	kl_clock_iso(now);
	event->kind = gate->opts.quick ? KL_KIND_CHECK : KL_KIND_GATE;
	event->time = kl_event_keep(event, now);
	event->workload = kl_event_keep(event, surface->contract->workload);
	event->policy = KL_GATE_POLICY;
	event->surface = kl_event_keep(event, surface->digest);
	event->contract = kl_event_keep(event, surface->contract_digest);
	event->tier = tier_of(gate, task->backend);
	set_place(event, &task->platform, surface);
	if (gate->repo && kl_repo_identity(&identity, gate->repo) < 0)
		/* a verdict needs no identity; the code that writes a note reports a missing one */
		kl_error_clear();
	event->by = kl_event_keep(event, identity);
	return event;
}

static int64_t *point_weights(const struct kl_contract *contract)
{
	int64_t *weights = kl_calloc(contract->nperf + 1, sizeof(*weights));

	for (size_t i = 0; i < contract->nperf; i++)
		weights[i] = contract->perf[i].weight;
	return weights;
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
	kl_judgement_set(judgement, KL_VERDICT_NOT_RUN, NULL, "it waits to be judged elsewhere");
	judgement->deferred = true;
	return err;
}

static bool same_code(const struct kl_built *candidate, const struct kl_built *parent)
{
	return candidate && parent && candidate->artefact && parent->artefact &&
	       !strcmp(candidate->artefact->facts.code_digest, parent->artefact->facts.code_digest);
}

/* Return the parent to compare the candidate with; NULL: none. */
static const struct kl_surface *compared_parent(const struct kl_gate *gate,
						const struct kl_surface *parent)
{
	return gate->opts.quick ? NULL : parent;
}

/* Compile everything that the judgement needs. If the candidate is refused, set the verdict. */
static int build_task(struct task *task, struct kl_judgement *judgement, struct kl_gate *gate,
		      const struct kl_surface *surface, const struct kl_surface *parent)
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
	return 0;
}

/* Compile the candidate, run or defer its job, and fill in the judgement and its event. */
static int judge_task(struct kl_judgement *judgement, struct kl_gate *gate, struct task *task,
		      const struct kl_surface *surface, const struct kl_surface *parent,
		      struct kl_bundle_job *bundle_job)
{
	KL_AUTO(json_decrefp) json_t *job = NULL, *result = NULL;
	KL_AUTO(kl_freep) int64_t *weight = point_weights(surface->contract);
	struct kl_judgement_of of = {
		.workload = surface->contract->workload,
		.weight = weight,
		.nweight = surface->contract->nperf,
	};
	int err = build_task(task, judgement, gate, surface, parent);

	if (err < 0 || !task->candidate->artefact)
		return err;
	if (gate->opts.same_code_fails && same_code(task->candidate, task->parent)) {
		kl_judgement_set(judgement, KL_VERDICT_FAIL, kl_failure_name(KL_FAILURE_NO_CHANGE),
				 "the machine code is the same as before the change");
		return 0;
	}
	of.parent = task->parent && task->parent->artefact ? parent->digest : NULL;
	if ((err = make_job(&job, gate, surface, task)) < 0)
		return err;
	if (!gate->runner.way->run)
		return defer_judgement(judgement, gate, job, &of, bundle_job);
	if ((err = run_job(&result, gate, surface, task->backend, job)) < 0)
		return err;
	kl_judgement_take(judgement, result, &of);
	return 0;
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

/* Find a verdict by an allowed signer on the same files and platform. */
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

static int judge_at(struct kl_judgement **out, struct kl_gate *gate,
		    const struct kl_surface *candidate, const struct kl_surface *parent,
		    const char *commit)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = kl_judgement_new(NULL);
	struct task task = { .candidate = NULL };
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
	char hex[KL_DIGEST_HEX];
	struct kl_runner_device runner_device;
	struct kl_bundle_job bundle_job = {
		.cache = hex, .runner = gate->runner.name, .dir = candidate->dir, .commit = commit
	};
	int err;

	gate->no_device = false;
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
	if (recall_event(&judgement->event, gate, &key) ||
	    recall_trusted(&judgement->event, &judgement->voucher, gate, &key)) {
		judgement->cached = true;
		*out = kl_steal(&judgement);
		return 0;
	}
	kl_error_clear();
	kl_cache_key_hex(hex, &key);
	judgement->event = event_new(gate, candidate, &task);
	if ((err = judge_task(judgement, gate, &task, candidate, parent, &bundle_job)) < 0)
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
	int err = machine_trouble(judge_at(out, gate, candidate, parent, commit));

	/* kl_gate_expect() borrowed the surfaces until now, whether or not a job ran */
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

	gate->opts.no_cache = true;
	err = kl_gate_judge(out, gate, candidate, parent);
	gate->opts.no_cache = no_cache;
	return err;
}

/* --- sending jobs ---------------------------------------------------------- */

size_t kl_gate_waiting(const struct kl_gate *gate)
{
	return kl_bundle_jobs(gate->bundle);
}

bool kl_gate_is_remote(const struct kl_gate *gate)
{
	return !gate->runner.way->run;
}

int kl_gate_send(struct kl_transfer *out, struct kl_gate *gate, const char *path)
{
	int err = kl_transfer_send(out, gate->bundle, &gate->runner, gate->repo, path,
				   gate->opts.progress);

	if (err < 0)
		return err;
	kl_bundle_free(gate->bundle);
	gate->bundle = kl_bundle_new();
	return 0;
}

bool kl_gate_lacked_device(const struct kl_gate *gate)
{
	return gate->no_device;
}

int kl_gate_reaches(const struct kl_gate *gate, const struct kl_surface *surface)
{
	const struct kl_backend *backend = NULL;
	int err = kl_builder_backend(&backend, &gate->builder, surface);

	if (err < 0)
		return err;
	if (kl_gate_is_remote(gate))
		return kl_error(KL_ECANNOT,
				"runner '%s' sends results later, but this needs a verdict at once",
				gate->runner.name);
	if (backend->device && !backend->device->is_shown())
		return kl_error(KL_ECANNOT, "this machine has no visible %s",
				backend->device->name);
	return 0;
}

int kl_gate_facts(struct kl_facts *out, struct kl_gate *gate, const struct kl_surface *surface)
{
	const struct kl_built *built;
	int err = machine_trouble(kl_builder_surface(&built, &gate->builder, surface));

	if (err < 0)
		return err;
	if (!built->artefact)
		return kl_error(KL_ENO, "%s: %s", built->class_, built->message);
	kl_strvec_copy(&out->features, &built->artefact->facts.features);
	snprintf(out->code_digest, sizeof(out->code_digest), "%s",
		 built->artefact->facts.code_digest);
	return 0;
}
