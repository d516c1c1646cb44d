/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/gate_print.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cli/out.h"
#include "cmd/cli/table.h"

/* --- text output ----------------------------------------------------------- */

/* Return the number of spaces to print after a label, to align the ratios. */
static int pad_of(const char *label)
{
	return strlen(label) < 9 ? 9 - (int)strlen(label) : 0;
}

static void print_profile(const struct kl_profile *profile)
{
	char time[32];

	if (!profile->there)
		return;
	kl_table_time(time, profile->ns);
	printf("  time      %s  (the kernel against itself: within %.2f %%)\n", time,
	       (double)profile->aa_ppm / 1e4);
	for (size_t i = 0; i < profile->vs.n; i++) {
		const struct kl_comparison *comparison = &profile->vs.v[i];

		printf("  ");
		kl_out_line(stdout, comparison->what);
		printf("%*s %.3fx [%.3f, %.3f] %s\n", pad_of(comparison->what), "",
		       (double)comparison->ratio.ppm / 1e6, (double)comparison->ratio.lo / 1e6,
		       (double)comparison->ratio.hi / 1e6, kl_speed_name(comparison->speed));
	}
}

static void print_notes(const json_t *notes)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;

	kl_json_strings(&lines, notes);
	for (size_t i = 0; i < lines.n; i++) {
		fputs(i ? "            " : "  notes     ", stdout);
		kl_out_line(stdout, lines.v[i]);
		putchar('\n');
	}
}

/*
 * Return the dims of a point of the contract, such as "also1"; NULL: the contract has no such
 * point.
 */
static const struct kl_dims *point_dims(const struct kl_contract *contract, const char *point)
{
	for (size_t i = 0; i < kl_contract_npoints(contract); i++) {
		char id[32];
		const struct kl_dims *dims = kl_contract_point(contract, i, id);

		if (!strcmp(id, point))
			return dims;
	}
	return NULL;
}

/*
 * Print the dims of the contract's point at which a kernel failed. Print nothing for a drawn point,
 * because the verdict's message already contains its dims.
 */
static void print_point(const struct kl_contract *contract, const json_t *correct)
{
	const char *point = kl_json_str_or(json_object_get(correct, "failure"), "point", "");
	const struct kl_dims *dims = point_dims(contract, point);

	if (!dims)
		return;
	printf("  %s%*s ", point, pad_of(point), "");
	for (size_t i = 0; i < dims->n; i++)
		printf("%s%s=%lld", i ? ", " : "", contract->dim_name[i], (long long)dims->v[i]);
	putchar('\n');
}

/* Print how much of the device's capacity was used; the event holds shares in millionths. */
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
	json_t *value;

	json_array_foreach(json_object_get(counters, "launches"), i, value) {
		const char *comma = "";

		printf("  counters  ");
		kl_out_line(stdout, kl_json_str_or(value, "kernel", "?"));
		putchar(':');
		for (size_t k = 0; k < KL_ARRAY_SIZE(share); k++) {
			int64_t ppm = kl_json_int_or(value, share[k].member, -1);

			if (ppm < 0)
				continue;
			printf("%s %s %.1f %%", comma, share[k].label, (double)ppm / 1e4);
			comma = ",";
		}
		putchar('\n');
	}
}

/* Print the resources of each kernel on a device, which are known without running it. */
static void print_figures(const json_t *statics)
{
	size_t i;
	json_t *value;

	json_array_foreach(statics, i, value) {
		int64_t ppm = kl_json_int_or(value, "occupancy_ppm", -1);
		int64_t spilled = kl_json_int_or(value, "spill_bytes", 0);
		const char *by = kl_json_str_or(value, "limited_by", "");

		printf("  figures   ");
		kl_out_line(stdout, kl_json_str_or(value, "kernel", "?"));
		printf(": %lld registers, %lld bytes of shared memory",
		       (long long)kl_json_int_or(value, "registers", 0),
		       (long long)kl_json_int_or(value, "smem",
						 kl_json_int_or(value, "smem_static", 0)));
		if (spilled)
			printf(", %lld bytes spilled", (long long)spilled);
		if (ppm >= 0) {
			printf(", occupancy %.1f %% (limited by ", (double)ppm / 1e4);
			kl_out_line(stdout, !strcmp(by, "shared") ? "shared memory" : by);
			putchar(')');
		}
		putchar('\n');
	}
}

