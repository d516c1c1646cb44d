/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_materialize - git klineage materialize: applies cards to a kernel, one commit each */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "cmd/materialize_print.h"
#include "cmd/materialize_root.h"
#include "cmd/resume_args.h"
#include "cmd/send_away.h"
#include "cmd/skill_model.h"
#include "cmd/skills.h"
#include "repo/refs.h"
#include "walk/step.h"

static const char synopsis[] = "materialize [<options>] [<workload>]\n"
			       "materialize --continue [<options>] [<workload>]\n"
			       "materialize --roundtrip <lineage> [<options>]";

#define TRIALS_NOT_GIVEN INT64_MIN

struct args {
	const char *workload, *root, *library, *name, *status, *platform, *jail, *cards, *roundtrip;
	struct kl_listing out;
	bool apply, patch, dry, quiet, again, one, estimate, held_out;
	int64_t trials;
};

struct session {
	struct kl_repo *repo, *other; /* other: the repository of --library; NULL: not given */
	struct kl_taxonomy *tax;
	struct kl_index *index;
	struct kl_progress *progress;
	struct kl_gate *gate;
	struct kl_skill_model model;
	struct kl_session *session;
	struct kl_materialize_root root;
	char *name;
	/* stored options of the run; an option given now has replaced the stored one */
	json_t *kept;
	struct kl_materialization m;
	struct kl_roundtrip rt;
};

static void session_release(struct session *session)
{
	kl_materialize_release(&session->m);
	kl_roundtrip_release(&session->rt);
	kl_materialize_root_release(&session->root);
	kl_skill_model_release(&session->model);
	kl_gate_free(session->gate);
	kl_progress_free(session->progress);
	kl_index_free(session->index);
	kl_taxonomy_free(session->tax);
	kl_repo_free(session->other);
	json_decref(session->kept);
	free(session->name);
}

static const char *workload_of(const struct session *session)
{
	return session->root.state->contract->workload;
}

/* --- root and name ---------------------------------------------------------------------------- */

static int find_root(struct session *session, const struct args *args)
{
	int err;

	session->root = (struct kl_materialize_root){
		.workload = args->workload,
		.root = args->root,
		.called = args->name,
		.again = args->again,
		.dry = args->dry,
	};
	err = kl_materialize_root_find(&session->root, session->repo);
	if (!err && session->root.name)
		session->name = kl_strdup(session->root.name);
	return err;
}

static int find_name(struct session *session, const struct args *args)
{
	struct kl_platform platform;
	int err = 0;

	if (!session->name && args->name) {
		session->name = kl_strdup(args->name);
	} else if (!session->name) {
		err = args->platform ?
			      0 :
			      kl_gate_platform(&platform, session->gate, session->root.state);
		if (!err)
			session->name = kl_materialize_name(args->platform ? args->platform :
									     platform.id,
							    &session->root.commit);
	}
	return err;
}

/* --- library and gate ------------------------------------------------------------------------- */

static int open_library(struct session *session, const struct args *args)
{
	KL_AUTO(kl_library_freep) struct kl_library *lib = NULL;
	struct kl_repo *repo = session->repo;
	int err = args->library ? kl_repo_open_at(&session->other, args->library) : 0;

	if (err)
		return kl_error_in(err, "--library '%s'", args->library);
	repo = session->other ? session->other : repo;
	if ((err = kl_taxonomy_load(&session->tax)) < 0 || (err = kl_library_open(&lib, repo)) < 0)
		return err;
	if (!kl_library_count(lib) && (!args->cards || strcmp(args->cards, "none"))) {
		err = kl_error(KL_ENOTFOUND, "the library%s%s has no cards",
			       args->library ? " in " : "", args->library ? args->library : "");
		return kl_error_hint(err,
				     "get cards with 'git klineage lift', 'git klineage skills "
				     "import' or 'git klineage sync', or use --library");
	}
	if ((err = kl_index_of(&session->index, repo, lib, session->tax)) < 0)
		return err;
	if (kl_index_bad(session->index))
		fprintf(stderr,
			"warning: %zu card%s cannot be read and %s skipped; see 'git "
			"klineage skills lint'\n",
			kl_index_bad(session->index), kl_index_bad(session->index) == 1 ? "" : "s",
			kl_index_bad(session->index) == 1 ? "is" : "are");
	return 0;
}

