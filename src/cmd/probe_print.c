/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/probe_print.h"

#include <stdio.h>
#include <string.h>

#define PLAN_POINTS 16 /* points that a dry run prints */

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* --- for people ------------------------------------------------------------------------------- */

static char *words_of(const struct kl_probing *probe, size_t point)
{
	return kl_probe_point_words(probe->state[probe->n - 1].surface->contract,
				    &probe->points.v[point]);
}

/* Print where a state fails: "m = 3, n = 9 (wrong-all)". */
static void print_failure(const struct kl_probing *probe, size_t state, size_t point)
{
	KL_AUTO(kl_freep) char *words = words_of(probe, point);

	printf("%s (%s)", words, probe->state[state].side[point].class_);
}

static void print_witnessed(const struct kl_probing *probe, const struct kl_probe_finding *finding)
{
	KL_AUTO(kl_freep) char *pass = words_of(probe, finding->pass_point);

	printf("                fails at ");
	print_failure(probe, 1, finding->fail_point);
	printf("\n                passes at %s\n", pass);
	printf("                %zu point%s where it is false fail, %zu where it is true pass\n",
	       finding->fails, plural(finding->fails), finding->passes);
	if (finding->same)
		printf("                true at the same points: %s\n", finding->same);
}

static void print_free(const struct kl_probing *probe, const struct kl_probe_finding *finding)
{
	KL_AUTO(kl_freep) char *pass = words_of(probe, finding->pass_point);

	if (finding->why)
		printf("                %s\n", finding->why);
	printf("                passes at %s", pass);
	if (finding->free > 1)
		printf(" and at %zu other point%s where it is false", finding->free - 1,
		       plural(finding->free - 1));
	else
		printf(", where it is false");
	putchar('\n');
}

static void print_finding(const struct kl_probing *probe, const struct kl_probe_finding *finding)
{
	static const char *const names[] = {
		[KL_PROBE_FINDING_WITNESSED] = "witnessed",
		[KL_PROBE_FINDING_STRONGER] = "too strong",
		[KL_PROBE_FINDING_NOT_NEEDED] = "not needed",
		[KL_PROBE_FINDING_NOT_TESTED] = "not tested",
	};

	printf("  %-12s  %s", names[finding->state], finding->text);
	if (strcmp(finding->source, "measured") != 0)
		printf("  (%s)", finding->source);
	putchar('\n');
	if (finding->state == KL_PROBE_FINDING_WITNESSED)
		print_witnessed(probe, finding);
	else if (finding->state == KL_PROBE_FINDING_NOT_TESTED)
		printf("                %s\n", finding->why);
	else
		print_free(probe, finding);
}

/* Print the number of points that say nothing about the step, and the reasons. */
static void print_silent(const struct kl_probing *probe, const struct kl_probe_findings *findings)
{
	if (findings->before_fails) {
		printf("  %zu point%s say nothing, because the state before fails there, first at ",
		       findings->before_fails, plural(findings->before_fails));
		print_failure(probe, 0, findings->before_fails_point);
		if (findings->repaired)
			printf("; the step repairs %zu of them", findings->repaired);
		putchar('\n');
	}
	if (findings->untested)
		printf("  %zu point%s could not be judged:\n", findings->untested,
		       plural(findings->untested));
	for (size_t i = 0; i < findings->reasons.n; i++)
		printf("    %s\n", findings->reasons.v[i]);
	if (probe->points.large)
		printf("  %zu point%s left out, too large in bytes or work\n", probe->points.large,
		       probe->points.large == 1 ? " was" : "s were");
	if (probe->points.total > (double)(probe->points.n + probe->points.large))
		printf("  %.0f points are in the grid, of which %zu are tried\n",
		       probe->points.total, probe->points.n);
	if (probe->left && !probe->stopped)
		printf("  %zu of %zu points are left, %s\n", probe->left,
		       probe->points.n - probe->added,
		       probe->waiting ? "for the next bundle" : "for want of time");
}

static void print_unexplained(const struct kl_probing *probe,
			      const struct kl_probe_findings *findings)
{
	printf("  %zu failing point%s no condition over sizes explains, such as ",
	       findings->unexplained, plural(findings->unexplained));
	print_failure(probe, 1, findings->unexplained_point);
	printf("\n    inputs that fail there:");
	for (size_t i = 0; i < findings->bands.n; i++)
		printf("%s %s", i ? "," : "", findings->bands.v[i]);
	putchar('\n');
}