static void print_correct(const json_t *correct)
{
	int64_t points = kl_json_int_or(correct, "drawn_points", 0);
	int64_t values = kl_json_int_or(correct, "drawn_values", 0);

	printf("  correct   %lld inputs; the worst error is %.2f of the tolerance\n",
	       (long long)kl_json_int_or(correct, "cases", 0),
	       (double)kl_json_int_or(correct, "margin_ppm", 0) / 1e6);
	if (points || values)
		printf("  drawn     %lld points of the domain, %lld bands of values\n",
		       (long long)points, (long long)values);
}

void kl_gate_print_verdict(const struct kl_judgement *judgement, const struct kl_surface *surface,
			   const struct kl_term *term)
{
	const struct kl_event *event = judgement->event;
	const char *class_ = kl_event_class(event);

	printf("%s: %s%s%s", surface->contract->workload,
	       kl_paint(term, kl_paint_verdict(event->verdict)), kl_verdict_name(event->verdict),
	       *class_ ? " " : "");
	kl_out_line(stdout, class_);
	printf("%s%s  (", kl_paint(term, KL_PAINT_RESET),
	       event->kind == KL_KIND_CHECK ? " by the quick stages" : "");
	kl_out_line(stdout, event->place.id);
	printf(", ");
	kl_out_line(stdout, event->place.compiler);
	printf(", %s%s%s)\n", kl_tier_name(event->tier),
	       judgement->voucher ? ", judged before and signed by " :
	       judgement->cached  ? ", judged before by this clone" :
				    "",
	       judgement->voucher ? judgement->voucher : "");
	if (*event->message) {
		printf("  ");
		kl_out_line(stdout, event->message);
		putchar('\n');
	}
	if (event->verdict == KL_VERDICT_FAIL)
		print_point(surface->contract, event->correct);
	if (json_is_object(event->correct) && event->verdict == KL_VERDICT_PASS)
		print_correct(event->correct);
	print_profile(&event->profile);
	print_counters(event->counters);
	kl_out_words("  features ", &event->facts.features);
	print_figures(event->statics);
	print_notes(event->notes);
}

void kl_gate_print_compiled(const struct kl_judgement *judgement, const struct kl_surface *surface)
{
	const struct kl_event *event = judgement->event;

	printf("%s: compiled, no verdict  (", surface->contract->workload);
	kl_out_line(stdout, event->place.id);
	printf(", ");
	kl_out_line(stdout, event->place.compiler);
	printf(")\n");
	kl_out_words("  features ", &event->facts.features);
	print_figures(event->statics);
}

/* --- output for programs --------------------------------------------------- */

static void add_comparison(json_t *row, const char *key, const struct kl_comparison *comparison)
{
	if (comparison)
		kl_json_set(row, key, kl_comparison_json(comparison));
}

void kl_gate_print_row(const struct kl_listing *out, const struct kl_event *event,
		       const git_oid *commit)
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
	KL_AUTO(json_decrefp) json_t *row = kl_event_json(event);
	char hex[KL_OID_HEX] = "";

	if (out->json) {
		kl_listing_put(row);
		return;
	}
	if (commit)
		kl_oid_hex(hex, commit);
	kl_json_set_str(row, "commit", commit ? hex : NULL);
	add_comparison(row, "parent", kl_comparisons_parent(&event->profile.vs));
	add_comparison(row, "baseline", kl_comparisons_baseline(&event->profile.vs));
	kl_listing_print(out, row, NULL, fields);
}
