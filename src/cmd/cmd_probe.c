/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_probe - git klineage probe: measures where a step stops being right */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "cmd/probe_map.h"
#include "cmd/probe_print.h"
#include "cmd/probe_steps.h"
#include "cmd/probe_table.h"
#include "cmd/send_away.h"
#include "gate/wave.h"
#include "learn/probe_card.h"

static const char synopsis[] = "probe [<options>] [<lineage>[:<step>] | <card>]\n"
			       "probe [<options>] <old rev> <new rev>\n"
			       "probe --table [<options>]";

#define NOT_GIVEN INT64_MIN
#define SECONDS 120 /* default time of a probe on this machine */
#define MAX_AXES 16

struct args {
	const char *grid, *workload, *jail, *platform, *map, *dispatch;
	int64_t seconds; /* value of the option, or NOT_GIVEN */
	int64_t points;  /* 0 if not given */
	int64_t check;
	bool table, dry, json, quiet, progress, write, again;
};

/* The steps to probe, and what was found about each. */
struct work {
	struct kl_repo *repo;
	struct kl_probe_steps steps;
	struct kl_probing *probe; /* of each step; NULL if not begun */
	struct kl_probe_findings *findings;
	struct kl_probe_axis axis[MAX_AXES];
	size_t naxis;
	size_t judged, kept, left, waiting;
	bool interrupted;
	char *stopped; /* why the gate could not judge, or NULL */
};

static void work_release(struct work *work)
{
	for (size_t i = 0; i < work->steps.n && work->probe; i++) {
		kl_probe_findings_release(&work->findings[i]);
		kl_probing_release(&work->probe[i]);
	}
	free(work->probe);
	free(work->findings);
	free(work->stopped);
	for (size_t i = 0; i < work->naxis; i++)
		kl_probe_axis_release(&work->axis[i]);
	kl_probe_steps_release(&work->steps);
}

static int find_steps(struct work *work, int argc, char **argv, const struct args *args)
{
	if (argc > 2)
		return kl_opt_usage(synopsis, "at most two revisions can be given");
	if (args->workload && argc != 2)
		return kl_opt_usage(synopsis, "--workload is for two revisions");
	return kl_probe_steps_find(&work->steps, work->repo, argc, argv, args->workload);
}

static int read_grid(struct work *work, const char *grid)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec axes = KL_STRVEC_INIT;
	int err = 0;

	kl_strvec_split(&axes, grid, "; ");
	if (!axes.n || axes.n > MAX_AXES)
		return kl_opt_usage(synopsis,
				    "--grid needs from 1 to %d axes, such as "
				    "'m=1..64; n=8,16'",
				    MAX_AXES);
	for (size_t i = 0; i < axes.n && !err; i++)
		err = kl_probe_axis_parse(&work->axis[work->naxis++], axes.v[i]);
	return err;
}

/* --- probing ---------------------------------------------------------------------------------- */

/* What a wave needs (gate/wave.h). */
struct asking {
	struct work *work;
	struct kl_probing_opts *opts;
	struct kl_gate *gate; /* NULL in a dry run */
	json_t *steps;        /* gets the results; NULL to print them */
	int64_t seconds;      /* below 0 for no limit */
};

static bool is_remote(const struct asking *asking)
{
	return asking->gate && kl_gate_is_remote(asking->gate);
}

static int probe_step(struct asking *asking, size_t i)
{
	struct work *work = asking->work;
	const struct kl_probe_step *step = &work->steps.v[i];
	const struct kl_surface *state[] = { step->before, step->after };
	struct kl_probing *probe = &work->probe[i];
	const struct kl_probing_opts *opts = asking->opts;
	int err = kl_probing_run(probe, asking->gate, state, 2, opts);

	if (!err && !opts->dry)
		err = kl_probe_step_learn(&work->findings[i], probe, step, work->steps.card);
	if (err < 0)
		return err;
	work->judged += probe->judged;
	work->kept += probe->kept;
	work->left += probe->left;
	work->waiting += probe->waiting;
	work->interrupted = probe->interrupted;
	if (probe->stopped && !work->stopped)
		work->stopped = kl_strdup(probe->stopped);
	return 0;
}

