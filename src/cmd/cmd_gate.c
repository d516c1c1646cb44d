/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_gate - git klineage gate: judges a kernel */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/gate_import.h"
#include "cmd/gate_options.h"
#include "cmd/gate_print.h"
#include "cmd/gate_retract.h"
#include "contract/changed_kernels.h"
#include "contract/checkout.h"
#include "contract/select.h"
#include "event/note_writer.h"
#include "event/signers.h"
#include "event/speed.h"
#include "gate/gate.h"

/* --- exit codes ------------------------------------------------------------ */

static int require_speed(const struct kl_judgement *judgement,
			 const struct kl_gate_options *options)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&judgement->event->profile.vs);
	bool fast = !strcmp(options->require, "fast");

	if (!parent)
		return kl_error(KL_ECANNOT,
				"--require %s: no parent to compare with, or no profile",
				options->require);
	if (fast ? parent->speed == KL_SPEED_FAST :
		   kl_speed_is_not_slower(&judgement->event->profile))
		return 0;
	fprintf(stderr,
		"git-klineage: --require: the kernel was not shown to be %s than the parent\n",
		fast ? "faster" : "no slower");
	return 1;
}

static int exit_code(const struct kl_judgement *judgement, const struct kl_gate_options *options)
{
	enum kl_verdict verdict = judgement->event->verdict;

	if (verdict == KL_VERDICT_PASS)
		return options->require ? require_speed(judgement, options) : 0;
	if (verdict == KL_VERDICT_NOT_RUN)
		return 125;
	if (options->bisect &&
	    (verdict == KL_VERDICT_INCONCLUSIVE || judgement->event->failure == KL_FAILURE_COMPILE))
		return 125;
	return 1;
}

/* --- the verb -------------------------------------------------------------- */

static int write_note(struct kl_repo *repo, const struct kl_selection *sel,
		      struct kl_judgement *judgement, int sign)
{
	KL_AUTO(kl_noting_release) struct kl_noting noting = { .repo = repo, .sign = sign };
	const char *who;
	int err = kl_repo_identity(&who, repo);

	if (err < 0)
		return kl_error_in(err, "cannot note the verdict (--no-note skips this)");
	err = kl_noting_add(&noting, &sel->commit, judgement->event);
	return err < 0 ? err : kl_noting_write(&noting);
}

/*
 * Send the jobs to a runner. If the results do not come back at once, fail with KL_ECANNOT (exit
 * 125) and hints about the next command.
 */
static int send_away(struct kl_gate *gate, const struct kl_gate_options *options)
{
	KL_AUTO(kl_transfer_release) struct kl_transfer sent = { 0 };
	int err = kl_gate_send(&sent, gate, options->output);

	if (!err && sent.why)
		return kl_error(KL_ECANNOT, "%s", sent.why);
	if (err < 0 || !sent.waiting)
		return err;
	printf("%s\n", sent.file);
	err = kl_error(KL_ECANNOT, "no verdict yet: the job was written to '%s'", sent.file);
	kl_error_hint(err, "copy the file to the worker's machine and run there: %s", sent.command);
	return kl_error_hint(err, "then run here: git klineage gate --import <results>");
}

/* One candidate (of a revision, the worktree, the index, or a change) and its judgement. */
struct asked {
	const char *rev;
	char *cannot; /* with --since: why the kernel cannot be judged here; or NULL */
	struct kl_selection sel;
	struct kl_judgement *v;
};

static void asked_free(struct asked *asked)
{
	for (size_t i = 0; asked && (asked[i].rev || asked[i].sel.candidate); i++) {
		kl_selection_release(&asked[i].sel);
		kl_judgement_free(asked[i].v);
		free(asked[i].cannot);
	}
	free(asked);
}
KL_DEFINE_CLEANUP(struct asked *, asked_free)

static int ask_one(struct asked *asked, struct kl_gate *gate, const struct kl_gate_options *options)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &asked->sel.commit);
	kl_judgement_free(kl_steal(&asked->v));
	return kl_gate_judge_at(&asked->v, gate, asked->sel.candidate, asked->sel.parent,
				asked->sel.kind == KL_STATE_REV && !options->no_note ? hex : NULL);
}

/*
 * Tell the gate which candidate comes next, so that the gate can compile it while it judges the
 * current one.
 */
