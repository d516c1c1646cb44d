/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/map.h"
#include "gate/cache.h"
#include "gate/event.h"
#include "gate/job.h"
#include "gate/runner.h"
#include "gate/speed.h"

#define PROFILE_MS 15000
#define WORKER_MS (15 * 60 * 1000)

/* What compiling one surface gave: an object, or a refusal. */
struct built {
	struct kl_artefact *artefact;	/* NULL: refused */
	const char *class_;
	char *message;
};

struct kl_gate {
	struct kl_repo *repo;
	struct kl_gate_opts o;
	struct kl_jail jail;
	struct kl_platform platform;
	char *dir;		/* private scratch: objects, oracle, pool */
	struct kl_map built;	/* surface digest -> struct built */
	struct kl_map oracle;	/* contract digest -> directory of its oracle and pool */
	struct kl_map audited;	/* contract digest -> "" once the contract passed its audit */
};

static void built_free(void *p)
{
	struct built *b = p;

	kl_artefact_free(b->artefact);
	free(b->message);
	free(b);
}

void kl_verdict_free(struct kl_verdict *v)
{
	if (!v)
		return;
	json_decref(v->event);
	kl_facts_release(&v->facts);
	free(v->message);
	free(v);
}

/* --- the session ----------------------------------------------------------- */

static const char *setting(struct kl_gate *g, const char *asked, const char *key)
{
	if (asked)
		return asked;
	return g->repo ? kl_repo_config(g->repo, key) : NULL;
}

static int open_jail(struct kl_gate *g)
{
	const char *name = setting(g, g->o.jail, "klineage.jail");
	const char *forced = getenv("KLINEAGE_JAIL");
	enum kl_jail_level want = KL_JAIL_AUTO;
	int err = 0;

	if (forced && *forced)
		name = forced;
	if (name)
		err = kl_jail_level_parse(&want, name);
	return err < 0 ? err : kl_jail_open(&g->jail, want);
}

int kl_gate_open(struct kl_gate **out, struct kl_repo *repo, const struct kl_gate_opts *o)
{
	KL_AUTO(kl_gate_freep) struct kl_gate *g = kl_calloc(1, sizeof(*g));
	int err;

	g->repo = repo;
	g->o = *o;
	g->built.free_value = built_free;
	g->oracle.free_value = free;
	err = open_jail(g);
	if (!err)
		err = kl_platform_detect(&g->platform, setting(g, o->platform, "klineage.platform"));
	if (!err)
		err = kl_fs_tempdir(&g->dir, "klineage-gate");
	if (!err)
		*out = kl_steal(&g);
	return err;
}

void kl_gate_free(struct kl_gate *g)
{
	if (!g)
		return;
	kl_map_release(&g->built);
	kl_map_release(&g->oracle);
	kl_map_release(&g->audited);
	kl_fs_tempdir_cleanup(&g->dir);
	free(g);
}

const struct kl_platform *kl_gate_platform(const struct kl_gate *g)
{
	return &g->platform;
}

const struct kl_jail *kl_gate_jail(const struct kl_gate *g)
{
	return &g->jail;
}

/* --- stages ---------------------------------------------------------------- */

/* Compile and audit, once per surface. A refusal is a result; an error is not kept. */
static int build(const struct built **out, struct kl_gate *g, const struct kl_surface *s)
{
	/* the contract decides entry and flags: it is part of what was built */
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s-%s", s->digest, s->contract_digest);
	KL_AUTO(kl_freep) char *dir = kl_asprintf("%s/%.16s-%.16s", g->dir, s->digest, s->contract_digest);
	struct kl_artefact *artefact = NULL;
	const char *class_ = NULL;
	struct built *b;
	int err;

	*out = kl_map_get(&g->built, key);
	if (*out)
		return 0;
	kl_progress_step(g->o.progress, "compile");
	err = kl_fs_mkdir(dir);
	if (!err)
		err = kl_compile_surface(&artefact, &class_, &g->jail, &g->platform, s, dir);
	if (err < 0 && err != KL_ENO)
		return err;
	b = kl_calloc(1, sizeof(*b));
	b->artefact = artefact;
	b->class_ = class_;
	b->message = err ? kl_strdup(kl_error_last()) : NULL;
	kl_error_clear();
	kl_map_put(&g->built, key, b);
	*out = b;
	return 0;
}

