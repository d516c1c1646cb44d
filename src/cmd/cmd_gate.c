/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_gate - git klineage gate: judges a kernel */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "contract/changed_kernels.h"
#include "contract/select.h"
#include "event/note_writer.h"
#include "event/speed.h"
#include "gate/gate.h"
#include "gate/runner/results.h"

static const char synopsis[] = "gate [<options>] [<rev>... | --worktree | --staged]\n"
			       "gate [<options>] --since <rev> [<rev>]\n"
			       "gate --import <results>";

#define MAX_REVS 4096 /* as many jobs as a bundle takes */

struct options {
	struct kl_listing out;
	bool worktree, staged, no_profile, quick, fresh, bisect, no_note, quiet, progress;
	int sign; /* as of struct kl_noting */
	const char *workload, *require, *jail, *platform, *seed, *runner, *output, *import, *since;
	const struct kl_term *term;
};

/* --- what a person sees ---------------------------------------------------- */

static void print_time(int64_t ns)
{
	if (ns >= 1000000000)
		printf("%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		printf("%.3f ms", (double)ns / 1e6);
	else
		printf("%.2f us", (double)ns / 1e3);
}

static void print_profile(const struct kl_profile *profile)
{
	if (!profile->there)
		return;
	printf("  time      ");
	print_time(profile->ns);
	printf("  (the kernel against itself: within %.2f %%)\n", (double)profile->aa_ppm / 1e4);
	for (size_t i = 0; i < profile->vs.n; i++) {
		const struct kl_comparison *c = &profile->vs.v[i];

		printf("  %-9s %.3fx [%.3f, %.3f] %s\n", c->what, (double)c->ratio_ppm / 1e6,
		       (double)c->lo_ppm / 1e6, (double)c->hi_ppm / 1e6, kl_speed_name(c->speed));
	}
}

static void print_features(const struct kl_strvec *features)
{
	if (!features->n)
		return;
	printf("  %-9s", "features");
	for (size_t i = 0; i < features->n; i++)
		printf(" %s", features->v[i]);
	putchar('\n');
}

static void print_notes(const json_t *notes)
{
	size_t i;
	json_t *note;

	if (!json_array_size(notes))
		return;
	printf("  %-9s", "notes");
	json_array_foreach(notes, i, note)
		printf(" %s", json_string_value(note));
	putchar('\n');
}

/* Millionths of what the device can do. */
static void print_counters(const json_t *counters)
{
	static const struct {
		const char *member, *label;
	} share[] = {
		{ "dram_ppm", "memory" },
		{ "sm_ppm", "multiprocessors" },
		{ "occupancy_ppm", "warps" },
	};
	size_t i;
	json_t *v;

	json_array_foreach(json_object_get(counters, "launches"), i, v) {
		const char *comma = "";

		printf("  counters  %s:", kl_json_str_or(v, "kernel", "?"));
		for (size_t k = 0; k < KL_ARRAY_SIZE(share); k++) {
			int64_t ppm = kl_json_int_or(v, share[k].member, -1);

			if (ppm < 0)
				continue;
			printf("%s %s %.1f %%", comma, share[k].label, (double)ppm / 1e4);
			comma = ",";
		}
		putchar('\n');
	}
}

static void print_verdict(const struct kl_judgement *v, const struct kl_surface *s,
			  const struct kl_term *t)
{
	const struct kl_event *event = v->event;
	const char *class_ = kl_event_class(event);

	printf("%s: %s%s%s%s%s%s  (%s, %s, %s%s%s)\n", s->contract->workload,
	       kl_paint(t, kl_paint_verdict(event->verdict)), kl_verdict_name(event->verdict),
	       *class_ ? " " : "", class_, kl_paint(t, KL_PAINT_RESET),
	       event->kind == KL_KIND_CHECK ? " by the quick stages" : "", event->place.id,
	       event->place.compiler, kl_tier_name(event->tier),
	       v->voucher ? ", judged before and signed by " :
	       v->cached  ? ", judged before by this clone" :
			    "",
	       v->voucher ? v->voucher : "");
	if (*event->message)
		printf("  %s\n", event->message);
	if (json_is_object(event->correct) && event->verdict == KL_VERDICT_PASS)
		printf("  correct   %lld inputs; the worst error is %.2f of what is allowed\n",
		       (long long)kl_json_int_or(event->correct, "cases", 0),
		       (double)kl_json_int_or(event->correct, "margin_ppm", 0) / 1e6);
	print_profile(&event->profile);
	print_counters(event->counters);
	print_features(&event->facts.features);
	print_notes(event->notes);
}

/* --- exit codes ------------------------------------------------------------ */

static int require_speed(const struct kl_judgement *v, const struct options *o)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&v->event->profile.vs);
	bool fast = !strcmp(o->require, "fast");

	if (!parent)
		return kl_error(KL_ECANNOT,
				"--require %s: there is no parent to compare with, or no profile",
				o->require);
	if (fast ? parent->speed == KL_SPEED_FAST : kl_speed_is_not_slower(&v->event->profile))
		return 0;
	fprintf(stderr, "git-klineage: not %s than the parent, as --require asks\n",
		fast ? "faster" : "known to be no slower");
	return 1;
}

