/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_deopt - git klineage deopt: runs the backward walk */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "cmd/deopt_model.h"
#include "cmd/deopt_print.h"
#include "contract/checkout.h"
#include "contract/select.h"
#include "walk/estimate.h"
#include "walk/sequencer.h"
#include "walk/walk_model.h"

#define DEFAULT_REWRITERS "history,passes"
#define DEFAULT_STEPS 64
#define DEFAULT_REJECTIONS 24
#define DEFAULT_JOBS 64
#define MOST_JOBS 4096
#define MAX_STEP ((size_t)4 << 20)
#define JOURNEY_MS (30 * 60 * 1000)

static const char synopsis[] = "deopt [<options>] [<workload>]\n"
			       "deopt --estimate [<options>] [<workload>]\n"
			       "deopt (--continue | --skip | --quit | --abort | --status)";

struct options {
	bool go_on, skip, abort, quit, status, estimate, no_rederive, keep_all, json, quiet,
		progress;
	const char *expert, *name, *rewriters, *rederive, *jail, *platform, *runner;
	const char *exec, *model, *budget, *step;
	struct kl_claim claim;
	int64_t steps, rejections;
};

/* What a walk needs in addition to the repository. */
struct tools {
	struct kl_progress *progress;
	struct kl_gate *gate;
	struct kl_mechanisms mechanisms;
	bool have_mechanisms;
	struct kl_deopt_model model;
};

static void tools_release(struct tools *tools)
{
	kl_deopt_model_release(&tools->model);
	kl_gate_free(tools->gate);
	if (tools->have_mechanisms)
		kl_mechanisms_release(&tools->mechanisms);
	kl_progress_free(tools->progress);
}

static int judge_candidate(struct kl_judgement **out, const struct kl_surface *candidate,
			   const struct kl_surface *parent, void *payload)
{
	struct tools *tools = payload;

	return kl_gate_judge(out, tools->gate, candidate, parent);
}

static int send_away(struct kl_transfer *out, void *payload)
{
	struct tools *tools = payload;

	return kl_gate_send(out, tools->gate, NULL);
}

static size_t count_collected(void *payload)
{
	struct tools *tools = payload;

	return kl_gate_waiting(tools->gate);
}

static int judge_anew(struct kl_judgement **out, const struct kl_surface *candidate,
		      const struct kl_surface *parent, void *payload)
{
	struct tools *tools = payload;

	return kl_gate_judge_anew(out, tools->gate, candidate, parent);
}

static int open_session(struct kl_session **out, const char *workload, void *payload)
{
	struct tools *tools = payload;

	return kl_deopt_model_open(out, &tools->model, workload);
}

/*
 * Return the estimated pause between two requests to the model, in ms. The provider must keep the
 * prompt cached during the pause. The pause is a gate run, or the time to send jobs to a worker and
 * wait for the results.
 */
static int64_t pause_of(const struct tools *tools, int64_t profile_ms)
{
	return kl_gate_is_remote(tools->gate) ? JOURNEY_MS :
						2 * (profile_ms ? profile_ms : KL_GATE_PROFILE_MS);
}

static int open_mechanisms(struct tools *tools)
{
	int err = kl_mechanisms_load_shipped(&tools->mechanisms);

	if (err < 0)
		return err;
	tools->have_mechanisms = true;
	return 0;
}

