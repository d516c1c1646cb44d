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
#include "gate/job.h"
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

static const char *read_setting(struct kl_gate *g, const char *asked, const char *key)
{
	if (asked)
		return asked;
	return g->repo ? kl_repo_config(g->repo, key) : NULL;
}

static int open_jail(struct kl_gate *g)
{
	const char *name = read_setting(g, g->o.jail, "klineage.jail");
	const char *forced = getenv("KLINEAGE_JAIL");
	enum kl_jail_level want = KL_JAIL_AUTO;
	int err = 0;

	if (forced && *forced)
		name = forced;
	if (name)
		err = kl_jail_level_parse(&want, name);
	return err < 0 ? err : kl_jail_open(&g->jail, want);
}

/* "klineage.ncu": a path, or whether at all. */
static int want_counters(struct kl_gate *g)
{
	const char *said = read_setting(g, NULL, "klineage.ncu");

	if (!said)
		return 0;
	if (said[0] != '/')
		return kl_repo_config_bool(&g->counters, g->repo, "klineage.ncu", false);
	g->counters = true;
	g->ncu = said;
	return 0;
}

int kl_gate_open(struct kl_gate **out, struct kl_repo *repo, const struct kl_gate_opts *o)
{
	KL_AUTO(kl_gate_freep) struct kl_gate *g = kl_calloc(1, sizeof(*g));
	int err;

	g->repo = repo;
	g->o = *o;
	g->o.no_profile |= g->o.quick;
	g->bundle = kl_bundle_new();
	err = kl_runner_parse(&g->runner, read_setting(g, o->runner, "klineage.runner"));
	if (!err && o->seed && !g->runner.way->run)
		err = kl_error(KL_EUSAGE, "a replay is for the runner 'local', not '%s'",
			       g->runner.name);
	if (!err)
		err = want_counters(g);
	if (!err)
		err = open_jail(g);
	if (!err)
		err = kl_fs_tempdir(&g->dir, "klineage-gate");
	if (err < 0)
		return err;
	g->builder = (struct kl_builder){
		.session = {
			.jail = &g->jail, .repo = repo, .dir = g->dir,
			.platform = read_setting(g, o->platform, "klineage.platform"),
		},
		.backends = o->backends, .progress = o->progress,
	};
	err = kl_builder_open(&g->builder);
	if (!err)
		*out = kl_steal(&g);
	return err;
}

void kl_gate_free(struct kl_gate *g)
{
	if (!g)
		return;
	kl_builder_release(&g->builder);
	kl_map_release(&g->audited);
	kl_fs_tempdir_cleanup(&g->dir);
	kl_bundle_free(g->bundle);
	free(g);
}

int kl_gate_platform(struct kl_platform *out, struct kl_gate *g, const struct kl_surface *s)
{
	return kl_builder_platform(out, &g->builder, s);
}

int kl_gate_machine(struct kl_platform *out, struct kl_gate *g, const char *platform)
{
	return kl_builder_machine(out, &g->builder, platform);
}