static void show_step(const struct asking *asking, size_t i)
{
	const struct kl_probe_step *step = &asking->work->steps.v[i];
	const struct kl_probing *probe = &asking->work->probe[i];
	const struct kl_probe_findings *findings = &asking->work->findings[i];
	bool dry = asking->opts->dry;

	if (asking->steps)
		json_array_append_new(asking->steps,
				      kl_probe_step_json(step, probe, dry ? NULL : findings));
	else if (dry)
		kl_probe_print_plan(step, probe);
	else
		kl_probe_print_step(step, probe, findings);
}

/* Write what was found into the card. Set *changed to true if there was something to write. */
static int write_card(bool *changed, struct work *work)
{
	struct kl_probe_card_step *step = kl_calloc(work->steps.n + 1, sizeof(*step));
	size_t n = 0;
	int err;

	for (size_t i = 0; i < work->steps.n; i++)
		for (size_t k = 0; k < work->steps.transitions.n; k++)
			if (work->steps.transitions.v[k].to == work->steps.v[i].after &&
			    work->probe[i].n)
				step[n++] = (struct kl_probe_card_step){
					.transition = &work->steps.transitions.v[k],
					.probe = &work->probe[i],
					.findings = &work->findings[i],
				};
	err = kl_probe_card_put(changed, work->steps.library, work->steps.card, step, n);
	free(step);
	return err;
}

/* Forget what an earlier wave found. The next wave reads it from the store. */
static void forget_steps(struct work *work)
{
	for (size_t i = 0; i < work->steps.n; i++) {
		kl_probe_findings_release(&work->findings[i]);
		kl_probing_release(&work->probe[i]);
	}
	work->judged = work->kept = work->left = work->waiting = 0;
}

/* Probe the steps; each gets its share of the time that is left. */
static int ask_steps(void *payload)
{
	struct asking *asking = payload;
	struct work *work = asking->work;
	int64_t until = kl_clock_ns() + asking->seconds * 1000000000;
	int err = 0;

	forget_steps(work);
	for (size_t i = 0; i < work->steps.n && !err && !work->interrupted; i++) {
		int64_t rest = (until - kl_clock_ns()) / 1000000;

		asking->opts->ms = asking->seconds < 0 ? -1 :
				   rest > 0            ? rest / (int64_t)(work->steps.n - i) :
							 0;
		if (asking->opts->progress)
			kl_progress_title(asking->opts->progress, "%s", work->steps.v[i].label);
		err = probe_step(asking, i);
		if (!err && !is_remote(asking))
			show_step(asking, i);
	}
	return err;
}

/*
 * Probe all steps. If the runner judges elsewhere, the points of all steps are one wave, and `wave`
 * says whether the user must carry its bundle to a worker.
 */
static int probe_steps(struct kl_wave *wave, struct asking *asking)
{
	struct work *work = asking->work;
	int err;

	work->probe = kl_calloc(work->steps.n + 1, sizeof(*work->probe));
	work->findings = kl_calloc(work->steps.n + 1, sizeof(*work->findings));
	if (asking->opts->dry)
		return ask_steps(asking);
	if ((err = kl_probing_gate(&asking->gate, asking->opts)) < 0)
		return err;
	if (asking->seconds < 0 && !is_remote(asking))
		asking->seconds = SECONDS;
	err = kl_wave_run(wave, asking->gate, ask_steps, asking);
	for (size_t i = 0; i < work->steps.n && !err && is_remote(asking); i++)
		show_step(asking, i);
	return err;
}

static void print_end(const struct work *work, json_t *document, bool dry)
{
	if (document) {
		kl_json_set_int(document, "judged", (int64_t)work->judged);
		kl_json_set_int(document, "kept", (int64_t)work->kept);
		kl_json_set_int(document, "waiting", (int64_t)work->waiting);
		kl_json_set_bool(document, "interrupted", work->interrupted);
		kl_listing_put(document);
		return;
	}
	if (dry)
		return;
	printf("%zu run%s of the correctness stage, %zu result%s kept from before\n", work->judged,
	       work->judged == 1 ? "" : "s", work->kept, work->kept == 1 ? "" : "s");
	if (work->left)
		printf("%zu point%s left; run the command again to go on\n", work->left,
		       work->left == 1 ? " is" : "s are");
}