static int tools_open(struct tools *tools, struct kl_sequencer *sequencer,
		      const struct options *options)
{
	struct kl_gate_opts opts = {
		.jail = options->jail,
		.platform = options->platform,
		.same_code_fails = true,
		.runner = options->runner,
	};
	int64_t most = 0;
	int err;

	tools->progress = options->quiet ? NULL :
					   kl_progress_new(options->progress ? KL_PROGRESS_ALWAYS :
									       KL_PROGRESS_AUTO);
	opts.progress = tools->progress;
	if ((err = kl_repo_config_int(&opts.profile_ms, sequencer->repo, "klineage.profileMs", 0)) <
		    0 ||
	    (err = kl_repo_config_int(&most, sequencer->repo, "klineage.bundleJobs",
				      DEFAULT_JOBS)) < 0 ||
	    (err = open_mechanisms(tools)) < 0)
		return err;
	if ((err = kl_gate_open(&tools->gate, sequencer->repo, &opts)) < 0)
		return err;
	if (most < 1 || most > MOST_JOBS)
		return kl_error(KL_EINVALID, "klineage.bundleJobs is %lld; must be 1 to %d",
				(long long)most, MOST_JOBS);
	sequencer->judge = judge_candidate;
	sequencer->send = send_away;
	sequencer->collected = count_collected;
	sequencer->judge_anew = kl_gate_is_remote(tools->gate) ? NULL : judge_anew;
	/* a remote gate cannot answer at once */
	sequencer->judge_cleared = kl_gate_is_remote(tools->gate) ? NULL : judge_candidate;
	sequencer->most_jobs = (size_t)most;
	sequencer->model.open = open_session;
	sequencer->model.rederive = kl_rederive_next;
	sequencer->model.audit = kl_trait_audit;
	sequencer->payload = tools;
	tools->model.progress = tools->progress;
	tools->model.pause_ms = pause_of(tools, opts.profile_ms);
	sequencer->jail = kl_gate_jail(tools->gate);
	sequencer->mechanisms = &tools->mechanisms;
	sequencer->progress = tools->progress;
	return 0;
}

/* --- starting --------------------------------------------------------------- */

static int read_limits(struct options *options, struct kl_repo *repo)
{
	int err;

	if (!options->steps && (err = kl_repo_config_int(&options->steps, repo,
							 "klineage.stepLimit", DEFAULT_STEPS)) < 0)
		return err;
	if (!options->rejections &&
	    (err = kl_repo_config_int(&options->rejections, repo, "klineage.rejectionLimit",
				      DEFAULT_REJECTIONS)) < 0)
		return err;
	if (options->steps < 1 || options->rejections < 1)
		return kl_opt_usage(synopsis,
				    "the limits of steps and rejections must be at least 1");
	return 0;
}

/*
 * Warn if the worktree differs from the commit, because the walk starts from the committed files.
 */
static void warn_if_dirty(const struct kl_surface *committed, struct kl_repo *repo)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *now = NULL;
	const char *top = kl_repo_worktree(repo);

	if (!top)
		return;
	if (kl_surface_from_dir(&now, top, committed->place) < 0)
		kl_error_clear(); /* a broken worktree does not affect the walk */
	else if (strcmp(now->digest, committed->digest) ||
		 strcmp(now->contract_digest, committed->contract_digest))
		fprintf(stderr,
			"git-klineage: warning: '%s' has uncommitted changes; the walk "
			"starts from HEAD without them\n",
			*committed->place ? committed->place : ".");
}

/* Print the likely cost of a walk. Start no walk and send nothing. */
static int print_estimate(struct tools *tools, const struct options *options,
			  const struct kl_surface *expert)
{
	struct kl_estimate_of of = {
		.repo = tools->model.repo,
		.expert = expert,
		.mechanisms = &tools->mechanisms,
		.rewriters = options->rewriters,
		.rederive = options->rederive,
		.step_limit = options->steps,
		.rejection_limit = options->rejections,
	};
	struct kl_estimate estimate;
	struct kl_session *session;
	int err;

	if (!tools->model.who)
		return kl_error(KL_EUSAGE, "a walk without a model costs nothing; --estimate needs "
					   "--rewriter chat or exec, or --rederive");
	if ((err = open_mechanisms(tools)) < 0 || (err = kl_estimate_assume(&estimate, &of)) < 0 ||
	    (err = kl_deopt_model_look(&session, &tools->model, expert->contract->workload)) < 0)
		return err;
	kl_estimate_walk(&estimate, session);
	return kl_deopt_print_estimate(&estimate, session, expert->contract->workload,
				       options->json);
}