static int build_oracle(const char **dir, struct kl_gate *g, const struct kl_surface *s)
{
	KL_AUTO(kl_freep) char *path = NULL;
	int err;

	*dir = kl_map_get(&g->oracle, s->contract_digest);
	if (*dir)
		return 0;
	kl_progress_step(g->o.progress, "compile the oracle");
	path = kl_asprintf("%s/oracle-%.16s", g->dir, s->contract_digest);
	err = kl_fs_mkdir(path);
	if (!err)
		err = kl_compile_oracle(&g->jail, &g->platform, s, path);
	if (err == KL_EINTR || err == KL_EIO)
		return err;
	if (err < 0)	/* whatever is wrong with an oracle, no kernel can be judged by it */
		return kl_error(KL_ECANNOT, "oracle of '%s': %s", s->contract->workload, kl_error_last());
	*dir = path;
	kl_map_put(&g->oracle, s->contract_digest, kl_steal(&path));
	return 0;
}

static int make_job(json_t **job, struct kl_gate *g, const struct kl_surface *s,
		    const struct built *candidate, const struct built *parent, const char *dir)
{
	KL_AUTO(kl_freep) char *truth = kl_fs_join(dir, "truth.so");
	KL_AUTO(kl_freep) char *honest = kl_fs_join(dir, "honest.so");
	KL_AUTO(kl_freep) char *pool = kl_fs_join(dir, "pool");
	struct kl_job_spec spec = {
		.contract = s->contract, .platform = &g->platform,
		.truth_so = truth, .honest_so = honest, .pool = pool,
		.candidate_so = candidate->artefact->so,
		.parent_so = parent && parent->artefact ? parent->artefact->so : NULL,
		.audit = !kl_map_get(&g->audited, s->contract_digest),
		.correct = true, .profile = !g->o.no_profile,
		.seed = g->o.seed,
		.profile_max_ms = g->o.profile_ms ? g->o.profile_ms : PROFILE_MS,
	};

	return kl_job_write(job, &spec);
}

/* Over to the worker; while it profiles, the machine is ours. */
static int run(json_t **result, struct kl_gate *g, const struct kl_surface *s, const json_t *job)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	static char done[] = "";
	int err = 0;

	if (!g->o.no_profile) {
		err = kl_lock_take_machine(&lock, "cpu", 0);
		if (err == KL_EBUSY) {
			kl_progress_step(g->o.progress, "waiting: somebody else profiles on this machine");
			err = kl_lock_take_machine(&lock, "cpu", -1);
		}
	}
	kl_progress_step(g->o.progress, g->o.no_profile ? "correctness" : "correctness and profile");
	if (!err)
		err = kl_runner_local(result, &g->jail, job, g->dir, WORKER_MS);
	if (err < 0)
		return err;
	if (!strcmp(kl_json_str_or(*result, "status", ""), "cannot"))
		return kl_error(KL_ECANNOT, "%s", kl_json_str_or(*result, "message",
								 "the worker cannot say why"));
	kl_map_put(&g->audited, s->contract_digest, done);
	return 0;
}

/* --- the verdict ----------------------------------------------------------- */

static json_t *words(const struct kl_strvec *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(a, json_string(v->v[i]));
	return a;
}

static json_t *platform_json(const struct kl_gate *g, const struct kl_surface *s)
{
	json_t *p = json_object();

	kl_json_set_str(p, "id", g->platform.id);
	kl_json_set_str(p, "device", g->platform.device);
	kl_json_set_str(p, "compiler", g->platform.compiler);
	kl_json_set(p, "flags", words(&s->contract->flags));
	return p;
}

