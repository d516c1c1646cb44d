/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_deopt - git klineage deopt: the backward walk */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "cmd/cmd.h"
#include "cmd/deopt_model.h"
#include "cmd/deopt_say.h"
#include "cmd/opt.h"
#include "contract/select.h"
#include "walk/estimate.h"
#include "walk/sequencer.h"
#include "walk/walk_model.h"

#define DEFAULT_REWRITERS "history,passes"
#define DEFAULT_STEPS 64
#define DEFAULT_REJECTIONS 24
#define DEFAULT_JOBS 64
#define MOST_JOBS 4096
#define PROFILE_MS 15000
#define MAX_STEP ((size_t)4 << 20)
#define JOURNEY_MS (30 * 60 * 1000)

static const char synopsis[] = "deopt [<options>] [<workload>]\n"
			       "deopt --estimate [<options>] [<workload>]\n"
			       "deopt (--continue | --skip | --quit | --abort | --status)";

struct options {
	bool go_on, skip, abort, quit, status, estimate, no_rederive, json, quiet, progress;
	const char *expert, *name, *rewriters, *rederive, *jail, *platform, *runner;
	const char *exec, *model, *budget, *step;
	struct kl_claim claim;
	int64_t steps, rejections;
};

/* what a walk needs beside the repository */
struct tools {
	struct kl_progress *progress;
	struct kl_gate *gate;
	struct kl_mechanisms mechanisms;
	bool have_mechanisms;
	struct kl_deopt_model model;
};

static void tools_release(struct tools *t)
{
	kl_deopt_model_release(&t->model);
	kl_gate_free(t->gate);
	if (t->have_mechanisms)
		kl_mechanisms_release(&t->mechanisms);
	kl_progress_free(t->progress);
}

static int judge_candidate(struct kl_judgement **out, const struct kl_surface *candidate,
			   const struct kl_surface *parent, void *payload)
{
	struct tools *t = payload;

	return kl_gate_judge(out, t->gate, candidate, parent);
}

static int send_away(struct kl_parcel *out, void *payload)
{
	struct tools *t = payload;

	return kl_gate_send(out, t->gate, NULL);
}

static size_t count_collected(void *payload)
{
	struct tools *t = payload;

	return kl_gate_waiting(t->gate);
}

static int judge_anew(struct kl_judgement **out, const struct kl_surface *candidate,
		      const struct kl_surface *parent, void *payload)
{
	struct tools *t = payload;

	return kl_gate_judge_anew(out, t->gate, candidate, parent);
}

static int open_session(struct kl_session **out, const char *workload, void *payload)
{
	struct tools *t = payload;

	return kl_deopt_model_open(out, &t->model, workload);
}

/* How long a provider has to remember what was said: a step's gate, or a journey. */
static int64_t pause_of(const struct tools *t, int64_t profile_ms)
{
	return kl_gate_is_remote(t->gate) ? JOURNEY_MS : 2 * (profile_ms ? profile_ms : PROFILE_MS);
}

static int open_mechanisms(struct tools *t)
{
	int err = kl_mechanisms_load_shipped(&t->mechanisms);

	if (err < 0)
		return err;
	t->have_mechanisms = true;
	return 0;
}

static int tools_open(struct tools *t, struct kl_sequencer *s, const struct options *o)
{
	struct kl_gate_opts opts = {
		.jail = o->jail,
		.platform = o->platform,
		.same_code_fails = true,
		.runner = o->runner,
	};
	int64_t most = 0;
	int err;

	t->progress = o->quiet ?
			      NULL :
			      kl_progress_new(o->progress ? KL_PROGRESS_ALWAYS : KL_PROGRESS_AUTO);
	opts.progress = t->progress;
	if ((err = kl_repo_config_int(&opts.profile_ms, s->repo, "klineage.profileMs", 0)) < 0 ||
	    (err = kl_repo_config_int(&most, s->repo, "klineage.bundleJobs", DEFAULT_JOBS)) < 0 ||
	    (err = open_mechanisms(t)) < 0)
		return err;
	if ((err = kl_gate_open(&t->gate, s->repo, &opts)) < 0)
		return err;
	if (most < 1 || most > MOST_JOBS)
		return kl_error(KL_EINVALID, "klineage.bundleJobs is %lld, not 1 to %d",
				(long long)most, MOST_JOBS);
	s->judge = judge_candidate;
	s->send = send_away;
	s->collected = count_collected;
	s->judge_anew = kl_gate_is_remote(t->gate) ? NULL : judge_anew;
	s->most_jobs = (size_t)most;
	s->model.open = open_session;
	s->model.rederive = kl_rederive_next;
	s->model.audit = kl_trait_audit;
	s->payload = t;
	t->model.progress = t->progress;
	t->model.pause_ms = pause_of(t, opts.profile_ms);
	s->jail = kl_gate_jail(t->gate);
	s->mechanisms = &t->mechanisms;
	s->progress = t->progress;
	return 0;
}