static int exit_code(const struct kl_judgement *v, const struct options *o)
{
	enum kl_verdict verdict = v->event->verdict;

	if (verdict == KL_VERDICT_PASS)
		return o->require ? require_speed(v, o) : 0;
	if (verdict == KL_VERDICT_NOT_RUN)
		return 125;
	if (o->bisect &&
	    (verdict == KL_VERDICT_INCONCLUSIVE || v->event->failure == KL_FAILURE_COMPILE))
		return 125;
	return 1;
}

/* --- the verb -------------------------------------------------------------- */

static int write_note(struct kl_repo *r, const struct kl_selection *sel, struct kl_judgement *v,
		      int sign)
{
	KL_AUTO(kl_noting_release) struct kl_noting n = { .repo = r, .sign = sign };
	const char *who;
	int err = kl_repo_identity(&who, r);

	if (err < 0)
		return kl_error_in(err, "cannot note the verdict (--no-note spares it)");
	err = kl_noting_add(&n, &sel->commit, v->event);
	return err < 0 ? err : kl_noting_write(&n);
}

/* Judged elsewhere: 125 with what to do now, unless the results came back at once. */
static int send_away(struct kl_gate *g, const struct options *o)
{
	KL_AUTO(kl_parcel_release) struct kl_parcel p = { 0 };
	int err = kl_gate_send(&p, g, o->output);

	if (!err && p.why)
		return kl_error(KL_ECANNOT, "%s", p.why);
	if (err < 0 || !p.waiting)
		return err;
	printf("%s\n", p.file);
	err = kl_error(KL_ECANNOT, "no verdict yet: the job waits in '%s'", p.file);
	kl_error_hint(err, "take it to the machine that is to judge, and there: %s", p.command);
	return kl_error_hint(err, "then here: git klineage gate --import <results>");
}

/* One revision, or the worktree, and what became of it. */
struct asked {
	const char *rev;
	char *cannot; /* why it cannot be judged here, where others can; or NULL */
	struct kl_selection sel;
	struct kl_judgement *v;
};

static void asked_free(struct asked *a)
{
	for (size_t i = 0; a && (a[i].rev || a[i].sel.candidate); i++) {
		kl_selection_release(&a[i].sel);
		kl_judgement_free(a[i].v);
		free(a[i].cannot);
	}
	free(a);
}
KL_DEFINE_CLEANUP(struct asked *, asked_free)

static int ask_one(struct asked *a, struct kl_gate *g, const struct options *o)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &a->sel.commit);
	kl_judgement_free(kl_steal(&a->v));
	return kl_gate_judge_at(&a->v, g, a->sel.candidate, a->sel.parent,
				a->sel.kind == KL_STATE_REV && !o->no_note ? hex : NULL);
}

/* The verdicts, by way of somebody else if need be; what waits for him goes in one bundle. */
static int ask_all(struct asked *a, size_t n, struct kl_gate *g, const struct options *o)
{
	for (int turn = 0; turn < 2; turn++) {
		size_t deferred = 0;
		int err = 0;

		for (size_t i = 0; i < n && err == 0; i++) {
			if (!a[i].cannot && (!a[i].v || a[i].v->deferred))
				err = ask_one(&a[i], g, o);
			if (err == KL_ECANNOT && o->since) {
				a[i].cannot = kl_strdup(kl_error_last());
				kl_judgement_free(kl_steal(&a[i].v));
				kl_error_clear();
				err = 0;
			}
			deferred += err == 0 && a[i].v && a[i].v->deferred;
		}
		if (err < 0 || !deferred)
			return err;
		if (!turn && (err = send_away(g, o)) < 0)
			return err;
	}
	return kl_error(KL_ECANNOT, "no result came back for this job");
}

static const char *state_label(const struct asked *a, const struct options *o)
{
	return o->since ? a->sel.candidate->contract->workload : a->rev;
}

static void add_comparison(json_t *row, const char *key, const struct kl_comparison *comparison)
{
	if (comparison)
		kl_json_set(row, key, kl_comparison_json(comparison));
}

