/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "cmd/cmd.h"
#include "cmd/opt.h"
#include "gate/select.h"
#include "lineage/sequencer.h"

#define DEFAULT_REWRITERS "history,passes"
#define DEFAULT_STEPS 64
#define DEFAULT_REJECTIONS 24
#define DEFAULT_JOBS 64
#define MOST_JOBS 4096

static const char synopsis[] =
	"deopt [<options>] [<workload>]\n"
	"deopt (--continue | --skip | --quit | --abort | --status)";

struct options {
	bool go_on, skip, abort, quit, status, json, quiet, progress;
	const char *expert, *name, *rewriters, *jail, *platform, *runner;
	struct kl_claim claim;
	int64_t steps, rejections;
};

/* what a walk needs beside the repository */
struct tools {
	struct kl_progress *progress;
	struct kl_gate *gate;
	struct kl_mechanisms mechanisms;
	bool have_mechanisms;
};

static void tools_release(struct tools *t)
{
	kl_gate_free(t->gate);
	if (t->have_mechanisms)
		kl_mechanisms_release(&t->mechanisms);
	kl_progress_free(t->progress);
}

static int judge(struct kl_verdict **out, const struct kl_surface *candidate,
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

static size_t collected(void *payload)
{
	struct tools *t = payload;

	return kl_gate_waiting(t->gate);
}

static int tools_open(struct tools *t, struct kl_sequencer *s, const struct options *o)
{
	KL_AUTO(kl_freep) char *path = NULL;
	struct kl_gate_opts opts = {
		.jail = o->jail, .platform = o->platform, .same_code_fails = true, .runner = o->runner,
	};
	int64_t most = 0;
	int err;

	t->progress = o->quiet ? NULL :
		      kl_progress_new(o->progress ? KL_PROGRESS_ALWAYS : KL_PROGRESS_AUTO);
	opts.progress = t->progress;
	if ((err = kl_repo_config_int(&opts.profile_ms, s->repo, "klineage.profileMs", 0)) < 0 ||
	    (err = kl_repo_config_int(&most, s->repo, "klineage.bundleJobs", DEFAULT_JOBS)) < 0 ||
	    (err = kl_fs_share(&path, "templates/mechanisms.yaml")) < 0 ||
	    (err = kl_mechanisms_load(&t->mechanisms, path)) < 0)
		return err;
	t->have_mechanisms = true;
	if ((err = kl_gate_open(&t->gate, s->repo, &opts)) < 0)
		return err;
	if (most < 1 || most > MOST_JOBS)
		return kl_error(KL_EINVALID, "klineage.bundleJobs is %lld, not 1 to %d", (long long)most,
				MOST_JOBS);
	s->judge = judge;
	s->send = send_away;
	s->collected = collected;
	s->most_jobs = (size_t)most;
	s->payload = t;
	s->jail = kl_gate_jail(t->gate);
	s->mechanisms = &t->mechanisms;
	s->progress = t->progress;
	return 0;
}

/* --- starting --------------------------------------------------------------- */

static int limits(struct options *o, struct kl_repo *r)
{
	int err;

	if (!o->steps && (err = kl_repo_config_int(&o->steps, r, "klineage.stepLimit", DEFAULT_STEPS)) < 0)
		return err;
	if (!o->rejections && (err = kl_repo_config_int(&o->rejections, r, "klineage.rejectionLimit",
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
		kl_error_clear();	/* whatever is wrong there is not what is walked */
	else if (strcmp(now->digest, committed->digest) ||
		 strcmp(now->contract_digest, committed->contract_digest))
		fprintf(stderr, "git-klineage: warning: '%s' has changes that are not committed; "
			"the walk begins at HEAD without them\n", *committed->dir ? committed->dir : ".");
}

static int start(struct kl_sequencer *s, struct tools *t, struct options *o, const char *workload)
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
	if ((err = limits(o, s->repo)) < 0 ||
	    (err = kl_rewriters_check(o->rewriters)) < 0 ||
	    (err = kl_repo_resolve(&commit, s->repo, o->expert ? o->expert : "HEAD")) < 0 ||
	    (err = kl_repo_tree_of(&tree, s->repo, &commit)) < 0 ||
	    (err = kl_select_dir(&dir, s->repo, &tree, workload)) < 0 ||
	    (err = kl_surface_from_tree(&expert, s->repo, &tree, dir)) < 0)
		return err;
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
	opts.step_limit = o->steps;
	opts.rejection_limit = o->rejections;
	return kl_sequencer_start(s, &opts);
}

/* --- going on ----------------------------------------------------------------- */

static int same_platform(const struct kl_sequencer *s, const struct tools *t)
{
	const char *began = kl_walk_str(&s->op.walk, "platform");
	const char *here = kl_gate_machine(t->gate);

	/* that of device code is its plan's, wherever it is judged */
	if (!strcmp(began, here) || !strncmp(began, "cuda/", 5))
		return 0;
	return kl_error(KL_EINVALID, "the walk began on %s, this is %s; times of the two do not compare",
			began, here);
}

static int go_on(struct kl_sequencer *s, struct tools *t, struct options *o)
{
	int err = kl_sequencer_resume(s);

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
	if (!err && o->go_on)
		err = kl_sequencer_collect(s, &o->claim);
	return err;
}

/* what a walk that awaits results waits for, and what to do about it */
static void print_awaiting(const json_t *what, const char *indent)
{
	printf("%srun there  %s\n%s           on %s\n%sand then   git klineage gate --import <results> && "
	       "git klineage deopt --continue\n", indent, kl_json_str_or(what, "command", "?"), indent,
	       kl_json_str_or(what, "file", "?"), indent);
}

static void print_candidates(const json_t *what)
{
	size_t i;
	json_t *c;

	printf("  awaits    the results of %lld job%s\n", (long long)kl_json_int_or(what, "jobs", 0),
	       kl_json_int_or(what, "jobs", 0) == 1 ? "" : "s");
	json_array_foreach(json_object_get(what, "candidates"), i, c)
		printf("    %.12s  %s%s%s%s\n", kl_json_str_or(c, "surface", "?"),
		       kl_json_str_or(c, "action", "?"), *kl_json_str_or(c, "locus", "") ? " in " : "",
		       kl_json_str_or(c, "locus", ""),
		       kl_json_bool_or(c, "alternative", false) ? ", if another is rejected" : "");
	print_awaiting(what, "  ");
}

static int print_status(struct kl_sequencer *s, bool json)
{
	const struct kl_walk *w;
	const json_t *pending;
	int err = kl_opstate_load(&s->op, s->repo);

	if (err == KL_ENOTFOUND && !json) {
		puts("no operation in progress");
		return 0;
	}
	if (err < 0)
		return err;
	w = &s->op.walk;
	pending = kl_walk_pending(w);
	if (json) {
		KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

		kl_json_canonical(&b, w->state);
		puts(b.ptr);
		return 0;
	}
	printf("deopt of %s, expert %.7s: %zu step%s accepted, %zu rejected\n", kl_walk_str(w, "workload"),
	       kl_walk_str(w, "expert"), json_array_size(kl_walk_steps(w)),
	       json_array_size(kl_walk_steps(w)) == 1 ? "" : "s", json_array_size(kl_walk_rejections(w)));
	printf("  phase     %s\n", kl_walk_str(w, "phase"));
	if (pending)
		printf("  proposal  %s in %s (%s)\n", kl_json_str_or(pending, "action", "?"),
		       kl_json_str_or(pending, "locus", "?"), kl_json_str_or(pending, "rewriter", "?"));
	printf("  rewriters %s\n  state     %.12s\n", kl_walk_str(w, "rewriters"), kl_walk_tip(w));
	if (kl_walk_awaited(w))
		print_candidates(kl_walk_awaited(w));
	return 0;
}

/* --- the end ------------------------------------------------------------------- */

static void print_json(const struct kl_outcome *out)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	kl_json_set_str(j, "schema", "klineage.deopt/1");
	kl_json_set_str(j, "workload", out->workload);
	kl_json_set_str(j, "name", out->name);
	kl_json_set_bool(j, "waiting", out->waiting);
	kl_json_set_str(j, "edit_dir", out->edit_dir);
	if (out->awaiting)
		json_object_set(j, "awaiting", out->awaiting);
	kl_json_set_str(j, "lineage", *out->lineage ? out->lineage : NULL);
	kl_json_set_str(j, "walk", *out->walk ? out->walk : NULL);
	kl_json_set_str(j, "rejected", *out->rejected ? out->rejected : NULL);
	kl_json_set_str(j, "termination", *out->termination ? out->termination : NULL);
	kl_json_set_int(j, "steps", (int64_t)out->steps);
	kl_json_set_int(j, "rejections", (int64_t)out->rejections);
	kl_json_canonical(&b, j);
	puts(b.ptr);
}

static const char *meaning(const char *termination)
{
	if (!strcmp(termination, "complete"))
		return "no rewriter had anything more to remove";
	if (!strcmp(termination, "step-limit"))
		return "ended at the limit of steps; K_0 may not be naive";
	if (!strcmp(termination, "rejection-limit"))
		return "ended at the limit of rejections in a row; K_0 may not be naive";
	return "ended on request";
}

static void print_outcome(const struct kl_outcome *out)
{
	if (out->awaiting) {
		printf("%s: %s, %zu step%s so far; %lld job%s to be judged elsewhere.\n", out->workload,
		       out->still ? "still waiting, none of these results is here" : "waiting for results",
		       out->steps, out->steps == 1 ? "" : "s",
		       (long long)kl_json_int_or(out->awaiting, "jobs", 0),
		       kl_json_int_or(out->awaiting, "jobs", 0) == 1 ? "" : "s");
		print_awaiting(out->awaiting, "  ");
		return;
	}
	if (out->waiting) {
		printf("%s: stopped for an edit, %zu step%s so far.\n"
		       "  make the kernel simpler in  %s\n"
		       "  then                        git klineage deopt --continue"
		       " --action <word> -m <why>\n"
		       "  or end here                 git klineage deopt --quit\n",
		       out->workload, out->steps, out->steps == 1 ? "" : "s", out->edit_dir);
		return;
	}
	printf("%s: %zu step%s accepted, %zu rejected; %s.\n"
	       "  lineage   %s\n  walk      %s\n", out->workload, out->steps,
	       out->steps == 1 ? "" : "s", out->rejections, meaning(out->termination),
	       out->lineage + strlen("refs/heads/"), out->walk + strlen("refs/heads/"));
	if (*out->rejected)
		printf("  rejected  %s\n", out->rejected);
	printf("  read it   git klineage log %s/%s\n", out->workload, out->name);
}

static int run(struct kl_sequencer *s, struct tools *t, const struct options *o)
{
	struct kl_outcome out;
	int err = kl_sequencer_run(s, &out);

	kl_progress_free(kl_steal(&t->progress));
	s->progress = NULL;
	if (!err && o->json)
		print_json(&out);
	else if (!err)
		print_outcome(&out);
	kl_outcome_release(&out);
	return err;
}

static int check_options(const struct options *o, int argc)
{
	int modes = o->go_on + o->skip + o->abort + o->quit + o->status;

	if (modes > 1 || (modes && argc))
		return kl_opt_usage(synopsis,
				    "one of --continue, --skip, --quit, --abort, --status, and alone");
	if (argc > 1)
		return kl_opt_usage(synopsis, "one workload at a time");
	if (modes && (o->expert || o->name || o->rewriters))
		return kl_opt_usage(synopsis, "the operation in progress has its expert, name and rewriters");
	return 0;
}

int cmd_deopt(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(tools_release) struct tools t = { 0 };
	KL_AUTO(kl_sequencer_release) struct kl_sequencer s = KL_SEQUENCER_INIT;
	struct options o = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "expert", &o.expert, "<rev>",
			   "the expert to walk back from (default: HEAD)"),
		KL_OPT_STR('\0', "name", &o.name, "<name>",
			   "name of the lineage (default: platform and expert)"),
		KL_OPT_STR('\0', "rewriter", &o.rewriters, "<list>",
			   "history, passes[:<dir>], patches:<dir>, stepwise (default: history,passes)"),
		KL_OPT_INT('\0', "steps", &o.steps, "<n>", "end after this many accepted steps"),
		KL_OPT_INT('\0', "rejections", &o.rejections, "<n>",
			   "end after this many rejections in a row"),
		KL_OPT_BOOL('\0', "continue", &o.go_on, "go on after an interruption or an edit"),
		KL_OPT_BOOL('\0', "skip", &o.skip, "drop the proposal at hand and go on"),
		KL_OPT_BOOL('\0', "quit", &o.quit, "end here: what was accepted becomes the lineage"),
		KL_OPT_BOOL('\0', "abort", &o.abort, "forget the operation; no ref has moved"),
		KL_OPT_BOOL('\0', "status", &o.status, "say where the operation is"),
		KL_OPT_STR('\0', "action", &o.claim.action, "<word>", "of a stepwise edit: its category"),
		KL_OPT_STR('\0', "mechanism", &o.claim.mechanism, "<name>",
			   "of a stepwise edit: what it removes"),
		KL_OPT_STR('\0', "locus", &o.claim.locus, "<place>", "of a stepwise edit: where"),
		KL_OPT_STR('m', "message", &o.claim.text, "<why>", "of a stepwise edit: why"),
		KL_OPT_STR('\0', "runner", &o.runner, "<runner>",
			   "who judges: local (default), bundle, ssh:<host>"),
		KL_OPT_STR('\0', "jail", &o.jail, "<level>", "bwrap, landlock, chroot or none"),
		KL_OPT_STR('\0', "platform", &o.platform, "<level>",
			   "x86-64-v2, -v3 or -v4 (default: up to v3)"),
		KL_OPT_BOOL('\0', "json", &o.json, "print the outcome as JSON"),
		KL_OPT_BOOL('q', "quiet", &o.quiet, "no progress line"),
		KL_OPT_BOOL('\0', "progress", &o.progress, "a progress line even without a terminal"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = check_options(&o, argc)) < 0)
		return err;
	s.repo = ctx->repo;
	if (o.status)
		return print_status(&s, o.json);
	if (o.abort)
		return kl_sequencer_abort(&s);
	err = o.go_on || o.skip || o.quit ? go_on(&s, &t, &o) :
					    start(&s, &t, &o, argc ? argv[0] : NULL);
	return err < 0 ? err : run(&s, &t, &o);
}