/* --- starting --------------------------------------------------------------- */

static int read_limits(struct options *o, struct kl_repo *r)
{
	int err;

	if (!o->steps &&
	    (err = kl_repo_config_int(&o->steps, r, "klineage.stepLimit", DEFAULT_STEPS)) < 0)
		return err;
	if (!o->rejections &&
	    (err = kl_repo_config_int(&o->rejections, r, "klineage.rejectionLimit",
				      DEFAULT_REJECTIONS)) < 0)
		return err;
	if (o->steps < 1 || o->rejections < 1)
		return kl_opt_usage(synopsis, "a limit is at least 1");
	return 0;
}

/* the walk takes what is committed: say so when the worktree has something else */
static void warn_if_dirty(const struct kl_surface *committed, struct kl_repo *r)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *now = NULL;
	const char *top = kl_repo_worktree(r);

	if (!top)
		return;
	if (kl_surface_from_dir(&now, top, committed->dir) < 0)
		kl_error_clear(); /* whatever is wrong there is not what is walked */
	else if (strcmp(now->digest, committed->digest) ||
		 strcmp(now->contract_digest, committed->contract_digest))
		fprintf(stderr,
			"git-klineage: warning: '%s' has changes that are not committed; "
			"the walk begins at HEAD without them\n",
			*committed->dir ? committed->dir : ".");
}

/* nothing is begun, nothing is sent */
static int print_estimate(struct tools *t, const struct options *o, const struct kl_surface *expert)
{
	struct kl_estimate_of of = {
		.repo = t->model.repo,
		.expert = expert,
		.mechanisms = &t->mechanisms,
		.rewriters = o->rewriters,
		.rederive = o->rederive,
		.step_limit = o->steps,
		.rejection_limit = o->rejections,
	};
	struct kl_estimate e;
	struct kl_session *session;
	int err;

	if (!t->model.who)
		return kl_error(KL_EUSAGE,
				"a walk without a model costs nothing: --estimate is for "
				"--rewriter chat or exec, or --rederive");
	if ((err = open_mechanisms(t)) < 0 || (err = kl_estimate_assume(&e, &of)) < 0 ||
	    (err = kl_deopt_model_look(&session, &t->model, expert->contract->workload)) < 0)
		return err;
	kl_estimate_walk(&e, session);
	return kl_deopt_say_estimate(&e, session, expert->contract->workload, o->json);
}

static int start_walk(struct kl_sequencer *s, struct tools *t, struct options *o,
		      const char *workload)
{
	KL_AUTO(kl_freep) char *dir = NULL;
	KL_AUTO(kl_surface_freep) struct kl_surface *expert = NULL;
	struct kl_sequencer_opts opts = { .expert = o->expert, .name = o->name };
	struct kl_platform platform;
	git_oid commit, tree;
	int err;

	if (!o->rewriters)
		o->rewriters = kl_repo_config(s->repo, "klineage.rewriter");
	if (!o->rewriters)
		o->rewriters = DEFAULT_REWRITERS;
	if ((err = read_limits(o, s->repo)) < 0 || (err = kl_rewriters_check(o->rewriters)) < 0 ||
	    (err = kl_repo_resolve(&commit, s->repo, o->expert ? o->expert : "HEAD")) < 0 ||
	    (err = kl_repo_tree_of(&tree, s->repo, &commit)) < 0 ||
	    (err = kl_select_dir(&dir, s->repo, &tree, workload)) < 0 ||
	    (err = kl_surface_from_tree(&expert, s->repo, &tree, dir)) < 0)
		return err;
	t->model.begins = true;
	if ((err = kl_deopt_model_choose(&t->model, &o->rederive, o->rewriters)) < 0)
		return err;
	if (o->estimate)
		return print_estimate(t, o, expert);
	if (!o->expert)
		warn_if_dirty(expert, s->repo);
	if ((err = tools_open(t, s, o)) < 0)
		return err;
	opts.dir = dir;
	if ((err = kl_gate_platform(&platform, t->gate, expert)) < 0)
		return err;
	opts.platform = platform.id;
	opts.rewriters = o->rewriters;
	opts.runner = o->runner;
	opts.rederive = o->rederive;
	opts.step_limit = o->steps;
	opts.rejection_limit = o->rejections;
	return kl_sequencer_start(s, &opts);
}

