/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/gate_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/opt.h"

static const char synopsis[] = "gate [<options>] [<rev>... | --worktree | --staged]\n"
			       "gate [<options>] --since <rev> [<rev>]\n"
			       "gate --import <results> [--segment <campaign>]\n"
			       "gate --retract <event> [--reason <text>]";

static int check_options(const struct kl_gate_options *options, int argc)
{
	const char *other = options->import ? "--import" : options->retract ? "--retract" : NULL;
	char *end = NULL;

	if (other && kl_listing_asked(&options->out) && !options->out.json)
		return kl_opt_usage(synopsis, "%s supports --json, but not --porcelain or -z",
				    other);
	if (other && (argc || options->worktree || options->staged || options->since ||
		      options->runner || options->output))
		return kl_opt_usage(synopsis,
				    "%s cannot be used with a state to judge, --runner or --output",
				    other);
	if (options->import && options->retract)
		return kl_opt_usage(synopsis, "--import and --retract cannot be used together");
	if (options->segment && !options->import)
		return kl_opt_usage(synopsis, "--segment needs --import");
	if (options->reason && !options->retract)
		return kl_opt_usage(synopsis, "--reason needs --retract");
	if ((options->seed || options->dims) && options->runner && strcmp(options->runner, "local"))
		return kl_opt_usage(synopsis, "--seed and --dims need the runner 'local'");
	if (options->dims && (argc > 1 || options->since || other || options->require ||
			      options->bisect || options->sign > 0))
		return kl_opt_usage(synopsis,
				    "--dims judges one state at one point: it takes no --since, "
				    "--import, --retract, --require, --bisect or --sign");
	if (options->since &&
	    (argc > 1 || options->worktree || options->staged || options->bisect || options->seed))
		return kl_opt_usage(
			synopsis,
			"--since takes at most one revision, and no --worktree, --staged, "
			"--bisect or --seed");
	if (options->worktree + options->staged + (argc > 0) > 1)
		return kl_opt_usage(synopsis,
				    "revisions, --worktree and --staged cannot be used together");
	if (argc > KL_GATE_MAX_REVS || (argc > 1 && (options->bisect || options->seed)))
		return kl_opt_usage(synopsis, argc > KL_GATE_MAX_REVS ?
						      "too many revisions" :
						      "--bisect and --seed take only one "
						      "revision");
	if (options->require && strcmp(options->require, "fast") &&
	    strcmp(options->require, "not-slower"))
		return kl_opt_usage(synopsis, "--require takes 'fast' or 'not-slower', not '%s'",
				    options->require);
	if (options->quick && (options->require || options->bisect))
		return kl_opt_usage(synopsis, "--quick cannot be used with --require or --bisect");
	if (options->sign > 0 && (options->no_note || options->worktree || options->staged ||
				  options->seed || options->import))
		return kl_opt_usage(synopsis, "--sign needs a verdict that is noted on a commit");
	if (options->require && options->no_profile)
		return kl_opt_usage(synopsis, "--require and --no-profile cannot be used together");
	errno = 0;
	if (options->seed && (strtoull(options->seed, &end, 0) == 0 || *end || errno))
		return kl_opt_usage(synopsis, "invalid seed '%s'", options->seed);
	return 0;
}

int kl_gate_options_parse(struct kl_gate_options *options, int *argc, char ***argv)
{
	bool profile = true, note = true;
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "worktree", &options->worktree,
			    "judge the files in the worktree"),
		KL_OPT_BOOL('\0', "staged", &options->staged,
			    "judge the files that are staged for commit"),
		KL_OPT_STR('\0', "since", &options->since, "<rev>",
			   "judge each kernel that differs from <rev>, timed against <rev>"),
		KL_OPT_STR('w', "workload", &options->workload, "<name>",
			   "use the contract of this workload"),
		KL_OPT_LISTING(&options->out),
		KL_OPT_BOOL('\0', "profile", &profile,
			    "time the kernel (default); --no-profile skips this"),
		KL_OPT_BOOL('\0', "quick", &options->quick,
			    "compile, audit and check the 'also' points only"),
		KL_OPT_BOOL('\0', "fast", &options->quick, NULL), /* deprecated name of --quick */
		KL_OPT_STR('\0', "require", &options->require, "fast|not-slower",
			   "exit with 1 unless the kernel has this speed against the parent"),
		KL_OPT_BOOL('\0', "fresh", &options->fresh,
			    "judge again even if this clone has a verdict"),
		KL_OPT_BOOL('\0', "bisect", &options->bisect,
			    "exit with 125 if the kernel does not compile or is inconclusive"),
		KL_OPT_BOOL('\0', "note", &note, "add the verdict to the commit's note (default)"),
		KL_OPT_CHOICE('\0', "sign", &options->sign,
			      "sign the added events with user.signingKey"),
		KL_OPT_STR('\0', "seed", &options->seed, "<n>",
			   "replay a failure: draw the inputs from this seed"),
		KL_OPT_STR('\0', "dims", &options->dims, "<dim>=<n>,...",
			   "judge only at this point of the domain"),
		KL_OPT_STR('\0', "runner", &options->runner, "<runner>",
			   "judge by local (default), bundle or ssh:<host>"),
		KL_OPT_STR('o', "output", &options->output, "<file>",
			   "write the bundle to this file (runner bundle)"),
		KL_OPT_STR('\0', "import", &options->import, "<results>",
			   "import the results of a worker on another machine"),
		KL_OPT_STR('\0', "segment", &options->segment, "<campaign>",
			   "with --import, add the events to this campaign, not to notes"),
		KL_OPT_STR('\0', "retract", &options->retract, "<event>",
			   "withdraw an event, for example a failure that the machine caused"),
		KL_OPT_STR('\0', "reason", &options->reason, "<text>",
			   "with --retract, give the reason, which is stored"),
		KL_OPT_STR('\0', "jail", &options->jail, "<level>",
			   "use jail level auto, bwrap, landlock, chroot or none"),
		KL_OPT_STR('\0', "platform", &options->platform, "<level>",
			   "compile for x86-64-v1 to x86-64-v4 (default: up to v3)"),
		KL_OPT_BOOL('q', "quiet", &options->quiet, "show no progress"),
		KL_OPT_BOOL('\0', "progress", &options->progress,
			    "show progress even without a terminal"),
		KL_OPT_END
	};
	int err = kl_opt_parse(argc, argv, synopsis, opts);

	if (err)
		return err;
	options->no_profile = !profile;
	options->no_note = !note;
	err = kl_listing_check(&options->out, synopsis);
	return err ? err : check_options(options, *argc);
}