static int start_walk(struct kl_sequencer *sequencer, struct tools *tools, struct options *options,
		      const char *workload)
{
	KL_AUTO(kl_freep) char *dir = NULL;
	KL_AUTO(kl_surface_freep) struct kl_surface *expert = NULL;
	struct kl_sequencer_opts opts = { .expert = options->expert, .name = options->name };
	struct kl_platform platform;
	git_oid commit, tree;
	int err;

	if (!options->rewriters)
		options->rewriters = kl_repo_config(sequencer->repo, "klineage.rewriter");
	if (!options->rewriters)
		options->rewriters = DEFAULT_REWRITERS;
	if ((err = read_limits(options, sequencer->repo)) < 0 ||
	    (err = kl_rewriters_check(options->rewriters)) < 0 ||
	    (err = kl_repo_resolve(&commit, sequencer->repo,
				   options->expert ? options->expert : "HEAD")) < 0 ||
	    (err = kl_repo_tree_of(&tree, sequencer->repo, &commit)) < 0 ||
	    (err = kl_select_place(&dir, sequencer->repo, &tree, workload)) < 0 ||
	    (err = kl_surface_from_tree(&expert, sequencer->repo, &tree, dir)) < 0 ||
	    (err = kl_checkout_check(sequencer->repo, expert, KL_STATE_REV, &tree)) < 0)
		return err;
	tools->model.begins = true;
	if ((err = kl_deopt_model_choose(&tools->model, &options->rederive, options->rewriters)) <
	    0)
		return err;
	if (options->estimate)
		return print_estimate(tools, options, expert);
	if (!options->expert)
		warn_if_dirty(expert, sequencer->repo);
	if ((err = tools_open(tools, sequencer, options)) < 0)
		return err;
	opts.dir = dir;
	if ((err = kl_gate_platform(&platform, tools->gate, expert)) < 0)
		return err;
	opts.platform = platform.id;
	opts.rewriters = options->rewriters;
	opts.runner = options->runner;
	opts.rederive = options->rederive;
	opts.step_limit = options->steps;
	opts.rejection_limit = options->rejections;
	opts.keep_all = options->keep_all;
	return kl_sequencer_start(sequencer, &opts);
}

/* --- resuming ----------------------------------------------------------------- */

static int same_platform(const struct kl_sequencer *sequencer, const struct tools *tools)
{
	const char *began = kl_walk_str(&sequencer->op.walk, "platform");
	struct kl_platform here = { .id = "" };

	if (kl_gate_machine(&here, tools->gate, began) < 0)
		kl_error_clear();
	if (!strcmp(began, here.id))
		return 0;
	return kl_error(KL_EINVALID,
			"the walk started on %s but this is %s; their times cannot be "
			"compared",
			began, here.id[0] ? here.id : "a different machine");
}

static int resume_model(struct kl_sequencer *sequencer, struct tools *tools)
{
	const char *who = kl_model_name(sequencer);

	tools->model.who = who ? kl_strdup(who) : NULL;
	return kl_deopt_model_resume(&tools->model);
}

/* Read a stepwise edit from the file `path` ("-": stdin), and submit it. */
static int take_step(struct kl_sequencer *sequencer, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_envelope_release) struct kl_envelope step = { 0 };
	int err = strcmp(path, "-") ? kl_fs_read(&text, path, MAX_STEP) :
				      kl_buf_read_fd(&text, STDIN_FILENO, MAX_STEP);

	if (err < 0 || (err = kl_envelope_json(&step, text.ptr, text.len)) < 0)
		return kl_error_in(err, "--step");
	return kl_sequencer_take(sequencer, &step);
}

