/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/map.h"
#include "event/cache.h"
#include "event/event.h"
#include "event/judgement.h"
#include "event/trusted_verdict.h"
#include "gate/build.h"
#include "gate/resolve.h"
#include "gate/runner/bundle.h"
#include "gate/runner/runner.h"

#define PROFILE_MS 15000
#define WORKER_MS (15 * 60 * 1000)

struct kl_gate {
	struct kl_repo *repo;
	struct kl_gate_opts o;
	struct kl_jail jail;
	struct kl_runner runner;
	struct kl_bundle *bundle; /* jobs that wait to be sent away */
	struct kl_builder builder;
	char *dir;             /* private scratch: objects, oracle, pool */
	bool counters;         /* wanted of what passes */
	const char *ncu;       /* where; NULL: wherever it is */
	struct kl_map audited; /* contract digest -> "" once the contract passed its audit */
	bool no_device;        /* the worker found none in the last judgement */
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
	const char *name = read_setting(gate, gate->o.jail, "klineage.jail");
	const char *forced = getenv("KLINEAGE_JAIL");
	enum kl_jail_level want = KL_JAIL_AUTO;
	int err = 0;

	if (forced && *forced)
		name = forced;
	if (name)
		err = kl_jail_level_parse(&want, name);
	return err < 0 ? err : kl_jail_open(&gate->jail, want);
}

/* "klineage.ncu": a path, or whether at all. */
static int want_counters(struct kl_gate *gate)
{
	const char *said = read_setting(gate, NULL, "klineage.ncu");

	if (!said)
		return 0;
	if (said[0] != '/')
		return kl_repo_config_bool(&gate->counters, gate->repo, "klineage.ncu", false);
	gate->counters = true;
	gate->ncu = said;
	return 0;
}

int kl_gate_open(struct kl_gate **out, struct kl_repo *repo, const struct kl_gate_opts *opts)
{
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = kl_calloc(1, sizeof(*gate));
	int err;

	gate->repo = repo;
	gate->o = *opts;
	gate->o.no_profile |= gate->o.quick;
	gate->bundle = kl_bundle_new();
	err = kl_runner_parse(&gate->runner, read_setting(gate, opts->runner, "klineage.runner"));
	if (!err && opts->seed && !gate->runner.way->run)
		err = kl_error(KL_EUSAGE, "a replay is for the runner 'local', not '%s'",
			       gate->runner.name);
	if (!err)
		err = want_counters(gate);
	if (!err)
		err = open_jail(gate);
	if (!err)
		err = kl_fs_tempdir(&gate->dir, "klineage-gate");
	if (err < 0)
		return err;
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
	return err;
}