static void print_listing(const struct kl_listing *out, const struct asked *a)
{
	static const char *const fields[] = { "workload",
					      "commit",
					      "verdict",
					      "class",
					      "kind",
					      "tier",
					      "platform.id",
					      "profile.ns",
					      "parent.ratio_ppm",
					      "parent.lo_ppm",
					      "parent.hi_ppm",
					      "parent.verdict",
					      "baseline.what",
					      "baseline.ratio_ppm",
					      "id",
					      "features",
					      "message",
					      NULL };
	const struct kl_event *event = a->v->event;
	KL_AUTO(json_decrefp) json_t *row = kl_event_json(event);
	char hex[KL_OID_HEX];

	if (out->json) {
		kl_listing_put(row);
		return;
	}
	kl_oid_hex(hex, &a->sel.commit);
	kl_json_set_str(row, "commit", a->sel.kind == KL_STATE_REV ? hex : NULL);
	add_comparison(row, "parent", kl_comparisons_parent(&event->profile.vs));
	add_comparison(row, "baseline", kl_comparisons_baseline(&event->profile.vs));
	kl_listing_print(out, row, NULL, fields);
}

/* One verdict to stdout; its exit code. */
static int show_result(struct asked *a, const struct options *o, bool several)
{
	struct kl_judgement *v = a->v;

	if (kl_listing_asked(&o->out)) {
		print_listing(&o->out, a);
		if (o->out.json && *v->event->message)
			fprintf(stderr, "git-klineage: %s%s%s\n", several ? state_label(a, o) : "",
				several ? ": " : "", v->event->message);
	} else {
		if (several && !o->since) /* a verdict names its kernel */
			printf("%s: ", a->rev);
		print_verdict(v, a->sel.candidate, o->term);
	}
	return exit_code(v, o);
}

/* A kernel that fails says more than one that cannot be judged here. */
static int worse_of(int a, int b, const struct options *o)
{
	if (o->since && (a == 1 || b == 1))
		return 1;
	return a > b ? a : b;
}

/* What is decided is noted and shown, also where others wait; the worst of the exit codes. */
static int show_all(struct kl_repo *r, struct asked *a, size_t n, const struct options *o)
{
	int worst = 0, code, err;

	for (size_t i = 0; i < n; i++) {
		if (a[i].cannot) {
			fprintf(stderr, "git-klineage: %s: cannot be judged here: %s\n",
				state_label(&a[i], o), a[i].cannot);
			worst = worse_of(worst, 125, o);
		}
		if (!a[i].v || a[i].v->deferred)
			continue;
		if (a[i].sel.kind == KL_STATE_REV && !o->no_note && !o->seed &&
		    (err = write_note(r, &a[i].sel, a[i].v, o->sign)) < 0)
			return err;
		code = show_result(&a[i], o, n > 1);
		if (code < 0)
			return code;
		worst = worse_of(worst, code, o);
	}
	return worst;
}

static int judge_all(struct kl_repo *r, const struct options *o, struct asked *a, size_t n)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress =
		o->quiet ? NULL :
			   kl_progress_new(o->progress ? KL_PROGRESS_ALWAYS : KL_PROGRESS_AUTO);
	KL_AUTO(kl_gate_freep) struct kl_gate *g = NULL;
	KL_AUTO(kl_freep) char *waits = NULL;
	KL_AUTO(kl_freep) char *hints = NULL;
	struct kl_gate_opts opts = {
		.progress = progress,
		.jail = o->jail,
		.platform = o->platform,
		.no_profile = o->no_profile,
		.quick = o->quick,
		.no_cache = o->fresh || o->seed,
		.seed = o->seed ? strtoull(o->seed, NULL, 0) : 0,
		.runner = o->runner,
	};
	int err = kl_gate_open(&g, r, &opts), code;

	kl_progress_title(progress, "gate %s", a->sel.candidate->contract->workload);
	if (!err)
		err = ask_all(a, n, g, o);
	kl_progress_free(kl_steal(&progress));
	if (err < 0 && n == 1)
		return err;
	/* the message must outlive what shows the others */
	waits = kl_strdup(err < 0 ? kl_error_last() : "");
	hints = kl_strdup(err < 0 ? kl_error_hints() : "");
	code = show_all(r, a, n, o);
	if (code < 0 || !err)
		return code;
	if (o->since && code == 1) {
		fprintf(stderr, "git-klineage: %s\n", waits);
		return 1;
	}
	kl_error(err, "%s", waits);
	return *hints ? kl_error_hint(err, "%s", hints) : err;
}

