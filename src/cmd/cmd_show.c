/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_show - git klineage show: prints one step of a lineage, its diff and the rejected attempts */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "lineage/view.h"

static const char synopsis[] = "show [<options>] <step> [<workload>[/<name>]]";

static void print_line(const char *label, const char *value)
{
	if (!value || !*value)
		return;
	printf("  %-11s ", label);
	kl_out_line(stdout, value);
	putchar('\n');
}

static void print_ratio(const char *label, const struct kl_ratio *ratio, const char *speed)
{
	if (ratio->ppm > 0)
		printf("  %-11s %.3fx [%.3f, %.3f] %s\n", label, (double)ratio->ppm / 1e6,
		       (double)ratio->lo / 1e6, (double)ratio->hi / 1e6, speed);
}

/* Print the body of the message: the text between its subject and its trailers. */
static void print_text(const char *message)
{
	const char *text = strchr(message, '\n'), *end = NULL;

	for (const char *at = message; (at = strstr(at, "\n\n")); at++)
		end = at;
	while (text && *text == '\n')
		text++;
	if (!text || !end || text >= end)
		return;
	putchar('\n');
	while (text < end) {
		size_t n = strcspn(text, "\n");

		printf("    %.*s\n", (int)n, text);
		text += n + 1;
	}
}

/* Print K_i', the re-derived state, and its speed against K_i. */
static void print_rederived(const struct kl_view_step *step, struct kl_repo *repo)
{
	struct kl_ratio against;
	const char *how;
	char hex[KL_OID_HEX];

	if (git_oid_is_zero(&step->rederived))
		return;
	kl_oid_hex(hex, &step->rederived);
	print_line("as", hex);
	how = kl_view_rederived(&against, repo, step);
	print_ratio("against K_i", &against, "");
	print_line("against K_i", how);
}

static void print_verdict(const struct kl_view_step *step)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf("%s%s", kl_verdict_name(step->verdict),
						   step->outdated ?
							   ", under rules of the gate that "
							   "have changed since" :
							   "");

	print_line("verdict", step->verdict ? text : "no event in this clone");
}

static int print_step(const struct kl_view *view, size_t i, struct kl_repo *repo,
		      const struct kl_term *term)
{
	const struct kl_view_step *step = &view->step[i];
	KL_AUTO(kl_freep) char *label = step->label ? kl_view_mechanism(step) : NULL;
	struct kl_commit commit = { 0 };
	char hex[KL_OID_HEX], time[32];
	int err = kl_repo_commit_read(&commit, repo, &step->commit);

	if (err < 0)
		return err;
	kl_oid_hex(hex, &step->commit);
	printf("%s%s/%s K_%zu of %zu%s: %s\n", kl_paint(term, KL_PAINT_HEAD), view->workload,
	       view->name, i, view->n - 1, kl_paint(term, KL_PAINT_RESET), step->step.text);
	print_line("commit", hex);
	print_line("action", step->step.action);
	print_line("label", label);
	print_line("mechanism", step->step.mechanism);
	print_line("confidence", step->step.confidence);
	print_line("claimed", step->step.claimed);
	print_line("where", step->step.locus);
	print_line("trait", step->step.trait);
	print_line("derivation", step->step.derivation);
	print_line("effect", step->step.effect);
	print_line("undoes", step->step.undoes);
	print_line("folded", step->step.folded);
	print_rederived(step, repo);
	print_line("failed", step->step.attempts);
	print_line("delta", step->step.delta);
	print_line("contradiction", step->step.contradiction);
	print_line("origin", step->step.origin);
	print_line("rewriter", step->step.rewriter);
	print_line("source", step->step.source);
	kl_table_time(time, step->ns);
	print_line("time", step->ns ? time : NULL);
	print_ratio("before", &step->prev, kl_speed_name(step->speed));
	print_ratio("K_0", &step->root, "");
	if (step->baseline_ppm > 0)
		printf("  %-11s %.3fx\n", step->baseline, (double)step->baseline_ppm / 1e6);
	kl_out_words("  gained     ", &step->gained);
	kl_out_words("  lost       ", &step->lost);
	print_verdict(step);
	print_line("tier", kl_tier_name(step->tier));
	print_line("event", step->event);
	print_text(commit.message);
	kl_commit_release(&commit);
	return 0;
}

/*
 * Return the number i of the state K_i on which a rejected step was tried; -1: unknown. Steps of
 * walks are numbered back from K*, steps of lineages forward from K_0.
 */