void kl_gate_free(struct kl_gate *gate)
{
	if (!gate)
		return;
	kl_builder_release(&gate->builder);
	kl_map_release(&gate->audited);
	kl_fs_tempdir_cleanup(&gate->dir);
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

/* All that goes into one judgement. */
struct task {
	const struct kl_backend *backend; /* of the candidate */
	struct kl_platform platform;
	const struct kl_built *candidate, *parent; /* parent NULL: none */
	const struct kl_built_oracle *oracle;
	const struct kl_artefact *baseline; /* NULL: none of ours */
};

/*
 * How well the run is confined. A worker elsewhere has no jail of ours around it; the process of a
 * kernel is sealed there, too.
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
		.audit = !gate->o.quick && (!gate->runner.way->run ||
					    !kl_map_get(&gate->audited, surface->contract_digest)),
		.correct = true,
		.profile = !gate->o.no_profile,
		.also_only = gate->o.quick,
		.counters = gate->counters && !gate->o.no_profile && task->backend->counters,
		.seed = gate->o.seed,
		.profile_max_ms = gate->o.profile_ms ? gate->o.profile_ms : PROFILE_MS,
	};
	KL_AUTO(kl_job_freep) struct kl_job *job = NULL;
	int err = kl_resolve_job(&job, &of);

	if (!err)
		*doc = kl_job_write(job);
	return err;
}

/* What only another machine can do, it is asked. */
static int refuse_result(struct kl_gate *gate, const json_t *result,
			 const struct kl_backend *backend)
{
	int err = kl_error(KL_ECANNOT, "%s",
			   kl_json_str_or(result, "message", "the worker cannot say why"));

	gate->no_device = backend->device && kl_runner_lacks_device(result);
	if (gate->no_device)
		kl_error_hint(err,
			      "a machine with such a %s can judge it: --runner bundle writes "
			      "jobs to take there, --runner ssh:<host> takes them",
			      backend->device->name);
	return err;
}

/* Over to the worker; while it profiles, the machine is ours. */
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
	static char done[] = "";
	int err = 0;

	/* a device is locked by the worker, who knows which one it is */
	if (!gate->o.no_profile && !backend->device) {
		err = kl_lock_take_machine(&lock, "cpu", 0);
		if (err == KL_EBUSY) {
			kl_progress_step(gate->o.progress,
					 "waiting: somebody else profiles on this machine");
			err = kl_lock_take_machine(&lock, "cpu", -1);
		}
	}
	kl_progress_step(gate->o.progress,
			 gate->o.no_profile ? "correctness" : "correctness and profile");
	if (!err)
		err = gate->runner.way->run(result, &work);
	if (err < 0)
		return err;
	if (!strcmp(kl_json_str_or(*result, "status", ""), "cannot"))
		return refuse_result(gate, *result, backend);
	if (backend->walled && (err = kl_runner_check_wall(*result)) < 0)
		return err;
	if (!gate->o.quick)
		kl_map_put(&gate->audited, surface->contract_digest, done);
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

/* What every event says, whatever came out. */
static struct kl_event *event_new(struct kl_gate *gate, const struct kl_surface *surface,
				  const struct task *task)
{
	struct kl_event *event = kl_event_new();
	const char *who = NULL;
	char now[21];

	kl_clock_iso(now);
	event->kind = gate->o.quick ? KL_KIND_CHECK : KL_KIND_GATE;
	event->time = kl_event_keep(event, now);
	event->workload = kl_event_keep(event, surface->contract->workload);
	event->policy = KL_GATE_POLICY;
	event->surface = kl_event_keep(event, surface->digest);
	event->contract = kl_event_keep(event, surface->contract_digest);
	event->tier = tier_of(gate, task->backend);
	set_place(event, &task->platform, surface);
	if (gate->repo && kl_repo_identity(&who, gate->repo) < 0)
		/* judging needs nobody's name; noting does and asks itself */
		kl_error_clear();
	event->by = kl_event_keep(event, who);
	return event;
}

static int64_t *point_weights(const struct kl_contract *contract)
{
	int64_t *values = kl_calloc(contract->nperf + 1, sizeof(*values));

	for (size_t i = 0; i < contract->nperf; i++)
		values[i] = contract->perf[i].weight;
	return values;
}

/* Into the bundle; all that is known so far goes with it. */
static int defer_judgement(struct kl_judgement *judgement, struct kl_gate *gate, const json_t *job,
			   const struct kl_judgement_of *of, struct kl_bundle_job *away)
{
	int err;

	away->job = job;
	away->event = judgement->event;
	away->of = of;
	err = kl_bundle_add(gate->bundle, away);
	kl_judgement_set(judgement, KL_VERDICT_NOT_RUN, NULL, "it waits to be judged elsewhere");
	judgement->deferred = true;
	return err;
}

static bool same_code(const struct kl_built *left, const struct kl_built *right)
{
	return left && right && left->artefact && right->artefact &&
	       !strcmp(left->artefact->facts.code_digest, right->artefact->facts.code_digest);
}

/* All that is compiled. Without a candidate's artefact the verdict is there. */
static int build_task(struct task *task, struct kl_judgement *judgement, struct kl_gate *gate,
		      const struct kl_surface *surface, const struct kl_surface *parent)
{
	const struct kl_builder_needs wanted = {
		.candidate = surface,
		.parent = gate->o.quick ? NULL : parent,
		.march = gate->o.no_profile ? NULL : task->platform.march,
	};
	struct kl_builder_set set;
	int err = kl_builder_all(&set, &gate->builder, &wanted);

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

/* Everything that needs a compiler or a worker; fills v and its event. */
static int judge_task(struct kl_judgement *judgement, struct kl_gate *gate, struct task *task,
		      const struct kl_surface *surface, const struct kl_surface *parent,
		      struct kl_bundle_job *away)
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
	if (gate->o.same_code_fails && same_code(task->candidate, task->parent)) {
		kl_judgement_set(judgement, KL_VERDICT_FAIL, kl_failure_name(KL_FAILURE_NO_CHANGE),
				 "the machine code is the same as before the change");
		return 0;
	}
	of.parent = task->parent && task->parent->artefact ? parent->digest : NULL;
	if ((err = make_job(&job, gate, surface, task)) < 0)
		return err;
	if (!gate->runner.way->run)
		return defer_judgement(judgement, gate, job, &of, away);
	if ((err = run_job(&result, gate, surface, task->backend, job)) < 0)
		return err;
	kl_judgement_take(judgement, result, &of);
	return 0;
}

/*
 * A verdict of an earlier run; that of a walk on a step without effect says nothing of the answers.
 */
static bool recall_event(struct kl_event **event, struct kl_gate *gate,
			 const struct kl_cache_key *key)
{
	if (!gate->repo || gate->o.no_cache)
		return false;
	if (gate->o.quick)
		return kl_cache_find(event, gate->repo, key) == 0;
	if (kl_cache_get(event, gate->repo, key) < 0)
		return false;
	if (gate->o.same_code_fails || (*event)->failure != KL_FAILURE_NO_CHANGE)
		return true;
	kl_event_free(kl_steal(event));
	return false;
}

/* What an allowed signer noted on the same files at the same place is as good. */
static bool recall_vouched(struct kl_event **event, char **signer, struct kl_gate *gate,
			   const struct kl_cache_key *key)
{
	return gate->repo && !gate->o.no_cache &&
	       kl_trusted_verdict_find(event, signer, gate->repo, key) == 0;
}

/*
 * Results of replays stay out, and what only trouble of the machine decided, so that it is asked
 * again.
 */
static int remember_event(struct kl_gate *gate, const struct kl_cache_key *key,
			  const struct kl_judgement *judgement)
{
	if (!gate->repo || gate->o.seed || judgement->event->verdict == KL_VERDICT_INCONCLUSIVE)
		return 0;
	return kl_cache_put(gate->repo, key, judgement->event);
}

int kl_gate_judge_at(struct kl_judgement **out, struct kl_gate *gate,
		     const struct kl_surface *candidate, const struct kl_surface *parent,
		     const char *commit)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = kl_judgement_new(NULL);
	struct task task = { .candidate = NULL };
	struct kl_platform where;
	struct kl_cache_key key = {
		.surface = candidate->digest,
		.contract = candidate->contract_digest,
		.platform = &where,
		.flags = &candidate->contract->flags,
		.parent = parent && !gate->o.quick ? parent->digest : NULL,
		.profile = !gate->o.no_profile,
		.quick = gate->o.quick,
		.runner = gate->runner.way->run ? NULL : gate->runner.name,
	};
	char hex[KL_DIGEST_HEX];
	struct kl_runner_device runner_device;
	struct kl_bundle_job away = {
		.cache = hex, .runner = gate->runner.name, .dir = candidate->dir, .commit = commit
	};
	int err;

	gate->no_device = false;
	if ((err = kl_builder_platform(&task.platform, &gate->builder, candidate)) < 0 ||
	    (err = kl_builder_backend(&task.backend, &gate->builder, candidate)) < 0)
		return err;
	key.tier = tier_of(gate, task.backend);
	where = task.platform;
	if (task.backend->device)
		task.backend->device->list(where.device, sizeof(where.device));
	if (key.runner && gate->repo) {
		kl_runner_device_get(&runner_device, gate->repo, key.runner, where.id);
		key.runner_device = &runner_device;
	}
	if (recall_event(&judgement->event, gate, &key) ||
	    recall_vouched(&judgement->event, &judgement->voucher, gate, &key)) {
		judgement->cached = true;
		*out = kl_steal(&judgement);
		return 0;
	}
	kl_error_clear();
	kl_cache_key_hex(hex, &key);
	judgement->event = event_new(gate, candidate, &task);
	if ((err = judge_task(judgement, gate, &task, candidate, parent, &away)) < 0)
		return err;
	kl_event_seal(judgement->event);
	if (!judgement->deferred && (err = remember_event(gate, &key, judgement)) < 0)
		return err;
	*out = kl_steal(&judgement);
	return 0;
}