/* --- going on ----------------------------------------------------------------- */

static int same_platform(const struct kl_sequencer *s, const struct tools *t)
{
	const char *began = kl_walk_str(&s->op.walk, "platform");
	struct kl_platform here = { .id = "" };

	if (kl_gate_machine(&here, t->gate, began) < 0)
		kl_error_clear();
	if (!strcmp(began, here.id))
		return 0;
	return kl_error(KL_EINVALID,
			"the walk began on %s, this is %s; times of the two do not compare", began,
			here.id[0] ? here.id : "another machine");
}

static int resume_model(struct kl_sequencer *s, struct tools *t)
{
	const char *who = kl_model_name(s);

	t->model.who = who ? kl_strdup(who) : NULL;
	return kl_deopt_model_resume(&t->model);
}

/* the step of a file, or of stdin */
static int take_step(struct kl_sequencer *s, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_envelope_release) struct kl_envelope step = { 0 };
	int err = strcmp(path, "-") ? kl_fs_read(&text, path, MAX_STEP) :
				      kl_buf_read_fd(&text, STDIN_FILENO, MAX_STEP);

	if (err < 0 || (err = kl_envelope_json(&step, text.ptr, text.len)) < 0)
		return kl_error_in(err, "--step");
	return kl_sequencer_take(s, &step);
}

static int go_on(struct kl_sequencer *s, struct tools *t, struct options *o)
{
	int err = kl_sequencer_resume(s);

	if (!err)
		err = resume_model(s, t);
	if (!err && !o->runner && *kl_walk_str(&s->op.walk, "runner"))
		o->runner = kl_walk_str(&s->op.walk, "runner");
	if (!err && o->quit)
		err = kl_sequencer_stop(s);
	else if (!err && o->skip)
		err = kl_sequencer_skip(s);
	if (!err && !o->quit)
		err = tools_open(t, s, o);
	if (!err && !o->quit)
		err = same_platform(s, t);
	if (!err && o->step)
		err = take_step(s, o->step);
	else if (!err && o->go_on)
		err = kl_sequencer_collect(s, &o->claim);
	return err;
}

/* --- the end ------------------------------------------------------------------- */

static int run_walk(struct kl_sequencer *s, struct tools *t, const struct options *o)
{
	struct kl_outcome out;
	int err = kl_sequencer_run(s, &out);

	kl_progress_free(kl_steal(&t->progress));
	s->progress = NULL;
	if (err == KL_ENO || (!err && !out.waiting))
		kl_deopt_model_forget(s->repo);
	if (!err)
		kl_deopt_say_outcome(&out, o->json);
	kl_outcome_release(&out);
	return err;
}

static int print_status(struct kl_sequencer *s, struct tools *t, bool json)
{
	int err = kl_opstate_load(&s->op, s->repo);

	if (err == KL_ENOTFOUND && !json) {
		puts("no operation in progress");
		return 0;
	}
	if (err < 0 || (err = resume_model(s, t)) < 0)
		return err;
	return kl_deopt_say_status(&s->op.walk, &t->model, json);
}

static int abort_it(struct kl_sequencer *s)
{
	int err = kl_sequencer_abort(s);

	if (!err)
		kl_deopt_model_forget(s->repo);
	return err;
}

static int check_options(const struct options *o, int argc)
{
	int modes = o->go_on + o->skip + o->abort + o->quit + o->status;

	if (modes > 1 || (modes && argc))
		return kl_opt_usage(
			synopsis,
			"one of --continue, --skip, --quit, --abort, --status, and alone");
	if (argc > 1)
		return kl_opt_usage(synopsis, "one workload at a time");
	if (modes &&
	    (o->expert || o->name || o->rewriters || o->rederive || o->no_rederive || o->estimate))
		return kl_opt_usage(synopsis,
				    "the operation in progress has its expert, name and rewriters");
	if (o->step &&
	    (!o->go_on || o->claim.action || o->claim.mechanism || o->claim.locus || o->claim.text))
		return kl_opt_usage(synopsis, "--step is for --continue, and says all of the step");
	if (o->rederive && o->no_rederive)
		return kl_opt_usage(synopsis, "--rederive or --no-rederive?");
	return 0;
}