static int go_on(struct kl_sequencer *sequencer, struct tools *tools, struct options *options)
{
	int err = kl_sequencer_resume(sequencer);

	if (!err)
		err = resume_model(sequencer, tools);
	if (!err && !options->runner && *kl_walk_str(&sequencer->op.walk, "runner"))
		options->runner = kl_walk_str(&sequencer->op.walk, "runner");
	if (!err && options->quit)
		err = kl_sequencer_stop(sequencer);
	else if (!err && options->skip)
		err = kl_sequencer_skip(sequencer);
	if (!err && !options->quit)
		err = tools_open(tools, sequencer, options);
	if (!err && !options->quit)
		err = same_platform(sequencer, tools);
	if (!err && options->step)
		err = take_step(sequencer, options->step);
	else if (!err && options->go_on)
		err = kl_sequencer_collect(sequencer, &options->claim);
	return err;
}

/* --- running, status and abort ------------------------------------------------- */

static int run_walk(struct kl_sequencer *sequencer, struct tools *tools,
		    const struct options *options)
{
	struct kl_outcome out;
	int err = kl_sequencer_run(sequencer, &out);

	kl_progress_free(kl_steal(&tools->progress));
	sequencer->progress = NULL;
	if (err == KL_ENO || (!err && !out.waiting))
		kl_deopt_model_forget(sequencer->repo);
	if (!err)
		kl_deopt_print_outcome(&out, options->json);
	kl_outcome_release(&out);
	return err;
}

static int print_status(struct kl_sequencer *sequencer, struct tools *tools, bool json)
{
	int err = kl_opstate_load(&sequencer->op, sequencer->repo);

	if (err == KL_ENOTFOUND && !json) {
		puts("no operation in progress");
		return 0;
	}
	if (err < 0 || (err = resume_model(sequencer, tools)) < 0)
		return err;
	return kl_deopt_print_status(&sequencer->op.walk, &tools->model, json);
}

static int abort_walk(struct kl_sequencer *sequencer)
{
	int err = kl_sequencer_abort(sequencer);

	if (!err)
		kl_deopt_model_forget(sequencer->repo);
	return err;
}

static int check_options(const struct options *options, int argc)
{
	int modes = options->go_on + options->skip + options->abort + options->quit +
		    options->status;

	if (modes > 1 || (modes && argc))
		return kl_opt_usage(
			synopsis, "--continue, --skip, --quit, --abort and --status cannot be used "
				  "together or with a workload");
	if (argc > 1)
		return kl_opt_usage(synopsis, "only one workload can be given");
	if (modes && (options->expert || options->name || options->rewriters || options->rederive ||
		      options->no_rederive || options->estimate || options->keep_all))
		return kl_opt_usage(synopsis, "the options of a new walk cannot be used on the "
					      "operation in progress");
	if (options->step &&
	    (!options->go_on || options->claim.action || options->claim.mechanism ||
	     options->claim.locus || options->claim.text))
		return kl_opt_usage(synopsis,
				    "--step needs --continue and excludes --action, --mechanism, "
				    "--locus and --message");
	if (options->rederive && options->no_rederive)
		return kl_opt_usage(synopsis,
				    "--rederive and --no-rederive cannot be used together");
	return 0;
}