static void expect_next(struct kl_gate *gate, const struct asked *asked, size_t n)
{
	size_t i = 0;

	while (i < n && (asked[i].cannot || (asked[i].v && !asked[i].v->deferred)))
		i++;
	kl_gate_expect(gate, i < n ? asked[i].sel.candidate : NULL,
		       i < n ? asked[i].sel.parent : NULL);
}

/*
 * Judge all candidates. If some are deferred, send their jobs to the runner in one bundle, then
 * judge once more, because the gate then finds the verdicts in its cache.
 */
static int ask_all(struct asked *asked, size_t n, struct kl_gate *gate,
		   const struct kl_gate_options *options)
{
	for (int attempt = 0; attempt < 2; attempt++) {
		size_t deferred = 0;
		int err = 0;

		for (size_t i = 0; i < n && err == 0; i++) {
			if (!asked[i].cannot && (!asked[i].v || asked[i].v->deferred)) {
				expect_next(gate, asked + i + 1, n - i - 1);
				err = ask_one(&asked[i], gate, options);
			}
			if (err == KL_ECANNOT && options->since) {
				asked[i].cannot = kl_strdup(kl_error_last());
				kl_judgement_free(kl_steal(&asked[i].v));
				kl_error_clear();
				err = 0;
			}
			deferred += err == 0 && asked[i].v && asked[i].v->deferred;
		}
		if (err < 0 || !deferred)
			return err;
		if (!attempt && (err = send_away(gate, options)) < 0)
			return err;
	}
	return kl_error(KL_ECANNOT, "no result was returned for this job");
}

static const char *state_label(const struct asked *asked, const struct kl_gate_options *options)
{
	return options->since ? asked->sel.candidate->contract->workload : asked->rev;
}

/* Print one verdict and return its exit code. */
static int show_result(struct asked *asked, const struct kl_gate_options *options, bool several)
{
	struct kl_judgement *judgement = asked->v;

	if (kl_listing_asked(&options->out)) {
		kl_gate_print_row(&options->out, judgement->event,
				  asked->sel.kind == KL_STATE_REV ? &asked->sel.commit : NULL);
		if (options->out.json && *judgement->event->message)
			fprintf(stderr, "git-klineage: %s%s%s\n",
				several ? state_label(asked, options) : "", several ? ": " : "",
				judgement->event->message);
	} else {
		if (several && !options->since) /* a verdict already names its kernel */
			printf("%s: ", asked->rev);
		kl_gate_print_verdict(judgement, asked->sel.candidate, options->term);
	}
	return exit_code(judgement, options);
}

/* Return the worse exit code. With --since, 1 (a failed kernel) is worse than any other code. */
static int worse_of(int a, int b, const struct kl_gate_options *options)
{
	if (options->since && (a == 1 || b == 1))
		return 1;
	return a > b ? a : b;
}

/*
 * Note and print the verdicts that are known, even if others are deferred. Return the worst exit
 * code.
 */
static int show_all(struct kl_repo *repo, struct asked *asked, size_t n,
		    const struct kl_gate_options *options)
{
	int worst = 0, code, err;

	for (size_t i = 0; i < n; i++) {
		if (asked[i].cannot) {
			fprintf(stderr, "git-klineage: %s: cannot be judged here: %s\n",
				state_label(&asked[i], options), asked[i].cannot);
			worst = worse_of(worst, 125, options);
		}
		if (!asked[i].v || asked[i].v->deferred)
			continue;
		if (asked[i].sel.kind == KL_STATE_REV && !options->no_note && !options->seed &&
		    !options->dims &&
		    (err = write_note(repo, &asked[i].sel, asked[i].v, options->sign)) < 0)
			return err;
		code = show_result(&asked[i], options, n > 1);
		if (code < 0)
			return code;
		worst = worse_of(worst, code, options);
	}
	return worst;
}

/*
 * Judge all candidates and show the results. `base`: the commit to read the repository's list of
 * signers from; NULL: the commit that klineage.signers names.
 */