const struct kl_jail *kl_gate_jail(const struct kl_gate *g)
{
	return &g->jail;
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
static enum kl_tier tier_of(const struct kl_gate *g, const struct kl_backend *backend)
{
	if (backend->tier != KL_TIER_OTHER)
		return backend->tier;
	if (!g->runner.way->run)
		return KL_TIER_HOST_RESTRICTED;
	return kl_tier_parse(kl_jail_tier(&g->jail));
}

static int make_job(json_t **job, struct kl_gate *g, const struct kl_surface *s,
		    const struct task *t)
{
	const struct kl_job_spec spec = {
		.backend = t->backend,
		.contract = s->contract,
		.platform = &t->platform,
		.truth = t->oracle->truth,
		.honest = t->oracle->honest,
		.pool = t->oracle->pool,
		.oracle_launch = t->oracle->launch,
		.candidate = t->candidate->artefact,
		.parent = t->parent ? t->parent->artefact : NULL,
		.baseline = t->baseline,
		.audit = !g->o.quick &&
			 (!g->runner.way->run || !kl_map_get(&g->audited, s->contract_digest)),
		.correct = true,
		.profile = !g->o.no_profile,
		.also_only = g->o.quick,
		.counters = g->counters && !g->o.no_profile && t->backend->counters,
		.seed = g->o.seed,
		.profile_max_ms = g->o.profile_ms ? g->o.profile_ms : PROFILE_MS,
	};

	return kl_job_write(job, &spec);
}

/* What only another machine can do, it is asked. */
static int refuse_result(struct kl_gate *g, const json_t *result, const struct kl_backend *backend)
{
	int err = kl_error(KL_ECANNOT, "%s",
			   kl_json_str_or(result, "message", "the worker cannot say why"));

	g->no_device = backend->device && kl_runner_lacks_device(result);
	if (g->no_device)
		kl_error_hint(err,
			      "a machine with such a %s can judge it: --runner bundle writes "
			      "jobs to take there, --runner ssh:<host> takes them",
			      backend->device->name);
	return err;
}

/* Over to the worker; while it profiles, the machine is ours. */
static int run_job(json_t **result, struct kl_gate *g, const struct kl_surface *s,
		   const struct kl_backend *backend, const json_t *job)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	const struct kl_runner_work work = {
		.jail = &g->jail,
		.job = job,
		.dir = g->dir,
		.timeout_ms = WORKER_MS,
		.ncu = g->ncu,
		.device = backend->device,
	};
	static char done[] = "";
	int err = 0;

	/* a device is locked by the worker, who knows which one it is */
	if (!g->o.no_profile && !backend->device) {
		err = kl_lock_take_machine(&lock, "cpu", 0);
		if (err == KL_EBUSY) {
			kl_progress_step(g->o.progress,
					 "waiting: somebody else profiles on this machine");
			err = kl_lock_take_machine(&lock, "cpu", -1);
		}
	}
	kl_progress_step(g->o.progress,
			 g->o.no_profile ? "correctness" : "correctness and profile");
	if (!err)
		err = g->runner.way->run(result, &work);
	if (err < 0)
		return err;
	if (!strcmp(kl_json_str_or(*result, "status", ""), "cannot"))
		return refuse_result(g, *result, backend);
	if (backend->walled && (err = kl_runner_check_wall(*result)) < 0)
		return err;
	if (!g->o.quick)
		kl_map_put(&g->audited, s->contract_digest, done);
	return 0;
}

/* --- the verdict ----------------------------------------------------------- */

static void set_place(struct kl_event *event, const struct kl_platform *platform,
		      const struct kl_surface *s)
{
	event->place.id = kl_event_keep(event, platform->id);
	event->place.device = kl_event_keep(event, platform->device);
	event->place.compiler = kl_event_keep(event, platform->compiler);
	kl_strvec_copy(&event->place.flags, &s->contract->flags);
}

/* What every event says, whatever came out. */
static struct kl_event *event_new(struct kl_gate *g, const struct kl_surface *s,
				  const struct task *t)
{
	struct kl_event *event = kl_event_new();
	const char *who = NULL;
	char now[21];

	kl_clock_iso(now);
	event->kind = g->o.quick ? KL_KIND_CHECK : KL_KIND_GATE;
	event->time = kl_event_keep(event, now);
	event->workload = kl_event_keep(event, s->contract->workload);
	event->policy = KL_GATE_POLICY;
	event->surface = kl_event_keep(event, s->digest);
	event->contract = kl_event_keep(event, s->contract_digest);
	event->tier = tier_of(g, t->backend);
	set_place(event, &t->platform, s);
	if (g->repo && kl_repo_identity(&who, g->repo) < 0)
		/* judging needs nobody's name; noting does and asks itself */
		kl_error_clear();
	event->by = kl_event_keep(event, who);
	return event;
}

static int64_t *point_weights(const struct kl_contract *c)
{
	int64_t *w = kl_calloc(c->nperf + 1, sizeof(*w));

	for (size_t i = 0; i < c->nperf; i++)
		w[i] = c->perf[i].weight;
	return w;
}

/* Into the bundle; all that is known so far goes with it. */
static int defer_judgement(struct kl_judgement *v, struct kl_gate *g, const json_t *job,
			   const struct kl_judgement_of *of, struct kl_bundle_job *away)
{
	int err;

	away->job = job;
	away->event = v->event;
	away->of = of;
	err = kl_bundle_add(g->bundle, away);
	kl_judgement_set(v, KL_VERDICT_NOT_RUN, NULL, "it waits to be judged elsewhere");
	v->deferred = true;
	return err;
}