static void print_facts(const struct kl_probe_findings *findings)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;

	kl_step_facts_lines(&lines, &findings->facts);
	for (size_t i = 0; i < lines.n; i++)
		printf("  %s\n", lines.v[i]);
}

void kl_probe_print_step(const struct kl_probe_step *step, const struct kl_probing *probe,
			 const struct kl_probe_findings *findings)
{
	printf("%s%s%s: ", step->label, *step->what ? "  " : "", step->what);
	if (!findings->tested && probe->stopped)
		printf("nothing is known, because the gate cannot judge: %s\n", probe->stopped);
	else if (!findings->tested && probe->waiting)
		printf("nothing is known yet, because %zu result%s to come from elsewhere\n",
		       probe->waiting, probe->waiting == 1 ? " is" : "s are");
	else if (!findings->tested && findings->before_fails)
		printf("nothing is known, because the state before passes nowhere\n");
	else if (!findings->tested)
		printf("nothing is known, because no point was judged\n");
	else if (findings->fails == findings->tested)
		printf("fails at all %zu point%s where the state before passes\n", findings->tested,
		       plural(findings->tested));
	else if (!findings->fails)
		printf("sound at all %zu point%s where the state before is\n", findings->tested,
		       plural(findings->tested));
	else
		printf("%zu of %zu points fail where the state before passes\n", findings->fails,
		       findings->tested);
	for (size_t i = 0; i < findings->n && (findings->tested || !probe->waiting); i++)
		print_finding(probe, &findings->v[i]);
	if (findings->tested && probe->waiting)
		printf("  %zu result%s still to come from elsewhere\n", probe->waiting,
		       probe->waiting == 1 ? " is" : "s are");
	/* If no point passes, no condition can separate passes from failures. */
	if (findings->unexplained && findings->fails < findings->tested)
		print_unexplained(probe, findings);
	print_facts(findings);
	if (findings->held)
		printf("  held back: a condition fitted to one half predicts %zu of %zu points of the "
		       "other\n",
		       findings->held_right, findings->held);
	if (findings->drawn)
		printf("  drawn: of %zu points that no condition was fitted to, %zu are predicted; %zu "
		       "fail\n",
		       findings->drawn, findings->drawn_right, findings->drawn_fails);
	print_silent(probe, findings);
}