/* --- what changed -------------------------------------------------------------- */

static int tree_at(git_oid *commit, git_oid *tree, struct kl_repo *r, const char *rev)
{
	int err = kl_repo_resolve(commit, r, rev);

	return err < 0 ? err : kl_repo_tree_of(tree, r, commit);
}

/* Every kernel that differs, against what it was then. What cannot even be read has failed. */
static int judge_since(struct kl_repo *r, const struct options *o, const char *rev)
{
	KL_AUTO(kl_changed_release) struct kl_changed c = { 0 };
	KL_AUTO(asked_freep) struct asked *a = NULL;
	git_oid from, commit, from_tree, tree;
	int err, code, broken = 0;
	size_t n = 0;

	if ((err = tree_at(&from, &from_tree, r, o->since)) < 0 ||
	    (err = tree_at(&commit, &tree, r, rev)) < 0 ||
	    (err = kl_changed(&c, r, &from_tree, &tree)) < 0)
		return err;
	a = kl_calloc(c.n + 1, sizeof(*a));
	for (size_t i = 0; i < c.n; i++) {
		struct kl_changed_one *one = &c.one[i];

		if (o->workload && strcmp(o->workload, one->workload))
			continue;
		if (!one->now)
			fprintf(stderr, "git-klineage: %s: %s%s\n", one->workload,
				one->why ? "fails, its contract cannot be read: " :
					   "its contract is gone",
				one->why ? one->why : "");
		broken |= one->why != NULL;
		if (!one->now)
			continue;
		a[n].rev = rev;
		a[n++].sel = (struct kl_selection){
			.candidate = kl_steal(&one->now),
			.parent = kl_steal(&one->before),
			.commit = commit,
			.tree = tree,
			.kind = KL_STATE_REV,
		};
	}
	if (!n && !broken && !kl_listing_asked(&o->out))
		printf("no kernel differs from %s\n", o->since);
	code = n ? judge_all(r, o, a, n) : 0;
	return code < 0 ? code : worse_of(code, broken, o);
}

/* --- results from elsewhere ------------------------------------------------- */

static int import_results(struct kl_repo *r, const struct options *o)
{
	KL_AUTO(kl_results_release) struct kl_results in = { 0 };
	int err = kl_results_file(&in, r, o->import);

	if (o->out.json) {
		KL_AUTO(json_decrefp) json_t *j = json_object();

		kl_json_set_str(j, "schema", "klineage.import/1");
		kl_json_set_int(j, "imported", (int64_t)in.imported);
		kl_json_set_int(j, "again", (int64_t)in.again);
		kl_json_set_int(j, "refused", (int64_t)in.refused);
		kl_json_set_int(j, "cannot", (int64_t)in.cannot);
		kl_json_set_str(j, "signer", in.signer);
		kl_listing_put(j);
	} else {
		for (size_t i = 0; i < in.lines.n; i++)
			puts(in.lines.v[i]);
		printf("%zu imported, %zu known before, %zu refused, %zu not judged%s%s\n",
		       in.imported, in.again, in.refused, in.cannot,
		       in.signer ? "; signed by " : "", in.signer ? in.signer : "");
	}
	if (!err && in.cannot)
		return kl_error(KL_ECANNOT, "%zu could not be judged there: %s", in.cannot, in.why);
	return err;
}

static int check_options(const struct options *o, int argc)
{
	char *end = NULL;

	if (o->import && kl_listing_asked(&o->out) && !o->out.json)
		return kl_opt_usage(synopsis, "--porcelain lists verdicts; --import has --json");
	if (o->import && (argc || o->worktree || o->staged || o->runner || o->output))
		return kl_opt_usage(synopsis, "--import stands alone");
	if (o->seed && o->runner && strcmp(o->runner, "local"))
		return kl_opt_usage(synopsis, "a replay (--seed) is for the runner 'local'");

	if (o->since && (argc > 1 || o->worktree || o->staged || o->bisect || o->seed))
		return kl_opt_usage(synopsis, "--since is for one revision");
	if (o->worktree + o->staged + (argc > 0) > 1)
		return kl_opt_usage(synopsis, "revisions, or --worktree, or --staged");
	if (argc > MAX_REVS || (argc > 1 && (o->bisect || o->seed)))
		return kl_opt_usage(synopsis, argc > MAX_REVS ?
						      "too many revisions" :
						      "--bisect and --seed are for one revision");
	if (o->require && strcmp(o->require, "fast") && strcmp(o->require, "not-slower"))
		return kl_opt_usage(synopsis, "--require takes 'fast' or 'not-slower', not '%s'",
				    o->require);
	if (o->quick && (o->require || o->bisect))
		return kl_opt_usage(synopsis, "--quick is not enough for --require and --bisect");
	if (o->sign > 0 && (o->no_note || o->worktree || o->staged || o->seed || o->import))
		return kl_opt_usage(synopsis, "--sign is for what is noted on a commit");
	if (o->require && o->no_profile)
		return kl_opt_usage(synopsis, "--require needs the profile");
	errno = 0;
	if (o->seed && (strtoull(o->seed, &end, 0) == 0 || *end || errno))
		return kl_opt_usage(synopsis, "'%s' is no seed", o->seed);
	return 0;
}