static int open_gate(struct session *session, const struct args *args, const char *workload)
{
	struct kl_gate_opts opts = { .jail = args->jail, .platform = args->platform };
	int err = kl_repo_config_int(&opts.profile_ms, session->repo, "klineage.profileMs", 0);

	if (err < 0)
		return err;
	session->progress = args->quiet ? NULL : kl_progress_new(KL_PROGRESS_AUTO);
	opts.progress = session->model.progress = session->progress;
	kl_progress_title(session->progress, "materialize %s", workload);
	return kl_gate_open(&session->gate, session->repo, &opts);
}

/* --- options of a run ------------------------------------------------------------------------- */

static char *kept_path(const struct session *session, const char *workload)
{
	return kl_asprintf("%s/klineage/materialize/%s/%s.json", kl_repo_common_dir(session->repo),
			   workload, session->name);
}

static int keep_workload(const struct session *session, const char *workload)
{
	KL_AUTO(kl_freep) char *path = kept_path(session, workload);

	return kl_said_keep(session->kept, path);
}

/* Load the options with which the run began. Options given now override them. */
static int recall_workload(struct session *session, struct args *args, const char *workload)
{
	KL_AUTO(kl_freep) char *path = kept_path(session, workload);
	int err;

	if (args->again && (err = kl_said_load(&session->kept, path)) < 0)
		return err;
	if (!session->kept)
		session->kept = json_object();
	session->model.rewriter = kl_said_word(session->kept, "rewriter", session->model.rewriter);
	session->model.exec = kl_said_word(session->kept, "exec", session->model.exec);
	session->model.model = kl_said_word(session->kept, "model", session->model.model);
	session->model.budget = kl_said_word(session->kept, "budget", session->model.budget);
	args->cards = kl_said_word(session->kept, "cards", args->cards);
	args->status = kl_said_word(session->kept, "status", args->status);
	args->library = kl_said_word(session->kept, "library", args->library);
	args->platform = kl_said_word(session->kept, "platform", args->platform);
	return 0;
}

static int arm_of(enum kl_cards_arm *out, const char *word)
{
	const char *name;

	*out = KL_CARDS_FULL;
	for (int i = 0; word && (name = kl_cards_arm_name((enum kl_cards_arm)i)); i++)
		if (!strcmp(word, name)) {
			*out = (enum kl_cards_arm)i;
			return 0;
		}
	return word ? kl_opt_usage(synopsis, "--cards takes full, labels or none, not '%s'", word) :
		      0;
}

static int read_options(struct kl_materialize_opts *out, struct session *session,
			const struct args *args, const char *workload)
{
	unsigned statuses = 1u << KL_CARD_ADMITTED;
	enum kl_cards_arm arm;
	bool models = kl_skill_model_is(&session->model);
	int err = arm_of(&arm, args->cards);

	if (!err && args->status)
		err = kl_skills_statuses(&statuses, synopsis, args->status);
	if (!err && arm != KL_CARDS_FULL && !models)
		err = kl_opt_usage(synopsis, "--cards needs --rewriter chat or exec");
	if (!err && models && (!args->dry || args->estimate))
		err = kl_skill_model_open(&session->session, &session->model, workload);
	if (!err && statuses != 1u << KL_CARD_ADMITTED)
		fprintf(stderr, "note: cards that are not admitted are used as well; the output "
				"shows the status of each\n");
	*out = (struct kl_materialize_opts){
		.repo = session->repo,
		.library = session->other ? session->other : session->repo,
		.index = session->index,
		.tax = session->tax,
		.gate = session->gate,
		.root = session->root.state,
		.commit = session->root.commit,
		.name = session->name,
		.statuses = statuses,
		.platform = args->platform,
		.go_on = session->root.go_on,
		.again = args->again,
		.dry = args->dry,
		.one = args->one,
		.session = session->session,
		.rewriter = session->model.rewriter,
		.arm = arm,
		.progress = session->progress,
	};
	return err;
}

static int check_name(const char *name)
{
	return kl_slug_ok(name) ? 0 :
				  kl_opt_usage(synopsis,
					       "invalid name '%s': use lower-case letters, "
					       "digits, '.', '_' and '-'",
					       name);
}

/* --- a run ------------------------------------------------------------------------------------ */