void kl_probe_print_plan(const struct kl_probe_step *step, const struct kl_probing *probe)
{
	printf("%s%s%s: %zu points would be judged\n", step->label, *step->what ? "  " : "",
	       step->what, probe->points.n);
	for (size_t i = 0; i < probe->points.n && i < PLAN_POINTS; i++) {
		KL_AUTO(kl_freep) char *words = words_of(probe, i);

		printf("    %s%s\n", words,
		       probe->points.v[i].outside ? "  (outside the contract's domain)" : "");
	}
	if (probe->points.n > PLAN_POINTS)
		printf("    ... and %zu others\n", probe->points.n - PLAN_POINTS);
	print_silent(probe, &(struct kl_probe_findings){ .n = 0 });
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static json_t *point_json(const struct kl_probing *probe, size_t point)
{
	const struct kl_contract *contract = probe->state[probe->n - 1].surface->contract;
	const struct kl_probe_point *at = &probe->points.v[point];
	KL_AUTO(kl_freep) char *base = kl_probe_point_base(contract, at);
	json_t *out = json_object(), *dims = json_object();

	for (size_t i = 0; i < at->dims.n; i++)
		kl_json_set_int(dims, contract->dim_name[i], at->dims.v[i]);
	kl_json_set(out, "dims", dims);
	kl_json_set_str(out, "values", kl_probe_value_names[at->values]);
	kl_json_set_str(out, "base", base);
	kl_json_set_bool(out, "outside", at->outside);
	return out;
}

/* Return a point with the events of both states as JSON, or a JSON null if there is no point. */
static json_t *pair_json(const struct kl_probing *probe, size_t point)
{
	static const char *const keys[] = { "before", "after" };
	json_t *out;

	if (point == KL_PROBE_FINDING_NOWHERE)
		return json_null();
	out = point_json(probe, point);
	for (size_t i = 0; i < KL_ARRAY_SIZE(keys); i++) {
		const struct kl_probe_side *side = &probe->state[i].side[point];
		json_t *one = json_object();

		kl_json_set_str(one, "event", side->event ? side->event->id : NULL);
		kl_json_set_str(one, "class", *side->class_ ? side->class_ : NULL);
		kl_json_set(out, keys[i], one);
	}
	return out;
}

static json_t *finding_json(const struct kl_probing *probe, const struct kl_probe_finding *finding)
{
	json_t *out = json_object();

	kl_json_set_str(out, "text", finding->text);
	kl_json_set_str(out, "state", kl_probe_finding_state_names[finding->state]);
	kl_json_set_str(out, "source", finding->source);
	kl_json_set_str(out, "same", finding->same);
	kl_json_set_int(out, "fails", (int64_t)finding->fails);
	kl_json_set_int(out, "passes", (int64_t)finding->passes);
	kl_json_set_int(out, "free", (int64_t)finding->free);
	kl_json_set(out, "fail", pair_json(probe, finding->fail_point));
	kl_json_set(out, "pass", pair_json(probe, finding->pass_point));
	kl_json_set_str(out, "why", finding->why);
	return out;
}

static void set_findings(json_t *out, const struct kl_probing *probe,
			 const struct kl_probe_findings *findings)
{
	json_t *clauses = json_array(), *reasons = json_array(), *bands = json_array();

	kl_json_set_int(out, "tested", (int64_t)findings->tested);
	kl_json_set_int(out, "fails", (int64_t)findings->fails);
	kl_json_set_int(out, "unexplained", (int64_t)findings->unexplained);
	kl_json_set_int(out, "before_fails", (int64_t)findings->before_fails);
	kl_json_set_int(out, "repaired", (int64_t)findings->repaired);
	kl_json_set_int(out, "untested", (int64_t)findings->untested);
	kl_json_set_int(out, "compared", (int64_t)findings->facts.compared);
	kl_json_set_int(out, "same_bits", (int64_t)findings->facts.same_bits);
	kl_json_set(out, "facts", kl_step_facts_json(&findings->facts));
	kl_json_set_int(out, "held", (int64_t)findings->held);
	kl_json_set_int(out, "held_right", (int64_t)findings->held_right);
	kl_json_set_int(out, "drawn", (int64_t)findings->drawn);
	kl_json_set_int(out, "drawn_right", (int64_t)findings->drawn_right);
	kl_json_set_int(out, "drawn_fails", (int64_t)findings->drawn_fails);
	for (size_t i = 0; i < findings->n; i++)
		json_array_append_new(clauses, finding_json(probe, &findings->v[i]));
	for (size_t i = 0; i < findings->reasons.n; i++)
		json_array_append_new(reasons, json_string(findings->reasons.v[i]));
	kl_json_set(out, "clauses", clauses);
	for (size_t i = 0; i < findings->bands.n; i++)
		json_array_append_new(bands, json_string(findings->bands.v[i]));
	kl_json_set(out, "reasons", reasons);
	kl_json_set(out, "bands", bands);
}

json_t *kl_probe_step_json(const struct kl_probe_step *step, const struct kl_probing *probe,
			   const struct kl_probe_findings *findings)
{
	json_t *out = json_object(), *points = json_array();

	kl_json_set_str(out, "step", step->label);
	kl_json_set_str(out, "mechanism", *step->what ? step->what : NULL);
	kl_json_set_str(out, "before", step->before->digest);
	kl_json_set_str(out, "after", step->after->digest);
	kl_json_set_int(out, "points", (int64_t)probe->points.n);
	kl_json_set_int(out, "left", (int64_t)probe->left);
	kl_json_set_int(out, "waiting", (int64_t)probe->waiting);
	kl_json_set_int(out, "large", (int64_t)probe->points.large);
	kl_json_set_int(out, "judged", (int64_t)probe->judged);
	kl_json_set_int(out, "kept", (int64_t)probe->kept);
	kl_json_set_str(out, "stopped", probe->stopped);
	if (findings) {
		set_findings(out, probe, findings);
		json_decref(points);
		return out;
	}
	for (size_t i = 0; i < probe->points.n; i++)
		json_array_append_new(points, point_json(probe, i));
	kl_json_set(out, "plan", points);
	return out;
}
