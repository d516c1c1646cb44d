/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_step - git klineage step: judges an edit made in the worktree, and commits it if it passes */
#include <string.h>

#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "cmd/send_away.h"
#include "cmd/step_print.h"
#include "walk/step.h"

static const char synopsis[] = "step [<options>] [-m <message>]\n"
			       "step --card <id> [<options>] [-m <message>]";

struct options {
	struct kl_listing out;
	struct kl_worktree_step_opts step;
	const char *jail, *platform, *runner;
	bool quiet, progress;
};

static bool is_token(const char *word)
{
	return kl_slug_ok(word) && strlen(word) <= 40;
}

static int check_options(const struct options *options, int argc, char **argv)
{
	const struct kl_worktree_step_opts *step = &options->step;
	int err = kl_listing_check(&options->out, synopsis);

	if (err < 0)
		return err;
	if (argc)
		return kl_opt_usage(synopsis,
				    "unexpected argument '%s': a step is the edit in the worktree; "
				    "name a kernel with --workload",
				    argv[0]);
	if (step->require && strcmp(step->require, "fast") != 0 &&
	    strcmp(step->require, "not-slower") != 0)
		return kl_opt_usage(synopsis, "--require takes 'fast' or 'not-slower', not '%s'",
				    step->require);
	if (step->require && step->allow_slow)
		return kl_opt_usage(synopsis, "--require and --allow-slow cannot be used together");
	if (step->message && (!*step->message || *step->message == '\n'))
		return kl_opt_usage(synopsis, "the first line of the message is empty");
	if ((step->action && !is_token(step->action)) ||
	    (step->mechanism && !is_token(step->mechanism)))
		return kl_opt_usage(synopsis, "--action and --mechanism take a word of lower-case "
					      "letters, digits and '-'");
	return 0;
}

static int open_gate(struct kl_gate **out, struct kl_progress **progress, struct kl_repo *repo,
		     const struct options *options, const char *workload)
{
	struct kl_gate_opts opts = { .jail = options->jail,
				     .platform = options->platform,
				     .runner = options->runner };
	int err = kl_repo_config_int(&opts.profile_ms, repo, "klineage.profileMs", 0);

	if (err < 0)
		return err;
	*progress = options->quiet ? NULL :
				     kl_progress_new(options->progress ? KL_PROGRESS_ALWAYS :
									 KL_PROGRESS_AUTO);
	opts.progress = *progress;
	kl_progress_title(*progress, "step %s", workload);
	return kl_gate_open(out, repo, &opts);
}

/* Judge the edit. If the job must be judged elsewhere, send it; the same command then goes on. */
static int judge_step(struct kl_worktree_step *step, struct options *options)
{
	int err = kl_worktree_step_judge(step, &options->step);

	if (err != KL_CARD_COMMIT_LATER)
		return err;
	if ((err = kl_send_away(options->step.gate, "the same step again")) < 0)
		return err;
	err = kl_worktree_step_judge(step, &options->step);
	return err == KL_CARD_COMMIT_LATER ?
		       kl_error(KL_ECANNOT, "no result was returned for this job") :
		       err;
}

static int run_step(struct kl_repo *repo, struct kl_worktree_step *step, struct options *options)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress = NULL;
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = NULL;
	int err = 0;

	options->step.repo = repo;
	if (options->step.card && (err = kl_library_open(&library, repo)) < 0)
		return err;
	options->step.library = library;
	if ((err = kl_worktree_step_begin(step, &options->step)) < 0 ||
	    (err = open_gate(&gate, &progress, repo, options, step->to->contract->workload)) < 0)
		return err;
	options->step.gate = gate;
	if ((err = judge_step(step, options)) < 0)
		return err;
	return kl_worktree_step_record(step, &options->step);
}

int cmd_step(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_worktree_step_release) struct kl_worktree_step step = { .lock = KL_LOCK_INIT };
	struct options options = { .step = { 0 } };
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "card", &options.step.card, "<id>",
			   "claim that the edit applies this card: count it as a trial"),
		KL_OPT_STR('m', "message", &options.step.message, "<text>",
			   "message of the commit (default: written from card or action)"),
		KL_OPT_STR('w', "workload", &options.step.workload, "<name>",
			   "use the contract of this workload"),
		KL_OPT_STR('\0', "action", &options.step.action, "<word>",
			   "what the edit does, for Klineage-Action"),
		KL_OPT_STR('\0', "mechanism", &options.step.mechanism, "<name>",
			   "the mechanism that the edit puts in"),
		KL_OPT_STR('\0', "require", &options.step.require, "fast|not-slower",
			   "commit only if the kernel has this speed against HEAD"),
		KL_OPT_BOOL('\0', "allow-slow", &options.step.allow_slow,
			    "commit a correct kernel even if it is slower"),
		KL_OPT_LISTING(&options.out),
		KL_OPT_STR('\0', "runner", &options.runner, "<runner>",
			   "judge by local (default), bundle or ssh:<host>"),
		KL_OPT_STR('\0', "jail", &options.jail, "<level>",
			   "use jail level auto, bwrap, landlock, chroot or none"),
		KL_OPT_STR('\0', "platform", &options.platform, "<level>",
			   "compile for x86-64-v1 to x86-64-v4 (default: up to v3)"),
		KL_OPT_BOOL('q', "quiet", &options.quiet, "show no progress"),
		KL_OPT_BOOL('\0', "progress", &options.progress,
			    "show progress even without a terminal"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err || (err = check_options(&options, argc, argv)) < 0)
		return err > 0 ? 0 : err;
	if ((err = run_step(ctx->repo, &step, &options)) < 0)
		return err;
	if (kl_listing_asked(&options.out))
		kl_step_print_listing(&options.out, &step);
	else
		kl_step_say(&step, &ctx->term);
	return step.accepted ? 0 : 1;
}
