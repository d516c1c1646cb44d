/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_show - git klineage show: one step of a lineage, with its diff and what was refused */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "cmd/table.h"
#include "lineage/view.h"

static const char synopsis[] = "show [<options>] <step> [<workload>[/<name>]]";

static void print_line(const char *label, const char *value)
{
	if (value && *value)
		printf("  %-11s %s\n", label, value);
}

static void print_list(const char *label, const struct kl_strvec *v)
{
	if (!v->n)
		return;
	printf("  %-11s", label);
	for (size_t i = 0; i < v->n; i++)
		printf(" %s", v->v[i]);
	putchar('\n');
}

static void print_ratio(const char *label, const struct kl_ratio *r, const char *speed)
{
	if (r->ppm > 0)
		printf("  %-11s %.3fx [%.3f, %.3f] %s\n", label, (double)r->ppm / 1e6,
		       (double)r->lo / 1e6, (double)r->hi / 1e6, speed);
}

/* what the message says between its subject and its trailers */
static void print_text(const char *message)
{
	const char *s = strchr(message, '\n'), *end = NULL;

	for (const char *p = message; (p = strstr(p, "\n\n")); p++)
		end = p;
	while (s && *s == '\n')
		s++;
	if (!s || !end || s >= end)
		return;
	putchar('\n');
	while (s < end) {
		size_t n = strcspn(s, "\n");

		printf("    %.*s\n", (int)n, s);
		s += n + 1;
	}
}

/* K_i', and how it does against K_i */
static void print_rederived(const struct kl_view_step *s, struct kl_repo *r)
{
	struct kl_ratio against;
	const char *how;
	char hex[KL_OID_HEX];

	if (git_oid_is_zero(&s->rederived))
		return;
	kl_oid_hex(hex, &s->rederived);
	print_line("as", hex);
	how = kl_view_rederived(&against, r, s);
	print_ratio("against K_i", &against, "");
	print_line("against K_i", how);
}

static int print_step(const struct kl_view *v, size_t i, struct kl_repo *r, const struct kl_term *t)
{
	const struct kl_view_step *s = &v->step[i];
	struct kl_commit c = { 0 };
	char hex[KL_OID_HEX], time[32];
	int err = kl_repo_commit_read(&c, r, &s->commit);

	if (err < 0)
		return err;
	kl_oid_hex(hex, &s->commit);
	printf("%s%s/%s K_%zu of %zu%s: %s\n", kl_paint(t, KL_PAINT_HEAD), v->workload, v->name, i,
	       v->n - 1, kl_paint(t, KL_PAINT_RESET), s->step.text);
	print_line("commit", hex);
	print_line("action", s->step.action);
	print_line("mechanism", s->step.mechanism);
	print_line("where", s->step.locus);
	print_line("trait", s->step.trait);
	print_line("derivation", s->step.derivation);
	print_rederived(s, r);
	print_line("failed", s->step.attempts);
	print_line("delta", s->step.delta);
	print_line("origin", s->step.origin);
	print_line("rewriter", s->step.rewriter);
	print_line("source", s->step.source);
	kl_table_time(time, s->ns);
	print_line("time", s->ns ? time : NULL);
	print_ratio("before", &s->prev, kl_speed_name(s->speed));
	print_ratio("K_0", &s->root, "");
	if (s->baseline_ppm > 0)
		printf("  %-11s %.3fx\n", s->baseline, (double)s->baseline_ppm / 1e6);
	print_list("gained", &s->gained);
	print_list("lost", &s->lost);
	print_line("verdict", s->verdict ? kl_verdict_name(s->verdict) : "no event in this clone");
	print_line("tier", kl_tier_name(s->tier));
	print_line("event", s->event);
	print_text(c.message);
	kl_commit_release(&c);
	return 0;
}

/* the K_i that a rejection was tried on: walks count back from K*, lineages forward */
static long tried_on(const struct kl_view *v, struct kl_repo *r, const git_oid *on)
{
	struct kl_commit c = { 0 };
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	long i = (long)v->n - 1; /* the expert's own commit has no trailers */

	if (kl_repo_commit_read(&c, r, on) < 0)
		return -1;
	if (!kl_step_parse(&step, "commit", c.message))
		i = step.kind == KL_STEP_BACK ? (long)v->n - 1 - step.number : step.number;
	kl_error_clear();
	kl_commit_release(&c);
	return i;
}

/* of one direction: what was tried on K_i and refused, or on K_{i-1} to derive this step anew */
static void print_refused(const struct kl_view *v, const struct kl_view_rejections *all,
			  struct kl_repo *r, long state, bool forward)
{
	bool any = false;