static int judge_all(struct kl_repo *repo, const struct kl_gate_options *options,
		     struct asked *asked, size_t n, const git_oid *base)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress =
		options->quiet ?
			NULL :
			kl_progress_new(options->progress ? KL_PROGRESS_ALWAYS : KL_PROGRESS_AUTO);
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = NULL;
	KL_AUTO(kl_freep) char *message = NULL;
	KL_AUTO(kl_freep) char *hints = NULL;
	struct kl_gate_opts opts = {
		.progress = progress,
		.jail = options->jail,
		.platform = options->platform,
		.no_profile = options->no_profile,
		.quick = options->quick,
		.no_cache = options->fresh || options->seed,
		.dims = options->dims,
		.seed = options->seed ? strtoull(options->seed, NULL, 0) : 0,
		.runner = options->runner,
		.signers_base = base,
	};
	int err = kl_gate_open(&gate, repo, &opts), code;

	kl_progress_title(progress, "gate %s", asked->sel.candidate->contract->workload);
	if (!err)
		err = ask_all(asked, n, gate, options);
	kl_progress_free(kl_steal(&progress));
	if (err < 0 && n == 1) {
		if (gate && kl_gate_compiled(gate) && !kl_listing_asked(&options->out))
			kl_gate_print_compiled(kl_gate_compiled(gate), asked->sel.candidate);
		return err;
	}
	/* save the message: printing the other verdicts can overwrite it */
	message = kl_strdup(err < 0 ? kl_error_last() : "");
	hints = kl_strdup(err < 0 ? kl_error_hints() : "");
	code = show_all(repo, asked, n, options);
	if (code < 0 || !err)
		return code;
	if (options->since && code == 1) {
		fprintf(stderr, "git-klineage: %s\n", message);
		return 1;
	}
	kl_error(err, "%s", message);
	return *hints ? kl_error_hint(err, "%s", hints) : err;
}

/* --- the kernels that changed (--since) ---------------------------------------- */

static int tree_at(git_oid *commit, git_oid *tree, struct kl_repo *repo, const char *rev)
{
	int err = kl_repo_resolve(commit, repo, rev);

	return err < 0 ? err : kl_repo_tree_of(tree, repo, commit);
}

/*
 * Judge each kernel that differs between the revision of --since and `rev`, with its old version as
 * parent. A contract that cannot be read counts as a failed kernel; a contract that was removed is
 * only reported. If these commits change the list of signers, the list before them is used.
 */
static int judge_since(struct kl_repo *repo, const struct kl_gate_options *options, const char *rev)
{
	KL_AUTO(kl_changed_release) struct kl_changed changed = { 0 };
	KL_AUTO(asked_freep) struct asked *asked = NULL;
	git_oid from, commit, from_tree, tree;
	int err, code, broken = 0;
	bool own_list;
	size_t n = 0;

	if ((err = tree_at(&from, &from_tree, repo, options->since)) < 0 ||
	    (err = tree_at(&commit, &tree, repo, rev)) < 0 ||
	    (err = kl_signers_in_range(&own_list, repo, &from, &commit)) < 0 ||
	    (err = kl_changed(&changed, repo, &from_tree, &tree)) < 0)
		return err;
	asked = kl_calloc(changed.n + 1, sizeof(*asked));
	for (size_t i = 0; i < changed.n; i++) {
		struct kl_changed_one *one = &changed.one[i];

		if (options->workload && strcmp(options->workload, one->workload))
			continue;
		if (!one->now)
			fprintf(stderr, "git-klineage: %s: %s%s\n", one->workload,
				one->why ? "failed, cannot read its contract: " :
					   "its contract was removed",
				one->why ? one->why : "");
		broken |= one->why != NULL;
		if (!one->now)
			continue;
		asked[n].rev = rev;
		asked[n++].sel = (struct kl_selection){
			.candidate = kl_steal(&one->now),
			.parent = kl_steal(&one->before),
			.commit = commit,
			.tree = tree,
			.kind = KL_STATE_REV,
		};
		err = kl_checkout_check(repo, asked[n - 1].sel.candidate, KL_STATE_REV, &tree);
		if (err < 0 && err != KL_ECANNOT)
			return err;
		asked[n - 1].cannot = err < 0 ? kl_strdup(kl_error_last()) : NULL;
		kl_error_clear();
	}
	if (!n && !broken && !kl_listing_asked(&options->out))
		printf("no kernel differs from %s\n", options->since);
	code = n ? judge_all(repo, options, asked, n, own_list ? &from : NULL) : 0;
	return code < 0 ? code : worse_of(code, broken, options);
}

/* --- the states to judge --------------------------------------------------------- */