/* What every event says, whatever came out. */
static json_t *event_new(struct kl_gate *g, const struct kl_surface *s)
{
	json_t *e = json_object();
	const char *who = NULL;
	char now[21];

	kl_clock_iso(now);
	kl_json_set_int(e, "v", 1);
	kl_json_set_str(e, "kind", "gate");
	kl_json_set_str(e, "time", now);
	kl_json_set_str(e, "workload", s->contract->workload);
	kl_json_set_int(e, "policy", KL_GATE_POLICY);
	kl_json_set_str(e, "surface", s->digest);
	kl_json_set_str(e, "contract", s->contract_digest);
	kl_json_set(e, "platform", platform_json(g, s));
	kl_json_set_str(e, "tier", kl_jail_tier(&g->jail));
	if (g->repo && kl_repo_identity(&who, g->repo) < 0)
		kl_error_clear();	/* judging needs nobody's name; noting does and asks itself */
	kl_json_set_str(e, "by", who);
	return e;
}

static void set_verdict(struct kl_verdict *v, const char *verdict, const char *class_,
			const char *message)
{
	snprintf(v->verdict, sizeof(v->verdict), "%s", verdict);
	snprintf(v->class_, sizeof(v->class_), "%s", class_ ? class_ : "");
	free(v->message);
	v->message = kl_strdup(message ? message : "");
	kl_json_set_str(v->event, "verdict", v->verdict);
	kl_json_set_str(v->event, "class", v->class_[0] ? v->class_ : NULL);
	if (*v->message)
		kl_json_set_str(v->event, "message", v->message);
}

static void copy_facts(struct kl_verdict *v, const struct kl_facts *f)
{
	kl_strvec_copy(&v->facts.features, &f->features);
	snprintf(v->facts.code_digest, sizeof(v->facts.code_digest), "%s", f->code_digest);
	kl_json_set(v->event, "features", words(&f->features));
	kl_json_set_str(v->event, "code", f->code_digest);
}

/* The one command that shows this failure again. */
static char *with_replay(const json_t *result, const struct kl_surface *s)
{
	const json_t *failure = json_object_get(json_object_get(result, "correct"), "failure");
	const char *seed = kl_json_str_or(failure, "seed", NULL);
	const char *message = kl_json_str_or(result, "message", "");

	if (!seed)
		return kl_strdup(message);
	return kl_asprintf("%s; replay: git klineage gate --worktree --workload %s --no-profile --seed %s",
			   message, s->contract->workload, seed);
}

static void take_profile(struct kl_verdict *v, const json_t *result, const struct kl_surface *s,
			 const char *parent_digest)
{
	const json_t *raw = json_object_get(result, "profile");
	KL_AUTO(kl_freep) int64_t *weight = kl_calloc(s->contract->nperf + 1, sizeof(*weight));
	json_t *profile, *notes = json_object_get(raw, "notes");

	for (size_t i = 0; i < s->contract->nperf; i++)
		weight[i] = s->contract->perf[i].weight;
	profile = kl_speed_profile(raw, weight, s->contract->nperf, parent_digest);
	if (profile) {
		v->ns = kl_json_int_or(profile, "ns", 0);
		kl_json_set(v->event, "profile", profile);
	}
	if (json_array_size(notes))
		kl_json_set(v->event, "notes", json_incref(notes));
}

static void take_result(struct kl_verdict *v, const json_t *result, const struct kl_surface *s,
			const char *parent_digest)
{
	KL_AUTO(kl_freep) char *message = with_replay(result, s);
	json_t *correct = json_object_get(result, "correct");

	if (json_is_object(correct))
		kl_json_set(v->event, "correct", json_incref(correct));
	take_profile(v, result, s, parent_digest);
	set_verdict(v, kl_json_str_or(result, "status", "inconclusive"),
		    kl_json_str_or(result, "class", NULL), message);
}