static bool same_code(const struct kl_built *a, const struct kl_built *b)
{
	return a && b && a->artefact && b->artefact &&
	       !strcmp(a->artefact->facts.code_digest, b->artefact->facts.code_digest);
}

/* All that is compiled. Without a candidate's artefact the verdict is there. */
static int build_task(struct task *t, struct kl_judgement *v, struct kl_gate *g,
		      const struct kl_surface *s, const struct kl_surface *parent)
{
	const struct kl_builder_wanted wanted = {
		.candidate = s,
		.parent = g->o.quick ? NULL : parent,
		.march = g->o.no_profile ? NULL : t->platform.march,
	};
	struct kl_builder_set set;
	int err = kl_builder_all(&set, &g->builder, &wanted);

	if (err < 0)
		return err;
	t->oracle = set.oracle;
	t->candidate = set.candidate;
	t->parent = set.parent;
	t->baseline = set.baseline;
	if (!t->candidate->artefact) {
		kl_judgement_set(v, KL_VERDICT_FAIL, t->candidate->class_, t->candidate->message);
		return 0;
	}
	kl_judgement_facts(v, &t->candidate->artefact->facts);
	v->event->statics = json_incref(t->candidate->artefact->statics);
	return 0;
}

/* Everything that needs a compiler or a worker; fills v and its event. */
static int judge_task(struct kl_judgement *v, struct kl_gate *g, struct task *t,
		      const struct kl_surface *s, const struct kl_surface *parent,
		      struct kl_bundle_job *away)
{
	KL_AUTO(json_decrefp) json_t *job = NULL, *result = NULL;
	KL_AUTO(kl_freep) int64_t *weight = point_weights(s->contract);
	struct kl_judgement_of of = {
		.workload = s->contract->workload,
		.weight = weight,
		.nweight = s->contract->nperf,
	};
	int err = build_task(t, v, g, s, parent);

	if (err < 0 || !t->candidate->artefact)
		return err;
	if (g->o.same_code_fails && same_code(t->candidate, t->parent)) {
		kl_judgement_set(v, KL_VERDICT_FAIL, kl_failure_name(KL_FAILURE_NO_CHANGE),
				 "the machine code is the same as before the change");
		return 0;
	}
	of.parent = t->parent && t->parent->artefact ? parent->digest : NULL;
	if ((err = make_job(&job, g, s, t)) < 0)
		return err;
	if (!g->runner.way->run)
		return defer_judgement(v, g, job, &of, away);
	if ((err = run_job(&result, g, s, t->backend, job)) < 0)
		return err;
	kl_judgement_take(v, result, &of);
	return 0;
}

/*
 * A verdict of an earlier run; that of a walk on a step without effect says nothing of the answers.
 */
static bool recall_event(struct kl_event **event, struct kl_gate *g, const struct kl_cache_key *key)
{
	if (!g->repo || g->o.no_cache)
		return false;
	if (g->o.quick)
		return kl_cache_find(event, g->repo, key) == 0;
	if (kl_cache_get(event, g->repo, key) < 0)
		return false;
	if (g->o.same_code_fails || (*event)->failure != KL_FAILURE_NO_CHANGE)
		return true;
	kl_event_free(kl_steal(event));
	return false;
}

/* What an allowed signer noted on the same files at the same place is as good. */
static bool recall_vouched(struct kl_event **event, char **signer, struct kl_gate *g,
			   const struct kl_cache_key *key)
{
	return g->repo && !g->o.no_cache && kl_vouched_find(event, signer, g->repo, key) == 0;
}

/*
 * Results of replays stay out, and what only trouble of the machine decided, so that it is asked
 * again.
 */
static int remember_event(struct kl_gate *g, const struct kl_cache_key *key,
			  const struct kl_judgement *v)
{
	if (!g->repo || g->o.seed || v->event->verdict == KL_VERDICT_INCONCLUSIVE)
		return 0;
	return kl_cache_put(g->repo, key, v->event);
}