static long tried_on(const struct kl_view *view, struct kl_repo *repo, const git_oid *on)
{
	struct kl_commit commit = { 0 };
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	long i = (long)view->n - 1; /* the expert's own commit has no trailers */

	if (kl_repo_commit_read(&commit, repo, on) < 0)
		return -1;
	if (!kl_step_parse(&step, "commit", commit.message))
		i = step.kind == KL_STEP_BACK ? (long)view->n - 1 - step.number : step.number;
	kl_error_clear();
	kl_commit_release(&commit);
	return i;
}

/*
 * Print the rejected steps of one direction: backward steps tried on K_i, or, if `forward`,
 * attempts on K_{i-1} to re-derive the step to K_i.
 */
static void print_refused(const struct kl_view *view, const struct kl_view_rejections *all,
			  struct kl_repo *repo, long state, bool forward)
{
	bool any = false;

	for (size_t k = all->n; k-- > 0;) {
		const struct kl_view_rejection *rejection = &all->r[k];
		char hex[KL_OID_HEX];

		if (rejection->step.forward != forward ||
		    tried_on(view, repo, &rejection->on) != state)
			continue;
		if (!any)
			printf("\n  tried %s and rejected:\n",
			       forward ? "to re-derive this step" : "on this state");
		any = true;
		kl_oid_hex(hex, &rejection->commit);
		printf("    %.10s  %-14s %s in %s\n", hex, rejection->step.class_,
		       forward && rejection->step.mechanism ? rejection->step.mechanism :
							      rejection->step.action,
		       rejection->step.locus ? rejection->step.locus : "?");
	}
}

static int print_rejections(const struct kl_view *view, size_t i, struct kl_repo *repo)
{
	struct kl_view_rejections all;
	int err = kl_view_rejections(&all, repo, view->workload, view->name);

	if (err < 0)
		return err;
	if (i)
		print_refused(view, &all, repo, (long)i - 1, true);
	print_refused(view, &all, repo, (long)i, false);
	kl_view_rejections_release(&all);
	return 0;
}

/* Print a diff in git's colors. */
static void paint_diff(const char *text, const struct kl_term *term)
{
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, "\n");
		bool head = !strncmp(at, "diff ", 5) || !strncmp(at, "index ", 6) ||
			    !strncmp(at, "--- ", 4) || !strncmp(at, "+++ ", 4);
		const char *code = head       ? kl_paint(term, KL_PAINT_HEAD) :
				   *at == '-' ? kl_paint(term, KL_PAINT_OLD) :
				   *at == '+' ? kl_paint(term, KL_PAINT_NEW) :
				   *at == '@' ? kl_paint(term, KL_PAINT_FRAG) :
						"";

		printf("%s%.*s%s\n", code, (int)n, at, *code ? kl_paint(term, KL_PAINT_RESET) : "");
		at += n + (at[n] == '\n');
	}
}

static int print_diff(const struct kl_view *view, size_t i, struct kl_repo *repo,
		      const struct kl_term *term)
{
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	git_oid from, to;
	int err;

	if (!i)
		return 0;
	if ((err = kl_repo_tree_of(&from, repo, &view->step[i - 1].commit)) < 0 ||
	    (err = kl_repo_tree_of(&to, repo, &view->step[i].commit)) < 0 ||
	    (err = kl_repo_diff(&diff, repo, &from, &to, NULL)) < 0)
		return err;
	putchar('\n');
	paint_diff(diff.ptr, term);
	return 0;
}

int cmd_show(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *name = NULL;
	KL_AUTO(kl_view_release) struct kl_view view = { 0 };
	bool diff = true, json = false;
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "diff", &diff,
			    "print the edit as a diff (default); --no-diff leaves it out"),
		KL_OPT_BOOL('\0', "json", &json, "print the step's gate event as JSON"), KL_OPT_END
	};
	size_t i;
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc < 1 || argc > 2)
		return kl_opt_usage(synopsis, "expected a step, and at most one lineage");
	if ((err = kl_view_pick(&workload, &name, ctx->repo, argc > 1 ? argv[1] : NULL)) < 0 ||
	    (err = kl_view_load(&view, ctx->repo, workload, name)) < 0 ||
	    (err = kl_view_find(&i, &view, ctx->repo, argv[0])) < 0)
		return err;
	if (json) {
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
		KL_AUTO(json_decrefp) json_t *doc = NULL;

		if ((err = kl_view_event(&event, ctx->repo, &view.step[i].commit)) < 0)
			return kl_error_in(err, "K_%zu", i);
		doc = kl_event_json(event);
		kl_listing_put(doc);
		return 0;
	}
	if ((err = print_step(&view, i, ctx->repo, &ctx->term)) < 0 ||
	    (err = print_rejections(&view, i, ctx->repo)) < 0)
		return err;
	return diff ? print_diff(&view, i, ctx->repo, &ctx->term) : 0;
}