int cmd_deopt(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(tools_release) struct tools t = { 0 };
	KL_AUTO(kl_sequencer_release) struct kl_sequencer s = KL_SEQUENCER_INIT;
	struct options o = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "expert", &o.expert, "<rev>",
			   "walk back from this expert (default: HEAD)"),
		KL_OPT_STR('\0', "name", &o.name, "<name>",
			   "name the lineage (default: platform and expert)"),
		KL_OPT_STR('\0', "rewriter", &o.rewriters, "<list>",
			   "ask history, passes[:<dir>], patches:<dir>, exec, chat, stepwise "
			   "(default: history,passes)"),
		KL_OPT_STR('\0', "rederive", &o.rederive, "<model>",
			   "re-derive steps with chat or exec (default: the model that proposes)"),
		KL_OPT_BOOL('\0', "no-rederive", &o.no_rederive, "do not re-derive steps"),
		KL_OPT_STR('\0', "exec", &o.exec, "<command>", "run this command for exec"),
		KL_OPT_STR('\0', "model", &o.model, "<name>",
			   "use this model for chat and exec (default: klineage.chat.model)"),
		KL_OPT_STR('\0', "budget", &o.budget, "<usd>",
			   "limit what the workload's walks may cost "
			   "(default: klineage.budget.induce)"),
		KL_OPT_BOOL('\0', "estimate", &o.estimate,
			    "estimate the cost of a walk; send nothing"),
		KL_OPT_INT('\0', "steps", &o.steps, "<n>", "end after this many accepted steps"),
		KL_OPT_INT('\0', "rejections", &o.rejections, "<n>",
			   "end after this many rejections in a row"),
		KL_OPT_BOOL('\0', "continue", &o.go_on, "resume after an interruption or an edit"),
		KL_OPT_BOOL('\0', "skip", &o.skip, "reject the current proposal and continue"),
		KL_OPT_BOOL('\0', "quit", &o.quit,
			    "end here: the accepted steps become the lineage"),
		KL_OPT_BOOL('\0', "abort", &o.abort,
			    "drop the operation; no branch or note has changed"),
		KL_OPT_BOOL('\0', "status", &o.status, "show where the operation is"),
		KL_OPT_STR('\0', "action", &o.claim.action, "<word>",
			   "name the category of a stepwise edit"),
		KL_OPT_STR('\0', "mechanism", &o.claim.mechanism, "<name>",
			   "name the mechanism that a stepwise edit removes"),
		KL_OPT_STR('\0', "locus", &o.claim.locus, "<place>",
			   "name the place of a stepwise edit"),
		KL_OPT_STR('m', "message", &o.claim.text, "<why>",
			   "give the reason for a stepwise edit"),
		KL_OPT_STR('\0', "step", &o.step, "<file>",
			   "read a stepwise edit from this JSON file; - is stdin"),
		KL_OPT_STR('\0', "runner", &o.runner, "<runner>",
			   "judge by local (default), bundle or ssh:<host>"),
		KL_OPT_STR('\0', "jail", &o.jail, "<level>",
			   "use jail level auto, bwrap, landlock, chroot or none"),
		KL_OPT_STR('\0', "platform", &o.platform, "<level>",
			   "compile for x86-64-v1 to x86-64-v4 (default: up to v3)"),
		KL_OPT_BOOL('\0', "json", &o.json, "print the outcome as JSON"),
		KL_OPT_BOOL('q', "quiet", &o.quiet, "show no progress"),
		KL_OPT_BOOL('\0', "progress", &o.progress, "show progress even without a terminal"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = check_options(&o, argc)) < 0)
		return err;
	s.repo = t.model.repo = ctx->repo;
	t.model.exec = o.exec;
	t.model.model = o.model;
	t.model.budget = o.budget;
	if (o.no_rederive)
		o.rederive = "none";
	if (o.status)
		return print_status(&s, &t, o.json);
	if (o.abort)
		return abort_it(&s);
	err = o.go_on || o.skip || o.quit ? go_on(&s, &t, &o) :
					    start_walk(&s, &t, &o, argc ? argv[0] : NULL);
	return err < 0 || o.estimate ? err : run_walk(&s, &t, &o);
}