/* A verdict from the event of an earlier run. */
static void from_event(struct kl_verdict *v, json_t *event)
{
	size_t i;
	json_t *f;
	const char *name;

	json_decref(v->event);
	v->event = event;
	v->cached = true;
	snprintf(v->verdict, sizeof(v->verdict), "%s", kl_json_str_or(event, "verdict", "not-run"));
	snprintf(v->class_, sizeof(v->class_), "%s", kl_json_str_or(event, "class", ""));
	v->message = kl_strdup(kl_json_str_or(event, "message", ""));
	v->ns = kl_json_int_or(json_object_get(event, "profile"), "ns", 0);
	snprintf(v->facts.code_digest, sizeof(v->facts.code_digest), "%s",
		 kl_json_str_or(event, "code", ""));
	json_array_foreach(json_object_get(event, "features"), i, f)
		if (json_is_string(f))
			kl_strvec_push(&v->facts.features, json_string_value(f));
	json_object_foreach(json_object_get(event, "traits"), name, f)
		if (json_is_string(f))
			kl_map_put(&v->facts.traits, name, kl_strdup(json_string_value(f)));
}

/* Everything that needs a compiler or a worker; fills v and its event. */
static int judge(struct kl_verdict *v, struct kl_gate *g, const struct kl_surface *s,
		 const struct kl_surface *parent)
{
	const struct built *candidate, *other = NULL;
	KL_AUTO(json_decrefp) json_t *job = NULL, *result = NULL;
	const char *dir;
	int err = build_oracle(&dir, g, s);

	if (!err)
		err = build(&candidate, g, s);
	if (err < 0)
		return err;
	if (!candidate->artefact) {
		set_verdict(v, "fail", candidate->class_, candidate->message);
		return 0;
	}
	copy_facts(v, &candidate->artefact->facts);
	if (parent && (err = build(&other, g, parent)) < 0)
		return err;
	if (other && other->artefact && g->o.same_code_fails &&
	    !strcmp(other->artefact->facts.code_digest, candidate->artefact->facts.code_digest)) {
		set_verdict(v, "fail", "no-change", "the machine code is the same as before the change");
		return 0;
	}
	err = make_job(&job, g, s, candidate, other, dir);
	if (!err)
		err = run(&result, g, s, job);
	if (err < 0)
		return err;
	take_result(v, result, s, other && other->artefact ? parent->digest : NULL);
	return 0;
}

/* A verdict of an earlier run; that of a walk on a step without effect says nothing of the answers. */
static bool recall(json_t **event, struct kl_gate *g, const struct kl_cache_key *key)
{
	if (!g->repo || g->o.no_cache || kl_cache_get(event, g->repo, key) < 0)
		return false;
	if (g->o.same_code_fails || strcmp(kl_json_str_or(*event, "class", ""), "no-change"))
		return true;
	json_decref(kl_steal(event));
	return false;
}

int kl_gate_judge(struct kl_verdict **out, struct kl_gate *g,
		  const struct kl_surface *candidate,
		  const struct kl_surface *parent)
{
	KL_AUTO(kl_verdict_freep) struct kl_verdict *v = kl_calloc(1, sizeof(*v));
	struct kl_cache_key key = {
		.surface = candidate->digest, .contract = candidate->contract_digest,
		.platform = &g->platform, .flags = &candidate->contract->flags,
		.tier = kl_jail_tier(&g->jail), .parent = parent ? parent->digest : NULL,
		.profile = !g->o.no_profile,
	};
	json_t *before = NULL;
	int err;

	v->facts.traits.free_value = free;
	if (recall(&before, g, &key)) {
		from_event(v, before);
		*out = kl_steal(&v);
		return 0;
	}
	kl_error_clear();
	v->event = event_new(g, candidate);
	err = judge(v, g, candidate, parent);
	if (err < 0)
		return err;
	kl_event_seal(v->event);
	/* what only trouble of the machine decided is asked again next time */
	if (g->repo && !g->o.seed && strcmp(v->verdict, "inconclusive"))
		err = kl_cache_put(g->repo, &key, v->event);
	if (err < 0)
		return err;
	*out = kl_steal(&v);
	return 0;
}

int kl_gate_facts(struct kl_facts *out, struct kl_gate *g, const struct kl_surface *s)
{
	const struct built *b;
	int err = build(&b, g, s);

	if (err < 0)
		return err;
	if (!b->artefact)
		return kl_error(KL_ENO, "%s: %s", b->class_, b->message);
	kl_strvec_copy(&out->features, &b->artefact->facts.features);
	snprintf(out->code_digest, sizeof(out->code_digest), "%s", b->artefact->facts.code_digest);
	return 0;
}
