/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_measure - git klineage measure: measures the states of a lineage again, in one session */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "event/speed.h"
#include "lineage/measure.h"

static const char synopsis[] = "measure [<options>] [<workload>[/<name>]]\n"
			       "measure [<options>] <rev>...";

#define ROUNDS 5
#define MAX_ROUNDS 100
#define MAX_STATES 1000

struct args {
	const char *wait, *workload, *jail, *platform;
	int64_t rounds;
	bool quiet, progress, json;
};

/* --- printing ------------------------------------------------------------------------ */

static void add_ratio(struct kl_buf *buf, const struct kl_comparison *comparison)
{
	if (!comparison || comparison->ratio.ppm <= 0)
		kl_buf_addch(buf, '-');
	else if (kl_speed_is_useless(&comparison->ratio))
		kl_buf_adds(buf, "too noisy");
	else
		kl_buf_addf(buf, "%.3fx [%.3f, %.3f] %s", (double)comparison->ratio.ppm / 1e6,
			    (double)comparison->ratio.lo / 1e6, (double)comparison->ratio.hi / 1e6,
			    kl_speed_name(comparison->speed));
}

static void add_verdict(struct kl_buf *buf, const struct kl_event *event)
{
	const char *class_ = kl_event_class(event);

	kl_buf_addf(buf, "%s%s%s", kl_verdict_name(event->verdict), class_ && *class_ ? " " : "",
		    class_ ? class_ : "");
}

static void add_row(struct kl_table *table, const struct kl_event *event, const char *state)
{
	const struct kl_comparison *baseline = kl_comparisons_baseline(&event->profile.vs);
	KL_AUTO(kl_buf_release) struct kl_buf previous = KL_BUF_INIT, verdict = KL_BUF_INIT,
					      share = KL_BUF_INIT, noise = KL_BUF_INIT;
	char time[32];

	kl_table_time(time, event->profile.ns);
	add_ratio(&previous, kl_comparisons_parent(&event->profile.vs));
	add_verdict(&verdict, event);
	if (baseline && baseline->ratio.ppm > 0)
		kl_buf_addf(&share, "%.1f %%", (double)baseline->ratio.ppm / 1e4);
	if (event->profile.there)
		kl_buf_addf(&noise, "%.2f %%", (double)event->profile.aa_ppm / 1e4);
	kl_table_row(table,
		     (const char *[]){ state, time, previous.ptr, share.len ? share.ptr : "-",
				       noise.len ? noise.ptr : "-", verdict.ptr });
}

static const char *baseline_of(const struct kl_measured *measured)
{
	for (size_t i = 0; i < measured->n; i++) {
		const struct kl_comparison *baseline = kl_comparisons_baseline(
			&measured->state[i].judgement->event->profile.vs);

		if (baseline)
			return baseline->what;
	}
	return NULL;
}

static void print_session(const struct kl_measured *measured, const struct args *args)
{
	printf("%zu states, %lld round%s: %zu measurement%s", measured->n, (long long)args->rounds,
	       args->rounds == 1 ? "" : "s", measured->made, measured->made == 1 ? "" : "s");
	if (measured->kept)
		printf(", %zu kept from an earlier session", measured->kept);
	if (measured->again)
		printf(", %zu made again because of noise", measured->again);
	putchar('\n');
	if (measured->busy)
		printf("%zu measurement%s made on a busy machine; use --wait to wait longer for a "
		       "quiet machine\n",
		       measured->busy, measured->busy == 1 ? " was" : "s were");
}

static void print_table(const struct kl_measured *measured, const struct args *args,
			char *const *label)
{
	const char *baseline = baseline_of(measured);
	KL_AUTO(kl_freep) char *share = kl_asprintf("of %s", baseline ? baseline : "baseline");
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = 6 };

	kl_table_row(&table,
		     (const char *[]){ "state", "time", "x previous", share, "A/A", "verdict" });
	for (size_t i = 0; i < measured->n; i++)
		add_row(&table, measured->state[i].judgement->event, label[i]);
	kl_table_print(&table);
	putchar('\n');
	print_session(measured, args);
}

static json_t *comparison_json(const struct kl_comparison *comparison)
{
	json_t *out;

	if (!comparison || comparison->ratio.ppm <= 0)
		return json_null();
	out = json_object();
	kl_json_set_int(out, "ratio_ppm", comparison->ratio.ppm);
	kl_json_set_int(out, "lo_ppm", comparison->ratio.lo);
	kl_json_set_int(out, "hi_ppm", comparison->ratio.hi);
	kl_json_set_str(out, "speed", kl_speed_name(comparison->speed));
	return out;
}

static json_t *state_json(const struct kl_measured_state *state, const char *label)
{
	const struct kl_event *event = state->judgement->event;
	const struct kl_comparison *baseline = kl_comparisons_baseline(&event->profile.vs);
	const char *class_ = kl_event_class(event);
	json_t *out = json_object();
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &state->commit);
	kl_json_set_str(out, "state", label);
	kl_json_set_str(out, "commit", hex);
	kl_json_set_int(out, "ns", event->profile.ns);
	kl_json_set_int(out, "aa_ppm", event->profile.aa_ppm);
	kl_json_set(out, "previous", comparison_json(kl_comparisons_parent(&event->profile.vs)));
	kl_json_set_str(out, "baseline", baseline ? baseline->what : NULL);
	kl_json_set(out, "against", comparison_json(baseline));
	kl_json_set_str(out, "verdict", kl_verdict_name(event->verdict));
	kl_json_set_str(out, "class", class_ && *class_ ? class_ : NULL);
	kl_json_set_str(out, "event", event->id);
	return out;
}