	for (size_t k = all->n; k-- > 0;) {
		const struct kl_view_rejection *x = &all->r[k];
		char hex[KL_OID_HEX];

		if (x->step.forward != forward || tried_on(v, r, &x->on) != state)
			continue;
		if (!any)
			printf("\n  tried %s and rejected:\n",
			       forward ? "to derive this step anew" : "on this state");
		any = true;
		kl_oid_hex(hex, &x->commit);
		printf("    %.10s  %-14s %s in %s\n", hex, x->step.class_,
		       forward && x->step.mechanism ? x->step.mechanism : x->step.action,
		       x->step.locus ? x->step.locus : "?");
	}
}

static int print_rejections(const struct kl_view *v, size_t i, struct kl_repo *r)
{
	struct kl_view_rejections all;
	int err = kl_view_rejections(&all, r, v->workload, v->name);

	if (err < 0)
		return err;
	if (i)
		print_refused(v, &all, r, (long)i - 1, true);
	print_refused(v, &all, r, (long)i, false);
	kl_view_rejections_release(&all);
	return 0;
}

/* as git's own diff */
static void paint_diff(const char *text, const struct kl_term *t)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\n");
		bool head = !strncmp(p, "diff ", 5) || !strncmp(p, "index ", 6) ||
			    !strncmp(p, "--- ", 4) || !strncmp(p, "+++ ", 4);
		const char *code = head      ? kl_paint(t, KL_PAINT_HEAD) :
				   *p == '-' ? kl_paint(t, KL_PAINT_OLD) :
				   *p == '+' ? kl_paint(t, KL_PAINT_NEW) :
				   *p == '@' ? kl_paint(t, KL_PAINT_FRAG) :
					       "";

		printf("%s%.*s%s\n", code, (int)n, p, *code ? kl_paint(t, KL_PAINT_RESET) : "");
		p += n + (p[n] == '\n');
	}
}

static int print_diff(const struct kl_view *v, size_t i, struct kl_repo *r, const struct kl_term *t)
{
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	git_oid from, to;
	int err;

	if (!i)
		return 0;
	if ((err = kl_repo_tree_of(&from, r, &v->step[i - 1].commit)) < 0 ||
	    (err = kl_repo_tree_of(&to, r, &v->step[i].commit)) < 0 ||
	    (err = kl_repo_diff(&diff, r, &from, &to, NULL)) < 0)
		return err;
	putchar('\n');
	paint_diff(diff.ptr, t);
	return 0;
}

/* "3", "K_3", "K*", or a commit of the lineage */
static int find_step(size_t *out, const struct kl_view *v, struct kl_repo *r, const char *word)
{
	const char *digits = !strncmp(word, "K_", 2) ? word + 2 : word;
	char *end;
	unsigned long n = strtoul(digits, &end, 10);
	git_oid oid;

	*out = v->n - 1;
	if (!strcmp(word, "K*"))
		return 0;
	if (*digits && !*end && strlen(digits) < 7) {
		if (n < v->n) {
			*out = n;
			return 0;
		}
		return kl_error(KL_ENOTFOUND, "%s/%s has the states K_0 to K_%zu", v->workload,
				v->name, v->n - 1);
	}
	if (kl_repo_resolve(&oid, r, word) == 0)
		for (size_t i = 0; i < v->n; i++)
			if (!memcmp(&oid, &v->step[i].commit, sizeof(oid))) {
				*out = i;
				return 0;
			}
	return kl_error(KL_ENOTFOUND, "'%s' is no step of %s/%s", word, v->workload, v->name);
}

int cmd_show(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *name = NULL;
	KL_AUTO(kl_view_release) struct kl_view v = { 0 };
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
		return kl_opt_usage(synopsis, "which step?");
	if ((err = kl_view_pick(&workload, &name, ctx->repo, argc > 1 ? argv[1] : NULL)) < 0 ||
	    (err = kl_view_load(&v, ctx->repo, workload, name)) < 0 ||
	    (err = find_step(&i, &v, ctx->repo, argv[0])) < 0)
		return err;
	if (json) {
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
		KL_AUTO(json_decrefp) json_t *doc = NULL;

		if ((err = kl_view_event(&event, ctx->repo, &v.step[i].commit)) < 0)
			return kl_error_in(err, "K_%zu", i);
		doc = kl_event_json(event);
		kl_listing_put(doc);
		return 0;
	}
	if ((err = print_step(&v, i, ctx->repo, &ctx->term)) < 0 ||
	    (err = print_rejections(&v, i, ctx->repo)) < 0)
		return err;
	return diff ? print_diff(&v, i, ctx->repo, &ctx->term) : 0;
}