static int parse_options(struct options *options, int *argc, char ***argv)
{
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "expert", &options->expert, "<rev>",
			   "walk back from this expert (default: HEAD)"),
		KL_OPT_STR('\0', "name", &options->name, "<name>",
			   "name the lineage (default: platform and expert)"),
		KL_OPT_STR('\0', "rewriter", &options->rewriters, "<list>",
			   "propose steps by history, passes[:<dir>], patches:<dir>, exec, "
			   "chat, stepwise (default: history,passes)"),
		KL_OPT_STR('\0', "rederive", &options->rederive, "<model>",
			   "re-derive steps with chat or exec (default: the model that proposes)"),
		KL_OPT_BOOL('\0', "no-rederive", &options->no_rederive, "do not re-derive steps"),
		KL_OPT_STR('\0', "exec", &options->exec, "<command>", "run this command for exec"),
		KL_OPT_STR('\0', "model", &options->model, "<name>",
			   "use this model for chat and exec (default: klineage.chat.model)"),
		KL_OPT_STR('\0', "budget", &options->budget, "<usd>",
			   "limit what the workload's walks may cost "
			   "(default: klineage.budget.induce)"),
		KL_OPT_BOOL('\0', "estimate", &options->estimate,
			    "estimate the cost of a walk; send nothing"),
		KL_OPT_INT('\0', "steps", &options->steps, "<n>",
			   "end after this many accepted steps"),
		KL_OPT_INT('\0', "rejections", &options->rejections, "<n>",
			   "end after this many rejections in a row"),
		KL_OPT_BOOL('\0', "keep-all", &options->keep_all,
			    "keep older states that are no faster or slower as steps"),
		KL_OPT_BOOL('\0', "continue", &options->go_on,
			    "resume after an interruption or an edit"),
		KL_OPT_BOOL('\0', "skip", &options->skip,
			    "reject the current proposal and continue"),
		KL_OPT_BOOL('\0', "quit", &options->quit,
			    "end here and record the accepted steps as the lineage"),
		KL_OPT_BOOL('\0', "abort", &options->abort,
			    "drop the operation without changing any branch or note"),
		KL_OPT_BOOL('\0', "status", &options->status, "show the operation in progress"),
		KL_OPT_STR('\0', "action", &options->claim.action, "<word>",
			   "name the category of a stepwise edit"),
		KL_OPT_STR('\0', "mechanism", &options->claim.mechanism, "<name>",
			   "name the mechanism that a stepwise edit removes"),
		KL_OPT_STR('\0', "locus", &options->claim.locus, "<place>",
			   "name the place of a stepwise edit"),
		KL_OPT_STR('m', "message", &options->claim.text, "<why>",
			   "give the reason for a stepwise edit"),
		KL_OPT_STR('\0', "step", &options->step, "<file>",
			   "read a stepwise edit from this JSON file; - is stdin"),
		KL_OPT_STR('\0', "runner", &options->runner, "<runner>",
			   "judge by local (default), bundle or ssh:<host>"),
		KL_OPT_STR('\0', "jail", &options->jail, "<level>",
			   "use jail level auto, bwrap, landlock, chroot or none"),
		KL_OPT_STR('\0', "platform", &options->platform, "<level>",
			   "compile for x86-64-v1 to x86-64-v4 (default: up to v3)"),
		KL_OPT_BOOL('\0', "json", &options->json, "print the outcome as JSON"),
		KL_OPT_BOOL('q', "quiet", &options->quiet, "show no progress"),
		KL_OPT_BOOL('\0', "progress", &options->progress,
			    "show progress even without a terminal"),
		KL_OPT_END
	};

	return kl_opt_parse(argc, argv, synopsis, opts);
}

int cmd_deopt(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(tools_release) struct tools tools = { 0 };
	KL_AUTO(kl_sequencer_release) struct kl_sequencer sequencer = KL_SEQUENCER_INIT;
	struct options options = { 0 };
	int err = parse_options(&options, &argc, &argv);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = check_options(&options, argc)) < 0)
		return err;
	sequencer.repo = tools.model.repo = ctx->repo;
	tools.model.exec = options.exec;
	tools.model.model = options.model;
	tools.model.budget = options.budget;
	if (options.no_rederive)
		options.rederive = "none";
	if (options.status)
		return print_status(&sequencer, &tools, options.json);
	if (options.abort)
		return abort_walk(&sequencer);
	err = options.go_on || options.skip || options.quit ?
		      go_on(&sequencer, &tools, &options) :
		      start_walk(&sequencer, &tools, &options, argc ? argv[0] : NULL);
	return err < 0 || options.estimate ? err : run_walk(&sequencer, &tools, &options);
}
