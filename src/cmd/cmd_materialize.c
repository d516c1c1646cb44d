/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_materialize - git klineage materialize: applies cards to a kernel, one commit each */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/materialize_root.h"
#include "cmd/materialize_say.h"
#include "cmd/opt.h"
#include "cmd/resume_args.h"
#include "cmd/skill_model.h"
#include "cmd/skills.h"
#include "repo/refs.h"
#include "walk/step.h"

static const char synopsis[] = "materialize [<options>] [<workload>]\n"
			       "materialize --continue [<options>] [<workload>]\n"
			       "materialize --roundtrip <lineage> [<options>]";

#define TRIALS_UNSAID INT64_MIN

struct args {
	const char *workload, *root, *library, *name, *status, *platform, *jail, *cards, *roundtrip;
	struct kl_listing out;
	bool apply, patch, dry, quiet, again, one, estimate, held_out;
	int64_t trials;
};

struct session {
	struct kl_repo *repo, *other; /* other: the library's, where it is not this one */
	struct kl_taxonomy *tax;
	struct kl_index *index;
	struct kl_progress *progress;
	struct kl_gate *gate;
	struct kl_skill_model model;
	struct kl_session *session;
	struct kl_mat_root root;
	char *name;
	json_t *kept; /* what was said when the run began, and now */
	struct kl_materialization m;
	struct kl_roundtrip rt;
};

static void session_release(struct session *s)
{
	kl_materialize_release(&s->m);
	kl_roundtrip_release(&s->rt);
	kl_mat_root_release(&s->root);
	kl_skill_model_release(&s->model);
	kl_gate_free(s->gate);
	kl_progress_free(s->progress);
	kl_index_free(s->index);
	kl_taxonomy_free(s->tax);
	kl_repo_free(s->other);
	json_decref(s->kept);
	free(s->name);
}

static const char *workload_of(const struct session *s)
{
	return s->root.state->contract->workload;
}

/* --- where it begins, and its name ------------------------------------------------------------ */

static int find_root(struct session *s, const struct args *o)
{
	int err;

	s->root = (struct kl_mat_root){
		.workload = o->workload,
		.root = o->root,
		.called = o->name,
		.again = o->again,
		.dry = o->dry,
	};
	err = kl_mat_root_find(&s->root, s->repo);
	if (!err && s->root.name)
		s->name = kl_strdup(s->root.name);
	return err;
}

static int find_name(struct session *s, const struct args *o)
{
	struct kl_platform p;
	int err = 0;

	if (!s->name && o->name) {
		s->name = kl_strdup(o->name);
	} else if (!s->name) {
		err = o->platform ? 0 : kl_gate_platform(&p, s->gate, s->root.state);
		if (!err)
			s->name = kl_materialize_name(o->platform ? o->platform : p.id,
						      &s->root.commit);
	}
	return err;
}

/* --- what is needed --------------------------------------------------------------------------- */

static int open_library(struct session *s, const struct args *o)
{
	KL_AUTO(kl_library_freep) struct kl_library *lib = NULL;
	struct kl_repo *r = s->repo;
	int err = o->library ? kl_repo_open_at(&s->other, o->library) : 0;

	if (err)
		return kl_error_in(err, "--library '%s'", o->library);
	r = s->other ? s->other : r;
	if ((err = kl_taxonomy_load(&s->tax)) < 0 || (err = kl_library_open(&lib, r)) < 0)
		return err;
	if (!kl_library_count(lib) && (!o->cards || strcmp(o->cards, "none"))) {
		err = kl_error(KL_ENOTFOUND, "the library has no card%s%s",
			       o->library ? " in " : "", o->library ? o->library : "");
		return kl_error_hint(
			err, "git klineage lift, git klineage skills import and git klineage "
			     "sync bring cards; --library names another repository");
	}
	if ((err = kl_index_of(&s->index, r, lib, s->tax)) < 0)
		return err;
	if (kl_index_bad(s->index))
		fprintf(stderr,
			"warning: %zu card%s cannot be read and %s left: git klineage skills lint\n",
			kl_index_bad(s->index), kl_index_bad(s->index) == 1 ? "" : "s",
			kl_index_bad(s->index) == 1 ? "is" : "are");
	return 0;
}

static int open_gate(struct session *s, const struct args *o, const char *workload)
{
	struct kl_gate_opts opts = { .jail = o->jail, .platform = o->platform };
	int err = kl_repo_config_int(&opts.profile_ms, s->repo, "klineage.profileMs", 0);

	if (err < 0)
		return err;
	s->progress = o->quiet ? NULL : kl_progress_new(KL_PROGRESS_AUTO);
	opts.progress = s->model.progress = s->progress;
	kl_progress_title(s->progress, "materialize %s", workload);
	return kl_gate_open(&s->gate, s->repo, &opts);
}