int kl_gate_judge_at(struct kl_judgement **out, struct kl_gate *g,
		     const struct kl_surface *candidate, const struct kl_surface *parent,
		     const char *commit)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *v = kl_judgement_new(NULL);
	struct task t = { .candidate = NULL };
	struct kl_platform where;
	struct kl_cache_key key = {
		.surface = candidate->digest,
		.contract = candidate->contract_digest,
		.platform = &where,
		.flags = &candidate->contract->flags,
		.parent = parent && !g->o.quick ? parent->digest : NULL,
		.profile = !g->o.no_profile,
		.quick = g->o.quick,
		.runner = g->runner.way->run ? NULL : g->runner.name,
	};
	char hex[KL_DIGEST_HEX];
	struct kl_told told;
	struct kl_bundle_job away = {
		.cache = hex, .runner = g->runner.name, .dir = candidate->dir, .commit = commit
	};
	int err;

	g->no_device = false;
	if ((err = kl_builder_platform(&t.platform, &g->builder, candidate)) < 0 ||
	    (err = kl_builder_backend(&t.backend, &g->builder, candidate)) < 0)
		return err;
	key.tier = tier_of(g, t.backend);
	where = t.platform;
	if (t.backend->device)
		t.backend->device->list(where.device, sizeof(where.device));
	if (key.runner && g->repo) {
		kl_told_get(&told, g->repo, key.runner, where.id);
		key.told = &told;
	}
	if (recall_event(&v->event, g, &key) || recall_vouched(&v->event, &v->voucher, g, &key)) {
		v->cached = true;
		*out = kl_steal(&v);
		return 0;
	}
	kl_error_clear();
	kl_cache_key_hex(hex, &key);
	v->event = event_new(g, candidate, &t);
	if ((err = judge_task(v, g, &t, candidate, parent, &away)) < 0)
		return err;
	kl_event_seal(v->event);
	if (!v->deferred && (err = remember_event(g, &key, v)) < 0)
		return err;
	*out = kl_steal(&v);
	return 0;
}

int kl_gate_judge(struct kl_judgement **out, struct kl_gate *g, const struct kl_surface *candidate,
		  const struct kl_surface *parent)
{
	return kl_gate_judge_at(out, g, candidate, parent, NULL);
}

int kl_gate_judge_anew(struct kl_judgement **out, struct kl_gate *g,
		       const struct kl_surface *candidate, const struct kl_surface *parent)
{
	bool no_cache = g->o.no_cache;
	int err;

	g->o.no_cache = true;
	err = kl_gate_judge(out, g, candidate, parent);
	g->o.no_cache = no_cache;
	return err;
}

/* --- sending away ----------------------------------------------------------- */

size_t kl_gate_waiting(const struct kl_gate *g)
{
	return kl_bundle_jobs(g->bundle);
}

bool kl_gate_is_remote(const struct kl_gate *g)
{
	return !g->runner.way->run;
}

int kl_gate_send(struct kl_parcel *out, struct kl_gate *g, const char *path)
{
	int err = kl_parcel_send(out, g->bundle, &g->runner, g->repo, path, g->o.progress);

	if (err < 0)
		return err;
	kl_bundle_free(g->bundle);
	g->bundle = kl_bundle_new();
	return 0;
}

bool kl_gate_lacked_device(const struct kl_gate *g)
{
	return g->no_device;
}

int kl_gate_reaches(const struct kl_gate *g, const struct kl_surface *s)
{
	const struct kl_backend *backend = NULL;
	int err = kl_builder_backend(&backend, &g->builder, s);

	if (err < 0)
		return err;
	if (kl_gate_is_remote(g))
		return kl_error(KL_ECANNOT,
				"runner '%s' answers later: here is no verdict to wait for",
				g->runner.name);
	if (backend->device && !backend->device->is_shown())
		return kl_error(KL_ECANNOT, "this machine shows no %s", backend->device->name);
	return 0;
}

int kl_gate_facts(struct kl_facts *out, struct kl_gate *g, const struct kl_surface *s)
{
	const struct kl_built *b;
	int err = kl_builder_surface(&b, &g->builder, s);

	if (err < 0)
		return err;
	if (!b->artefact)
		return kl_error(KL_ENO, "%s: %s", b->class_, b->message);
	kl_strvec_copy(&out->features, &b->artefact->facts.features);
	snprintf(out->code_digest, sizeof(out->code_digest), "%s", b->artefact->facts.code_digest);
	return 0;
}