/* Append the commits of "<from>..<to>", oldest first; a missing end is HEAD. */
static int add_range(struct kl_strvec *revs, struct kl_repo *repo, const char *range)
{
	const char *dots = strstr(range, "..");
	KL_AUTO(kl_freep) char *first = kl_strndup(range, (size_t)(dots - range));
	KL_AUTO(kl_freep) git_oid *commit = NULL;
	git_oid from, to;
	size_t n = 0;
	int err;

	if (dots[2] == '.')
		return kl_error(KL_EUSAGE, "'%s': ranges have two dots, <from>..<to>", range);
	if ((err = kl_repo_resolve(&from, repo, *first ? first : "HEAD")) < 0 ||
	    (err = kl_repo_resolve(&to, repo, dots[2] ? dots + 2 : "HEAD")) < 0 ||
	    (err = kl_repo_between(&commit, &n, repo, &from, &to, KL_GATE_MAX_REVS + 1)) < 0)
		return err;
	if (!n)
		return kl_error(KL_EUSAGE, "there is no commit in '%s'", range);
	if (n > KL_GATE_MAX_REVS)
		return kl_error(KL_EUSAGE, "'%s' has more than %d commits", range,
				KL_GATE_MAX_REVS);
	for (size_t i = 0; i < n; i++)
		kl_strvec_push(revs, git_oid_tostr_s(&commit[i]));
	return 0;
}

/* Return true if the text names one commit, such as "HEAD^{/range a..b}". */
static bool names_commit(struct kl_repo *repo, const char *rev)
{
	git_oid commit;
	bool named = kl_repo_resolve(&commit, repo, rev) == 0;

	kl_error_clear();
	return named;
}

static int list_revs(struct kl_strvec *revs, struct kl_repo *repo, int argc, char **argv)
{
	int err = 0;

	for (int i = 0; i < argc && !err; i++) {
		if (strstr(argv[i], "..") && !names_commit(repo, argv[i]))
			err = add_range(revs, repo, argv[i]);
		else
			kl_strvec_push(revs, argv[i]);
	}
	if (!argc)
		kl_strvec_push(revs, "HEAD");
	return err;
}

/* Judge the worktree, the index, or the named revisions; HEAD if none is named. */
static int judge_states(struct kl_repo *repo, const struct kl_gate_options *options, int argc,
			char **argv)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec revs = KL_STRVEC_INIT;
	KL_AUTO(asked_freep) struct asked *asked = NULL;
	int err = list_revs(&revs, repo, argc, argv);
	size_t n = revs.n;

	if (!err && n > 1 && (options->bisect || options->seed || options->dims))
		err = kl_error(KL_EUSAGE, "--bisect, --seed and --dims take only one revision");
	if (!err && n > KL_GATE_MAX_REVS)
		err = kl_error(KL_EUSAGE, "too many revisions");
	asked = kl_calloc(n + 1, sizeof(*asked));
	for (size_t i = 0; i < n && err == 0; i++) {
		asked[i].rev = revs.v[i];
		err = kl_select(&asked[i].sel, repo,
				options->worktree ? KL_STATE_WORKTREE :
				options->staged   ? KL_STATE_STAGED :
						    KL_STATE_REV,
				asked[i].rev, options->workload);
		if (!err)
			err = kl_checkout_check(repo, asked[i].sel.candidate, asked[i].sel.kind,
						&asked[i].sel.tree);
		if (err < 0 && n > 1)
			err = kl_error_in(err, "%s", asked[i].rev);
	}
	return err < 0 ? err : judge_all(repo, options, asked, n, NULL);
}

static int retract_event(struct kl_repo *repo, const struct kl_gate_options *options)
{
	const struct kl_retraction_opts opts = {
		.event = options->retract,
		.reason = options->reason,
		.sign = options->sign,
	};

	return kl_gate_retract(repo, &opts, options->out.json);
}

int cmd_gate(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct kl_gate_options options = { .term = &ctx->term };
	int err = kl_gate_options_parse(&options, &argc, &argv);

	if (err)
		return err > 0 ? 0 : err;
	if (options.import)
		return kl_gate_import(ctx->repo, options.import, options.segment, options.out.json);
	if (options.retract)
		return retract_event(ctx->repo, &options);
	if (options.since)
		return judge_since(ctx->repo, &options, argc ? argv[0] : "HEAD");
	return judge_states(ctx->repo, &options, argc, argv);
}