int kl_gate_judge(struct kl_judgement **out, struct kl_gate *gate,
		  const struct kl_surface *candidate, const struct kl_surface *parent)
{
	return kl_gate_judge_at(out, gate, candidate, parent, NULL);
}

int kl_gate_judge_anew(struct kl_judgement **out, struct kl_gate *gate,
		       const struct kl_surface *candidate, const struct kl_surface *parent)
{
	bool no_cache = gate->o.no_cache;
	int err;

	gate->o.no_cache = true;
	err = kl_gate_judge(out, gate, candidate, parent);
	gate->o.no_cache = no_cache;
	return err;
}

/* --- sending away ----------------------------------------------------------- */

size_t kl_gate_waiting(const struct kl_gate *gate)
{
	return kl_bundle_jobs(gate->bundle);
}

bool kl_gate_is_remote(const struct kl_gate *gate)
{
	return !gate->runner.way->run;
}

int kl_gate_send(struct kl_parcel *out, struct kl_gate *gate, const char *path)
{
	int err = kl_parcel_send(out, gate->bundle, &gate->runner, gate->repo, path,
				 gate->o.progress);

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
				"runner '%s' answers later: here is no verdict to wait for",
				gate->runner.name);
	if (backend->device && !backend->device->is_shown())
		return kl_error(KL_ECANNOT, "this machine shows no %s", backend->device->name);
	return 0;
}

int kl_gate_facts(struct kl_facts *out, struct kl_gate *gate, const struct kl_surface *surface)
{
	const struct kl_built *built;
	int err = kl_builder_surface(&built, &gate->builder, surface);

	if (err < 0)
		return err;
	if (!built->artefact)
		return kl_error(KL_ENO, "%s: %s", built->class_, built->message);
	kl_strvec_copy(&out->features, &built->artefact->facts.features);
	snprintf(out->code_digest, sizeof(out->code_digest), "%s",
		 built->artefact->facts.code_digest);
	return 0;
}