static void print_json(const struct kl_measured *measured, const struct args *args,
		       char *const *label)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *states = json_array();

	kl_json_set_str(value, "schema", "klineage.measure/1");
	kl_json_set_int(value, "rounds", args->rounds);
	kl_json_set_int(value, "made", (int64_t)measured->made);
	kl_json_set_int(value, "kept", (int64_t)measured->kept);
	kl_json_set_int(value, "again", (int64_t)measured->again);
	kl_json_set_int(value, "busy", (int64_t)measured->busy);
	for (size_t i = 0; i < measured->n; i++)
		json_array_append_new(states, state_json(&measured->state[i], label[i]));
	kl_json_set(value, "states", states);
	kl_listing_put(value);
}

/* --- the verb ------------------------------------------------------------------------ */

/* Read a time: a number of seconds, or with a unit: 90, 90s, 10m, 2h. */
static int read_time(int64_t *ms, const char *text)
{
	char *end;
	long long number = strtoll(text, &end, 10);
	int64_t unit = !strcmp(end, "m") ? 60 : !strcmp(end, "h") ? 3600 : 1;

	if (end == text || number < 0 || number > 1000000 ||
	    (*end && strcmp(end, "s") && strcmp(end, "m") && strcmp(end, "h")))
		return kl_opt_usage(synopsis,
				    "--wait needs a time, such as 90s, 10m or 2h, not '%s'", text);
	*ms = number * unit * 1000;
	return 0;
}

static int worst_code(const struct kl_measured *measured)
{
	size_t useless = 0;

	for (size_t i = 0; i < measured->n; i++) {
		const struct kl_event *event = measured->state[i].judgement->event;

		useless += measured->state[i].useless;
		if (event->verdict == KL_VERDICT_PASS || measured->state[i].useless)
			continue;
		if (*event->message)
			fprintf(stderr, "git-klineage: state %zu: %s\n", i, event->message);
		return 1;
	}
	if (!useless)
		return 0;
	return kl_error_hint(
		kl_error(KL_ECANNOT,
			 "%zu state%s could not be compared: the machine was too busy, and the "
			 "figures were not noted",
			 useless, useless == 1 ? "" : "s"),
		"run the command again when the machine is quiet: it measures only %s again",
		useless == 1 ? "this state" : "these states");
}

static int show_states(const struct kl_measured *measured, const struct args *args,
		       char *const *rev)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec label = KL_STRVEC_INIT;

	for (size_t i = 0; i < measured->n; i++)
		if (rev)
			kl_strvec_push(&label, rev[i]);
		else
			kl_strvec_pushf(&label, "K_%zu", i);
	if (args->json)
		print_json(measured, args, label.v);
	else
		print_table(measured, args, label.v);
	return worst_code(measured);
}

/* Measure the lineage or the revisions that the operands name. */
static int measure_named(struct kl_measured *measured, bool *lineage, struct kl_repo *repo,
			 const struct args *args, const struct kl_measure_opts *opts, int argc,
			 char **argv)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec refs = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *workload = NULL, *name = NULL;
	KL_AUTO(kl_view_release) struct kl_view view = { 0 };
	int err = argc > 1 || args->workload ? 0 : kl_view_list(&refs, repo, argc ? argv[0] : NULL);

	if (err < 0)
		return err;
	*lineage = refs.n || !argc;
	if (!*lineage)
		return kl_measure_revisions(measured, repo, argv, (size_t)argc, args->workload,
					    opts);
	if ((err = kl_view_pick(&workload, &name, repo, argc ? argv[0] : NULL)) < 0 ||
	    (err = kl_view_load(&view, repo, workload, name)) < 0)
		return err;
	return kl_measure_lineage(measured, repo, &view, opts);
}

int cmd_measure(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_measured_release) struct kl_measured measured = { 0 };
	KL_AUTO(kl_progress_freep) struct kl_progress *progress = NULL;
	struct args args = { .wait = "10m", .rounds = ROUNDS };
	struct kl_measure_opts measure = { 0 };
	bool lineage = false;
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "wait", &args.wait, "<time>",
			   "wait at most so long for a quiet machine (default: 10m)"),
		KL_OPT_INT('\0', "rounds", &args.rounds, "<n>",
			   "how often to measure each state (default: 5)"),
		KL_OPT_STR('w', "workload", &args.workload, "<name>",
			   "of revisions: which of several contracts"),
		KL_OPT_STR('\0', "jail", &args.jail, "<level>",
			   "use this level of the jail (default: the strongest)"),
		KL_OPT_STR('\0', "platform", &args.platform, "<level>",
			   "compile for this level (default: the lineage's)"),
		KL_OPT_BOOL('q', "quiet", &args.quiet, "show no progress"),
		KL_OPT_BOOL('\0', "progress", &args.progress,
			    "show progress even if stderr is not a terminal"),
		KL_OPT_BOOL('\0', "json", &args.json, "print the result as JSON"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (args.rounds < 1 || args.rounds > MAX_ROUNDS)
		return kl_opt_usage(synopsis, "--rounds needs a number from 1 to %d", MAX_ROUNDS);
	if (argc > MAX_STATES)
		return kl_opt_usage(synopsis, "at most %d revisions can be given", MAX_STATES);
	if ((err = read_time(&measure.wait_ms, args.wait)) < 0)
		return err;
	if (!args.quiet)
		progress = kl_progress_new(args.progress ? KL_PROGRESS_ALWAYS : KL_PROGRESS_AUTO);
	measure.progress = progress;
	measure.jail = args.jail;
	measure.platform = args.platform;
	measure.rounds = args.rounds;
	err = measure_named(&measured, &lineage, ctx->repo, &args, &measure, argc, argv);
	kl_progress_free(kl_steal(&progress));
	return err < 0 ? err : show_states(&measured, &args, lineage ? NULL : argv);
}