/*
 * Return an error that says why the probe is not finished. `then` is the command that continues it.
 */
static int end_of(const struct work *work, const struct kl_wave *wave, const char *then)
{
	if (work->interrupted)
		return kl_error(KL_EINTR,
				"interrupted; what was judged is kept, so run the command "
				"again to go on");
	if (work->stopped)
		return kl_error(KL_ECANNOT, "the gate cannot judge: %s", work->stopped);
	return kl_send_away_wait(&wave->sent, then);
}

static int run_probe(struct work *work, const struct args *args)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress = NULL;
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(json_decrefp) json_t *document = args->json ? json_object() : NULL;
	KL_AUTO(kl_wave_release) struct kl_wave wave = { 0 };
	struct kl_probing_opts opts = {
		.repo = work->repo,
		.jail = args->jail,
		.platform = args->platform,
		.axis = work->axis,
		.naxis = work->naxis,
		.most = (size_t)args->points,
		.check = (size_t)args->check,
		.dry = args->dry,
	};
	struct asking asking = { .work = work, .opts = &opts, .seconds = args->seconds };
	bool changed = false;
	int err = kl_taxonomy_load(&tax);

	if (document) {
		asking.steps = json_array();
		kl_json_set_str(document, "schema", "klineage.probe/1");
		kl_json_set_bool(document, "dry_run", args->dry);
		kl_json_set(document, "steps", asking.steps);
	}
	if (!args->quiet)
		progress = kl_progress_new(args->progress ? KL_PROGRESS_ALWAYS : KL_PROGRESS_AUTO);
	opts.tax = tax;
	opts.progress = progress;
	if (!err)
		err = probe_steps(&wave, &asking);
	kl_gate_free(asking.gate);
	kl_progress_free(kl_steal(&progress));
	if (!err && args->write && !work->waiting)
		err = write_card(&changed, work);
	if (err < 0)
		return err;
	if (document)
		kl_json_set_bool(document, "changed", changed);
	print_end(work, document, args->dry);
	if (args->write && !document)
		printf("card %s: %s\n", work->steps.card->id,
		       changed       ? "the conditions were written" :
		       work->waiting ? "not written before all results are here" :
				       "nothing to write");
	return end_of(work, &wave, "this command again");
}

/* --- maps ------------------------------------------------------------------------------------- */

/* Name the states of the only step: by the revisions, or as "K_3 of topk/x". */
static void name_states(char **a, char **b, const struct work *work, int argc, char **argv)
{
	const char *label = work->steps.v[0].label, *colon = strrchr(label, ':');
	long long number = colon ? atoll(colon + 1) : 0;
	int len = colon ? (int)(colon - label) : 0;

	if (argc == 2) {
		*a = kl_probe_map_name(argv[0], &work->steps.selection[0].commit);
		*b = kl_probe_map_name(argv[1], &work->steps.selection[1].commit);
		return;
	}
	*a = kl_asprintf("K_%lld of %.*s", number - 1, len, label);
	*b = kl_asprintf("K_%lld of %.*s", number, len, label);
}

static int run_map(const struct work *work, const struct args *args, int argc, char **argv)
{
	KL_AUTO(kl_freep) char *a = NULL, *b = NULL;

	if (args->grid || args->dry || args->write)
		return kl_opt_usage(synopsis, "--map and --dispatch have a grid of their own; they "
					      "cannot be used with --grid, --write or --dry-run");
	if (work->steps.n != 1)
		return kl_opt_usage(
			synopsis,
			"a map compares two versions of a kernel: give two revisions, or "
			"one step, such as '%s'",
			work->steps.v[0].label);
	name_states(&a, &b, work, argc, argv);
	return kl_probe_map(work->repo,
			    &(struct kl_probe_map){
				    .a = work->steps.v[0].before,
				    .b = work->steps.v[0].after,
				    .name_a = a,
				    .name_b = b,
				    .map = args->map,
				    .dispatch = args->dispatch,
				    .jail = args->jail,
				    .platform = args->platform,
				    .seconds = args->seconds < 0 ? SECONDS : args->seconds,
				    .again = args->again,
				    .json = args->json,
				    .quiet = args->quiet,
				    .progress = args->progress,
			    });
}