static int print_estimate(struct session *session, struct args *args)
{
	struct kl_materialize_opts opts;
	struct kl_materialize_estimate estimate;
	int err = read_options(&opts, session, args, workload_of(session));

	if (err < 0 || (err = kl_materialize_estimate(&estimate, &opts)) < 0)
		return err;
	kl_progress_free(kl_steal(&session->progress));
	return kl_materialize_print_estimate(&estimate, session->session, workload_of(session),
					     args->out.json);
}

static int prepare_run(struct session *session, struct args *args)
{
	int err = 0;

	/* with --continue, find the run first: its stored options can name the library */
	if (args->again && ((err = find_root(session, args)) < 0 ||
			    (err = recall_workload(session, args, workload_of(session))) < 0))
		return err;
	if ((err = open_library(session, args)) < 0 ||
	    (!args->again && (err = find_root(session, args)) < 0) ||
	    (err = open_gate(session, args, workload_of(session))) < 0 ||
	    (err = find_name(session, args)) < 0 || (err = check_name(session->name)) < 0)
		return err;
	return args->again ? 0 : recall_workload(session, args, workload_of(session));
}

/*
 * Run, and run again as often as the runner sends results back. KL_ECANNOT: the user must carry the
 * jobs; session->m then shows how far the run came.
 */
static int run_rounds(struct session *session, struct kl_materialize_opts *opts,
		      const char *workload)
{
	KL_AUTO(kl_freep) char *then = kl_asprintf("git klineage materialize --continue --name %s "
						   "%s",
						   session->name, workload);

	for (;;) {
		int err = kl_materialize(&session->m, opts);

		if (err < 0 || !session->m.waiting || (err = kl_send_away(session->gate, then)) < 0)
			return err;
		kl_materialize_release(&session->m);
		opts->again = true;
	}
}

static int materialize_cards(struct session *session, struct args *args)
{
	struct kl_materialize_opts opts;
	int err = prepare_run(session, args);

	if (err < 0 || (err = kl_skill_model_check(&session->model, synopsis)) < 0)
		return err;
	if (args->estimate)
		return print_estimate(session, args);
	if ((err = read_options(&opts, session, args, workload_of(session))) < 0 ||
	    (err = kl_materialize_check(&opts)) < 0 ||
	    (!args->dry && (err = keep_workload(session, workload_of(session))) < 0))
		return err;
	err = run_rounds(session, &opts, workload_of(session));
	kl_progress_free(kl_steal(&session->progress));
	if (err == KL_ENO && !args->again && (!args->root || strcmp(args->root, "baseline")))
		return kl_materialize_root_hint(err);
	return err;
}

static int report_result(const struct session *session, const struct args *args)
{
	if (kl_listing_asked(&args->out)) {
		kl_materialize_print_listing(&args->out, &session->m, workload_of(session),
					     session->name, session->m.best || session->root.go_on,
					     args->dry);
		return 0;
	}
	kl_materialize_say(args->patch ? stderr : stdout, &session->m, args->dry);
	if (!session->m.offered && !args->status && kl_index_count(session->index))
		fprintf(stderr,
			"hint: of %zu cards, no admitted one fits; --status "
			"admitted,hypothesis also uses cards that were never reproduced\n",
			kl_index_count(session->index));
	return args->patch && session->m.best ?
		       kl_materialize_print_patch(session->repo, &session->m) :
		       0;
}

static int run_search(struct session *session, struct args *args)
{
	int err = materialize_cards(session, args);

	if (err == KL_ECANNOT && session->m.waiting && !kl_listing_asked(&args->out))
		kl_materialize_say(stdout, &session->m, false);
	if (err < 0 || args->estimate || (err = report_result(session, args)) < 0)
		return err;
	if (args->dry)
		return session->m.offered ? 0 : 1;
	if (session->m.best && args->apply)
		err = kl_repo_fast_forward(session->repo, &session->m.node[session->m.best].commit);
	return err < 0 ? err : session->m.best ? 0 : 1;
}

/* --- roundtrips ------------------------------------------------------------------------------- */

static int check_trials(const struct args *args)
{
	return args->trials >= 1 && args->trials <= 100 ?
		       0 :
		       kl_opt_usage(synopsis, "--trials must be 1 to 100");
}

/*
 * Load the options of a roundtrip. A continued roundtrip keeps its number of trials and --held-out.
 */