int cmd_gate(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(asked_freep) struct asked *a = NULL;
	struct options o = { .term = &ctx->term };
	size_t n;
	bool profile = true, note = true, sign = false, sign_always = false;
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "worktree", &o.worktree, "judge the files in the worktree"),
		KL_OPT_BOOL('\0', "staged", &o.staged,
			    "judge the files that are staged for commit"),
		KL_OPT_STR('\0', "since", &o.since, "<rev>",
			   "judge each kernel that differs from <rev>, timed against <rev>"),
		KL_OPT_STR('w', "workload", &o.workload, "<name>",
			   "use the contract of this workload"),
		KL_OPT_LISTING(&o.out),
		KL_OPT_BOOL('\0', "profile", &profile,
			    "time the kernel (default); --no-profile skips this"),
		KL_OPT_BOOL('\0', "quick", &o.quick,
			    "compile, audit and check the 'also' points only"),
		KL_OPT_BOOL('\0', "fast", &o.quick, NULL), /* its name until now */
		KL_OPT_STR('\0', "require", &o.require, "fast|not-slower",
			   "exit with 1 unless it has this speed against the parent"),
		KL_OPT_BOOL('\0', "fresh", &o.fresh,
			    "judge again even if this clone has a verdict"),
		KL_OPT_BOOL('\0', "bisect", &o.bisect,
			    "exit with 125 if it does not compile or is inconclusive"),
		KL_OPT_BOOL('\0', "note", &note, "add the verdict to the commit's note (default)"),
		KL_OPT_BOOL('\0', "sign", &sign, "sign the added events with user.signingKey"),
		KL_OPT_STR('\0', "seed", &o.seed, "<n>",
			   "replay a failure: draw the inputs from this seed"),
		KL_OPT_STR('\0', "runner", &o.runner, "<runner>",
			   "judge by local (default), bundle or ssh:<host>"),
		KL_OPT_STR('o', "output", &o.output, "<file>",
			   "write the bundle to this file (runner bundle)"),
		KL_OPT_STR('\0', "import", &o.import, "<results>",
			   "import the results of a worker elsewhere"),
		KL_OPT_STR('\0', "jail", &o.jail, "<level>",
			   "use jail level auto, bwrap, landlock, chroot or none"),
		KL_OPT_STR('\0', "platform", &o.platform, "<level>",
			   "compile for x86-64-v1 to x86-64-v4 (default: up to v3)"),
		KL_OPT_BOOL('q', "quiet", &o.quiet, "show no progress"),
		KL_OPT_BOOL('\0', "progress", &o.progress, "show progress even without a terminal"),
		KL_OPT_END
	};
	/* -h works outside a repository, too */
	int err = ctx->repo ? kl_repo_config_bool(&sign_always, ctx->repo, "klineage.sign", false) :
			      0;

	if (err < 0)
		return err;
	sign = sign_always;
	err = kl_opt_parse(&argc, &argv, synopsis, opts);
	if (err)
		return err > 0 ? 0 : err;
	o.sign = sign == sign_always ? 0 : sign ? 1 : -1;
	o.no_profile = !profile;
	o.no_note = !note;
	err = kl_listing_check(&o.out, synopsis);
	if (!err)
		err = check_options(&o, argc);
	if (!err && o.import)
		return import_results(ctx->repo, &o);
	if (!err && o.since)
		return judge_since(ctx->repo, &o, argc ? argv[0] : "HEAD");
	n = argc > 1 ? (size_t)argc : 1;
	a = kl_calloc(n + 1, sizeof(*a));
	for (size_t i = 0; i < n && err == 0; i++) {
		a[i].rev = argc ? argv[i] : "HEAD";
		err = kl_select(&a[i].sel, ctx->repo,
				o.worktree ? KL_STATE_WORKTREE :
				o.staged   ? KL_STATE_STAGED :
					     KL_STATE_REV,
				a[i].rev, o.workload);
	}
	return err < 0 ? err : judge_all(ctx->repo, &o, a, n);
}