/* --- what holds for a run --------------------------------------------------------------------- */

static char *kept_path(const struct session *s, const char *workload)
{
	return kl_asprintf("%s/klineage/materialize/%s/%s.json", kl_repo_common_dir(s->repo),
			   workload, s->name);
}

static int keep_workload(const struct session *s, const char *workload)
{
	KL_AUTO(kl_freep) char *path = kept_path(s, workload);

	return kl_said_keep(s->kept, path);
}

/* what is said now stands over what was said when it began */
static int recall_workload(struct session *s, struct args *o, const char *workload)
{
	KL_AUTO(kl_freep) char *path = kept_path(s, workload);
	int err;

	if (o->again && (err = kl_said_load(&s->kept, path)) < 0)
		return err;
	if (!s->kept)
		s->kept = json_object();
	s->model.rewriter = kl_said_word(s->kept, "rewriter", s->model.rewriter);
	s->model.exec = kl_said_word(s->kept, "exec", s->model.exec);
	s->model.model = kl_said_word(s->kept, "model", s->model.model);
	s->model.budget = kl_said_word(s->kept, "budget", s->model.budget);
	o->cards = kl_said_word(s->kept, "cards", o->cards);
	o->status = kl_said_word(s->kept, "status", o->status);
	o->library = kl_said_word(s->kept, "library", o->library);
	o->platform = kl_said_word(s->kept, "platform", o->platform);
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

static int read_options(struct kl_materialize_opts *out, struct session *s, const struct args *o,
			const char *workload)
{
	unsigned statuses = 1u << KL_CARD_ADMITTED;
	enum kl_cards_arm arm;
	bool models = kl_skill_model_is(&s->model);
	int err = arm_of(&arm, o->cards);

	if (!err && o->status)
		err = kl_skills_statuses(&statuses, synopsis, o->status);
	if (!err && arm != KL_CARDS_FULL && !models)
		err = kl_opt_usage(synopsis,
				   "--cards says what a model is told: --rewriter chat or exec");
	if (!err && models && (!o->dry || o->estimate))
		err = kl_skill_model_open(&s->session, &s->model, workload);
	if (!err && statuses != 1u << KL_CARD_ADMITTED)
		fprintf(stderr,
			"note: cards that are not admitted are used, too; each is named with its "
			"status\n");
	*out = (struct kl_materialize_opts){
		.repo = s->repo,
		.library = s->other ? s->other : s->repo,
		.index = s->index,
		.tax = s->tax,
		.gate = s->gate,
		.root = s->root.state,
		.commit = s->root.commit,
		.name = s->name,
		.statuses = statuses,
		.platform = o->platform,
		.go_on = s->root.go_on,
		.again = o->again,
		.dry = o->dry,
		.one = o->one,
		.session = s->session,
		.rewriter = s->model.rewriter,
		.arm = arm,
		.progress = s->progress,
	};
	return err;
}

static int check_name(const char *name)
{
	return kl_slug_ok(name) ? 0 :
				  kl_opt_usage(synopsis,
					       "'%s' is no name: small letters, digits, '.', "
					       "'_', '-'",
					       name);
}

/* --- a run ------------------------------------------------------------------------------------ */

static int print_estimate(struct session *s, struct args *o)
{
	struct kl_materialize_opts opts;
	struct kl_mat_estimate e;
	int err = read_options(&opts, s, o, workload_of(s));

	if (err < 0 || (err = kl_mat_estimate(&e, &opts)) < 0)
		return err;
	kl_progress_free(kl_steal(&s->progress));
	return kl_materialize_say_estimate(&e, s->session, workload_of(s), o->out.json);
}

static int prepare_run(struct session *s, struct args *o)
{
	int err = 0;

	/* a run that goes on is found first: it may say where the library is */
	if (o->again &&
	    ((err = find_root(s, o)) < 0 || (err = recall_workload(s, o, workload_of(s))) < 0))
		return err;
	if ((err = open_library(s, o)) < 0 || (!o->again && (err = find_root(s, o)) < 0) ||
	    (err = open_gate(s, o, workload_of(s))) < 0 || (err = find_name(s, o)) < 0 ||
	    (err = check_name(s->name)) < 0)
		return err;
	return o->again ? 0 : recall_workload(s, o, workload_of(s));
}

static int materialize_cards(struct session *s, struct args *o)
{
	struct kl_materialize_opts opts;
	int err = prepare_run(s, o);

	if (err < 0 || (err = kl_skill_model_check(&s->model, synopsis)) < 0)
		return err;
	if (o->estimate)
		return print_estimate(s, o);
	if ((err = read_options(&opts, s, o, workload_of(s))) < 0 ||
	    (err = kl_materialize_check(&opts)) < 0 ||
	    (!o->dry && (err = keep_workload(s, workload_of(s))) < 0))
		return err;
	err = kl_materialize(&s->m, &opts);
	kl_progress_free(kl_steal(&s->progress));
	if (err == KL_ENO && !o->again && (!o->root || strcmp(o->root, "baseline")))
		return kl_mat_root_hint(err);
	return err;
}

static int report_result(const struct session *s, const struct args *o)
{
	if (kl_listing_asked(&o->out)) {
		kl_materialize_say_listing(&o->out, &s->m, workload_of(s), s->name,
					   s->m.best || s->root.go_on, o->dry);
		return 0;
	}
	kl_materialize_say(o->patch ? stderr : stdout, &s->m, o->dry);
	if (!s->m.offered && !o->status && kl_index_count(s->index))
		fprintf(stderr,
			"hint: of %zu cards none that is admitted fits; --status admitted,hypothesis "
			"also uses cards that nobody has reproduced\n",
			kl_index_count(s->index));
	return o->patch && s->m.best ? kl_materialize_say_patch(s->repo, &s->m) : 0;
}

static int run_search(struct session *s, struct args *o)
{
	int err = materialize_cards(s, o);

	if (err < 0 || o->estimate || (err = report_result(s, o)) < 0)
		return err;
	if (o->dry)
		return s->m.offered ? 0 : 1;
	if (s->m.best && o->apply)
		err = kl_repo_fast_forward(s->repo, &s->m.node[s->m.best].commit);
	return err < 0 ? err : s->m.best ? 0 : 1;
}

/* --- roundtrips ------------------------------------------------------------------------------- */

static int check_trials(const struct args *o)
{
	return o->trials >= 1 && o->trials <= 100 ?
		       0 :
		       kl_opt_usage(synopsis, "--trials takes 1 to 100");
}

/* a roundtrip that goes on is the same one: as many trials, by the same cards */
static int recall_trials(struct session *s, struct args *o, const char *workload)
{
	bool unsaid = o->trials == TRIALS_UNSAID;
	long long trials = unsaid ? KL_ROUNDTRIP_TRIALS : o->trials;
	KL_AUTO(kl_freep) char *said = kl_asprintf("%lld", trials);
	int err = recall_workload(s, o, workload);

	if (err < 0)
		return err;
	if (o->again && !kl_said_word(s->kept, "trials", NULL))
		return kl_error(KL_ENOTFOUND, "no roundtrip was begun under the name '%s/%s'",
				workload, s->name);
	o->trials = strtoll(kl_said_word(s->kept, "trials", o->again && unsaid ? NULL : said), NULL,
			    10);
	o->held_out = kl_said_word(s->kept, "held_out", o->held_out ? "yes" : NULL) != NULL;
	return check_trials(o);
}

static int run_trials(struct session *s, struct args *o)
{
	const char *workload = s->rt.root->contract->workload;
	struct kl_materialize_opts opts;
	int err;

	if ((err = read_options(&opts, s, o, workload)) < 0 ||
	    (err = kl_roundtrip_check(&s->rt, &opts, (size_t)o->trials)) < 0 ||
	    (err = keep_workload(s, workload)) < 0)
		return err;
	opts.without = o->held_out ? s->rt.lineage : NULL;
	for (int64_t i = 0; !err && i < o->trials; i++) {
		err = kl_roundtrip_trial(&s->rt, &opts);
		if (!err && !kl_listing_asked(&o->out))
			kl_materialize_say_trial(&s->rt);
		fflush(stdout);
	}
	kl_progress_free(kl_steal(&s->progress));
	return err;
}

static int run_roundtrip(struct session *s, struct args *o)
{
	const char *leaf, *workload;
	int err = kl_roundtrip_begin(&s->rt, s->repo, o->roundtrip);

	if (err < 0)
		return err;
	leaf = strrchr(s->rt.lineage, '/') + 1;
	workload = s->rt.root->contract->workload;
	s->name = o->name ? kl_strdup(o->name) : kl_asprintf("rt-%.56s", leaf);
	if ((err = check_name(s->name)) < 0 || (err = recall_trials(s, o, workload)) < 0 ||
	    (err = kl_skill_model_check(&s->model, synopsis)) < 0 ||
	    (err = open_library(s, o)) < 0 || (err = open_gate(s, o, workload)) < 0 ||
	    (err = run_trials(s, o)) < 0)
		return err;
	kl_materialize_say_roundtrip(&s->rt, &o->out);
	return s->rt.successes ? 0 : 1;
}

/* --- the verb --------------------------------------------------------------------------------- */

static int check_args(const struct args *o, const struct session *s, int argc)
{
	int err = kl_listing_check(&o->out, synopsis);

	if (err < 0)
		return err;
	if (argc > 1 || (argc && o->roundtrip))
		return kl_opt_usage(synopsis, "one workload at a time");
	if (o->dry && (o->apply || o->patch || o->again))
		return kl_opt_usage(synopsis,
				    "a dry run has no result to apply, print or go on from");
	if (kl_listing_asked(&o->out) && o->patch)
		return kl_opt_usage(synopsis, "--%s or --patch, not both",
				    o->out.json ? "json" : "porcelain");
	if (kl_listing_asked(&o->out) && !o->out.json && o->estimate)
		return kl_opt_usage(synopsis,
				    "--porcelain lists what was tried; --estimate has --json");
	if (o->again && o->root)
		return kl_opt_usage(synopsis, "--continue begins where the run began: no --root");
	if (o->apply && o->root && !strcmp(o->root, "worktree"))
		return kl_opt_usage(synopsis,
				    "--apply wants a committed root: commit first, or use --patch");
	if (o->roundtrip && (o->apply || o->patch || o->dry || o->root || o->estimate))
		return kl_opt_usage(synopsis,
				    "--roundtrip begins at K_0 and changes nothing of yours");
	if (!o->roundtrip && (o->held_out || o->trials != TRIALS_UNSAID))
		return kl_opt_usage(synopsis, "--trials and --held-out are for --roundtrip");
	if (o->one && (o->dry || o->roundtrip || o->estimate || kl_skill_model_is(&s->model)))
		return kl_opt_usage(synopsis,
				    "--one is for tools alone: no model, roundtrip or dry run");
	if (o->trials != TRIALS_UNSAID && check_trials(o) < 0)
		return KL_EUSAGE;
	if (o->estimate && !kl_skill_model_is(&s->model))
		return kl_opt_usage(synopsis,
				    "without a model a run costs nothing: --estimate is for "
				    "--rewriter chat or exec");
	return o->again ? 0 : kl_skill_model_check((struct kl_skill_model *)&s->model, synopsis);
}

int cmd_materialize(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(session_release) struct session s = {
		.repo = ctx->repo,
		.model = { .repo = ctx->repo, .of = KL_BUDGET_MATERIALIZE },
	};
	struct args o = { .trials = TRIALS_UNSAID };
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "apply", &o.apply,
			    "fast-forward the current branch to the result"),
		KL_OPT_STR('\0', "cards", &o.cards, "<what>",
			   "show cards to the model: full, labels or none (default: full)"),
		KL_OPT_BOOL('\0', "continue", &o.again, "resume a run that stopped"),
		KL_OPT_BOOL('n', "dry-run", &o.dry,
			    "show which cards would be tried, and whether they apply"),
		KL_OPT_BOOL('\0', "estimate", &o.estimate,
			    "estimate the cost of a run; send nothing"),
		KL_OPT_BOOL('\0', "held-out", &o.held_out,
			    "with --roundtrip, leave out cards learned from that lineage"),
		KL_OPT_STR('\0', "jail", &o.jail, "<level>",
			   "use jail level auto, bwrap, landlock, chroot or none"),
		KL_OPT_STR('\0', "library", &o.library, "<path>",
			   "use the cards of another repository"),
		KL_OPT_STR('\0', "name", &o.name, "<name>",
			   "name the branch (default: platform and root)"),
		KL_OPT_BOOL('\0', "one", &o.one,
			    "stop after one change was judged; --continue resumes"),
		KL_OPT_BOOL('\0', "patch", &o.patch, "print the result as a patch"),
		KL_OPT_STR('\0', "platform", &o.platform, "<id>", "judge for cpu/x86-64-v1 to -v4"),
		KL_OPT_BOOL('q', "quiet", &o.quiet, "show no progress"),
		KL_OPT_STR('\0', "root", &o.root, "<rev>",
			   "start from a revision, worktree, best or baseline (default: HEAD)"),
		KL_OPT_STR('\0', "roundtrip", &o.roundtrip, "<lineage>",
			   "start from K_0 of a lineage and compare the result with K*"),
		KL_OPT_STR('\0', "status", &o.status, "<list>",
			   "use cards with these statuses (default: admitted)"),
		KL_OPT_INT('\0', "trials", &o.trials, "<n>",
			   "with --roundtrip, make this many trials (default: 5)"),
		KL_SKILL_MODEL_OPTS(&s.model, "materialize"),
		KL_OPT_LISTING(&o.out),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err || (err = check_args(&o, &s, argc)) < 0)
		return err > 0 ? 0 : err;
	o.workload = argc ? argv[0] : NULL;
	return o.roundtrip ? run_roundtrip(&s, &o) : run_search(&s, &o);
}