static int recall_trials(struct session *session, struct args *args, const char *workload)
{
	bool not_given = args->trials == TRIALS_NOT_GIVEN;
	long long trials = not_given ? KL_ROUNDTRIP_TRIALS : args->trials;
	KL_AUTO(kl_freep) char *given = kl_asprintf("%lld", trials);
	int err = recall_workload(session, args, workload);

	if (err < 0)
		return err;
	if (args->again && !kl_said_word(session->kept, "trials", NULL))
		return kl_error(KL_ENOTFOUND, "no roundtrip named '%s/%s' was started", workload,
				session->name);
	args->trials = strtoll(kl_said_word(session->kept, "trials",
					    args->again && not_given ? NULL : given),
			       NULL, 10);
	args->held_out = kl_said_word(session->kept, "held_out", args->held_out ? "yes" : NULL) !=
			 NULL;
	return check_trials(args);
}

/* Run all trials, and print each as it ends, unless it is among the `printed` first ones. */
static int run_all_trials(size_t *printed, struct session *session, const struct args *args,
			  struct kl_materialize_opts *opts)
{
	int err = 0;

	for (int64_t i = 0; !err && i < args->trials; i++) {
		err = kl_roundtrip_trial(&session->rt, opts);
		if (err || session->rt.waiting || session->rt.n <= *printed)
			continue;
		*printed = session->rt.n;
		if (!kl_listing_asked(&args->out))
			kl_materialize_print_trial(&session->rt);
		fflush(stdout);
	}
	return err;
}

/*
 * Run all trials. If verdicts come later, all trials go as far as they can, and their jobs are sent
 * together; trials whose results came back at once are then run again.
 */
static int run_trials(struct session *session, struct args *args)
{
	const char *workload = session->rt.root->contract->workload;
	KL_AUTO(kl_freep) char *then = kl_asprintf("git klineage materialize --roundtrip %s --name "
						   "%s --continue",
						   session->rt.lineage, session->name);
	struct kl_materialize_opts opts;
	size_t printed = 0;
	int err;

	if ((err = read_options(&opts, session, args, workload)) < 0 ||
	    (err = kl_roundtrip_check(&session->rt, &opts, (size_t)args->trials)) < 0 ||
	    (err = keep_workload(session, workload)) < 0)
		return err;
	opts.without = args->held_out ? session->rt.lineage : NULL;
	while (!(err = run_all_trials(&printed, session, args, &opts)) && session->rt.waiting &&
	       !(err = kl_send_away(session->gate, then))) {
		kl_roundtrip_forget(&session->rt);
		opts.again = true;
	}
	kl_progress_free(kl_steal(&session->progress));
	return err;
}

static int run_roundtrip(struct session *session, struct args *args)
{
	const char *leaf, *workload;
	int err = kl_roundtrip_begin(&session->rt, session->repo, args->roundtrip);

	if (err < 0)
		return err;
	leaf = strrchr(session->rt.lineage, '/') + 1;
	workload = session->rt.root->contract->workload;
	session->name = args->name ? kl_strdup(args->name) : kl_asprintf("rt-%.56s", leaf);
	if ((err = check_name(session->name)) < 0 ||
	    (err = recall_trials(session, args, workload)) < 0 ||
	    (err = kl_skill_model_check(&session->model, synopsis)) < 0 ||
	    (err = open_library(session, args)) < 0 ||
	    (err = open_gate(session, args, workload)) < 0 || (err = run_trials(session, args)) < 0)
		return err;
	kl_materialize_print_roundtrip(&session->rt, &args->out);
	return session->rt.successes ? 0 : 1;
}

/* --- the verb --------------------------------------------------------------------------------- */