static int run_table(const struct work *work, const struct args *args, int argc)
{
	if (argc || args->grid || args->map || args->dispatch || args->write || args->dry)
		return kl_opt_usage(synopsis,
				    "--table is about all cards: it has no operand, and no "
				    "--grid, --map, --dispatch, --write or --dry-run");
	return kl_probe_table(work->repo,
			      &(struct kl_probe_table){
				      .jail = args->jail,
				      .platform = args->platform,
				      .seconds = args->seconds < 0 ? SECONDS : args->seconds,
				      .check = (size_t)args->check,
				      .json = args->json,
				      .quiet = args->quiet,
				      .progress = args->progress,
			      });
}

int cmd_probe(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(work_release) struct work work = { .repo = ctx->repo };
	struct args args = { .seconds = NOT_GIVEN };
	const char *who;
	const struct kl_opt opts[] = {
		KL_OPT_INT('\0', "seconds", &args.seconds, "<n>",
			   "stop after so many seconds (default: 120, elsewhere no limit)"),
		KL_OPT_INT('\0', "points", &args.points, "<n>",
			   "begin with at most so many points of each step"),
		KL_OPT_STR('\0', "grid", &args.grid, "<axes>",
			   "judge at these points: 'm=1..64; n=8,16; values=plain,nan'"),
		KL_OPT_INT('\0', "check", &args.check, "<n>",
			   "draw so many points more, and count how many the conditions predict"),
		KL_OPT_BOOL('\0', "table", &args.table,
			    "count the clauses of every card by what points say of them"),
		KL_OPT_STR('\0', "map", &args.map, "<file>",
			   "measure where the newer kernel is faster; write a map to this file"),
		KL_OPT_STR('\0', "dispatch", &args.dispatch, "<file>",
			   "measure as --map; write a C header that chooses a kernel"),
		KL_OPT_BOOL('\0', "again", &args.again,
			    "of a map: judge points again whose interval decides nothing"),
		KL_OPT_STR('w', "workload", &args.workload, "<name>",
			   "of revisions: which of several contracts"),
		KL_OPT_STR('\0', "jail", &args.jail, "<level>",
			   "use this level of the jail (default: the strongest)"),
		KL_OPT_STR('\0', "platform", &args.platform, "<level>",
			   "compile for this level (default: this machine's)"),
		KL_OPT_BOOL('\0', "write", &args.write,
			    "write the measured conditions into the card"),
		KL_OPT_BOOL('n', "dry-run", &args.dry, "list the points, judge nothing"),
		KL_OPT_BOOL('q', "quiet", &args.quiet, "show no progress"),
		KL_OPT_BOOL('\0', "progress", &args.progress,
			    "show progress even if stderr is not a terminal"),
		KL_OPT_BOOL('\0', "json", &args.json, "print the result as JSON"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (args.seconds != NOT_GIVEN && (args.seconds < 0 || args.seconds > 1000000))
		return kl_opt_usage(synopsis, "--seconds needs a number from 0 to 1000000");
	if (args.points < 0 || args.points > KL_PROBE_MOST)
		return kl_opt_usage(synopsis, "--points needs a number from 1 to %d",
				    KL_PROBE_MOST);
	if (args.check < 0 || args.check > KL_PROBE_MOST)
		return kl_opt_usage(synopsis, "--check needs a number from 0 to %d", KL_PROBE_MOST);
	if (args.table)
		return run_table(&work, &args, argc);
	if ((err = args.grid ? read_grid(&work, args.grid) : 0) < 0 ||
	    (err = find_steps(&work, argc, argv, &args)) < 0)
		return err;
	if (args.write && !work.steps.card)
		return kl_opt_usage(synopsis, "--write is for a card");
	if (args.write && args.dry)
		return kl_opt_usage(synopsis, "--write and --dry-run exclude each other");
	if (args.write && (err = kl_repo_identity(&who, ctx->repo)) < 0)
		return err;
	if (args.map || args.dispatch)
		return run_map(&work, &args, argc, argv);
	return run_probe(&work, &args);
}