static int check_args(const struct args *args, const struct session *session, int argc)
{
	int err = kl_listing_check(&args->out, synopsis);

	if (err < 0)
		return err;
	if (argc > 1 || (argc && args->roundtrip))
		return kl_opt_usage(synopsis, "only one workload can be given");
	if (args->dry && (args->apply || args->patch || args->again))
		return kl_opt_usage(synopsis, "--dry-run cannot be used with --apply, --patch or "
					      "--continue");
	if (kl_listing_asked(&args->out) && args->patch)
		return kl_opt_usage(synopsis, "--%s and --patch cannot be used together",
				    args->out.json ? "json" : "porcelain");
	if (kl_listing_asked(&args->out) && !args->out.json && args->estimate)
		return kl_opt_usage(synopsis,
				    "--estimate supports --json, but not --porcelain or -z");
	if (args->again && args->root)
		return kl_opt_usage(
			synopsis, "--root cannot be used with --continue: the run keeps its root");
	if (args->apply && args->root && !strcmp(args->root, "worktree"))
		return kl_opt_usage(synopsis,
				    "--apply needs a committed root; commit first, or use "
				    "--patch");
	if (args->roundtrip &&
	    (args->apply || args->patch || args->dry || args->root || args->estimate))
		return kl_opt_usage(synopsis, "--roundtrip cannot be used with --apply, --patch, "
					      "--dry-run, --root or --estimate");
	if (!args->roundtrip && (args->held_out || args->trials != TRIALS_NOT_GIVEN))
		return kl_opt_usage(synopsis, "--trials and --held-out need --roundtrip");
	if (args->one &&
	    (args->dry || args->roundtrip || args->estimate || kl_skill_model_is(&session->model)))
		return kl_opt_usage(synopsis, "--one cannot be used with a model, --roundtrip, "
					      "--dry-run or --estimate");
	if (args->trials != TRIALS_NOT_GIVEN && check_trials(args) < 0)
		return KL_EUSAGE;
	if (args->estimate && !kl_skill_model_is(&session->model))
		return kl_opt_usage(synopsis,
				    "a run without a model costs nothing; --estimate needs "
				    "--rewriter chat or exec");
	return args->again ?
		       0 :
		       kl_skill_model_check((struct kl_skill_model *)&session->model, synopsis);
}

int cmd_materialize(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(session_release) struct session session = {
		.repo = ctx->repo,
		.model = { .repo = ctx->repo, .of = KL_BUDGET_MATERIALIZE },
	};
	struct args args = { .trials = TRIALS_NOT_GIVEN };
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "apply", &args.apply,
			    "fast-forward the current branch to the result"),
		KL_OPT_STR('\0', "cards", &args.cards, "<what>",
			   "show cards to the model: full, labels or none (default: full)"),
		KL_OPT_BOOL('\0', "continue", &args.again, "resume a run that stopped"),
		KL_OPT_BOOL('n', "dry-run", &args.dry,
			    "show which cards would be tried, and whether they apply"),
		KL_OPT_BOOL('\0', "estimate", &args.estimate,
			    "estimate the cost of a run; send nothing"),
		KL_OPT_BOOL('\0', "held-out", &args.held_out,
			    "with --roundtrip, leave out cards learned from that lineage"),
		KL_OPT_STR('\0', "jail", &args.jail, "<level>",
			   "use jail level auto, bwrap, landlock, chroot or none"),
		KL_OPT_STR('\0', "library", &args.library, "<path>",
			   "use the cards of another repository"),
		KL_OPT_STR('\0', "name", &args.name, "<name>",
			   "name the branch (default: platform and root)"),
		KL_OPT_BOOL('\0', "one", &args.one,
			    "stop after judging one change; --continue resumes"),
		KL_OPT_BOOL('\0', "patch", &args.patch, "print the result as a patch"),
		KL_OPT_STR('\0', "platform", &args.platform, "<id>",
			   "judge for cpu/x86-64-v1 to -v4"),
		KL_OPT_BOOL('q', "quiet", &args.quiet, "show no progress"),
		KL_OPT_STR('\0', "root", &args.root, "<rev>",
			   "start from a revision, worktree, best or baseline (default: HEAD)"),
		KL_OPT_STR('\0', "roundtrip", &args.roundtrip, "<lineage>",
			   "start from K_0 of a lineage and compare the result with K*"),
		KL_OPT_STR('\0', "status", &args.status, "<list>",
			   "use cards with these statuses (default: admitted)"),
		KL_OPT_INT('\0', "trials", &args.trials, "<n>",
			   "with --roundtrip, make this many trials (default: 5)"),
		KL_SKILL_MODEL_OPTS(&session.model, "materialize"),
		KL_OPT_LISTING(&args.out),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err || (err = check_args(&args, &session, argc)) < 0)
		return err > 0 ? 0 : err;
	args.workload = argc ? argv[0] : NULL;
	return args.roundtrip ? run_roundtrip(&session, &args) : run_search(&session, &args);
}
