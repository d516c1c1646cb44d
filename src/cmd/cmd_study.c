/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_study - git klineage study: compares policies of search over tasks and seeds */
#include <string.h>

#include "base/fs.h"
#include "base/proc.h"
#include "base/progress.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cmd.h"
#include "cmd/study_jobs.h"
#include "cmd/study_print.h"
#include "study/final.h"
#include "study/replay.h"
#include "study/running.h"
#include "study/study_report.h"
#include "study/training.h"

static const char synopsis[] =
	"study start [-n] [--json] <file>\n"
	"study run [--jobs <n>] [--task <id>] [--policy <id>] [--exec <command>] <study>\n"
	"study run --cell <id> [--exec <command>] <study>\n"
	"study status [--json] <study>\n"
	"study cells [--json | --porcelain | -z] <study>\n"
	"study report [--json | --output <directory>] <study>\n"
	"study final <study>\n"
	"study replay <study>\n"
	"study export --for <form> [--holdout <task>[,...]] [--output <file>] <study>";

struct args {
	struct kl_repo *repo;
	const char *what; /* the file or the study */
	struct kl_listing out;
	const char *cell, *task, *policy, *exec, *jail, *platform, *output, *form, *holdout;
	int64_t jobs;
	bool dry, quiet;
};

/* --- start ----------------------------------------------------------------------------------- */

static int start_study(const struct args *args)
{
	KL_AUTO(kl_study_plan_release) struct kl_study_plan plan = { 0 };
	KL_AUTO(kl_study_release) struct kl_study study = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if ((err = kl_fs_read(&text, args->what, KL_STUDY_BYTES)) < 0 ||
	    (err = kl_study_plan_parse(&plan, args->what, text.ptr, text.len)) < 0)
		return err;
	if ((err = kl_study_make(&study, args->repo, &plan)) < 0)
		return kl_error_in(err, "%s", args->what);
	if (!args->dry && (err = kl_study_freeze(&study, args->repo, text.ptr, text.len)) < 0)
		return err;
	kl_study_print_start(&study, args->out.json, args->dry);
	return 0;
}

/* --- run ------------------------------------------------------------------------------------- */

static int run_cell(const struct args *args, const struct kl_study *study)
{
	struct kl_progress *progress = args->quiet ? NULL : kl_progress_new(KL_PROGRESS_AUTO);
	struct kl_study_cell cell;
	struct kl_running running = {
		.repo = args->repo,
		.study = study,
		.cell = &cell,
		.command = args->exec,
		.jail = args->jail,
		.platform = args->platform,
		.progress = progress,
	};
	int err = kl_study_find_cell(&cell, study, args->cell);

	if (!err)
		err = kl_running_cell(&running);
	kl_progress_free(progress);
	if (err < 0)
		return kl_error_in(err == KL_ETIMEOUT ? KL_ENO : err, "cell '%s'", args->cell);
	return args->quiet ? 0 : kl_study_print_cell(study, args->repo, &cell);
}

static bool has_task(const struct kl_study *study, const char *id)
{
	for (size_t i = 0; i < study->ntask; i++)
		if (!strcmp(study->task[i].id, id))
			return true;
	return false;
}

static bool has_arm(const struct kl_study *study, const char *id)
{
	for (size_t i = 0; i < study->narm; i++)
		if (!strcmp(study->arm[i].id, id))
			return true;
	return false;
}

static int run_study(const struct args *args)
{
	KL_AUTO(kl_study_release) struct kl_study study = { 0 };
	struct kl_study_jobs jobs = {
		.repo = args->repo,
		.study = &study,
		.jobs = args->jobs,
		.task = args->task,
		.policy = args->policy,
		.command = args->exec,
		.jail = args->jail,
		.platform = args->platform,
	};
	int err = kl_study_load(&study, args->repo, args->what);

	if (err < 0)
		return err;
	if (args->task && !has_task(&study, args->task))
		return kl_error(KL_ENOTFOUND, "study '%s' has no task '%s'", study.name,
				args->task);
	if (args->policy && !has_arm(&study, args->policy))
		return kl_error(KL_ENOTFOUND, "study '%s' has no policy '%s'", study.name,
				args->policy);
	return args->cell ? run_cell(args, &study) : kl_study_jobs_run(&jobs);
}

/* --- status, cells --------------------------------------------------------------------------- */

static int show_status(const struct args *args)
{
	KL_AUTO(kl_study_release) struct kl_study study = { 0 };
	int err = kl_study_load(&study, args->repo, args->what);

	return err < 0 ? err : kl_study_print_status(&study, args->repo, args->out.json);
}

static int list_cells(const struct args *args)
{
	KL_AUTO(kl_study_release) struct kl_study study = { 0 };
	int err = kl_study_load(&study, args->repo, args->what);

	return err < 0 ? err : kl_study_print_cells(&study, args->repo, &args->out);
}

/* --- final ----------------------------------------------------------------------------------- */

static int measure_winners(const struct args *args)
{
	KL_AUTO(kl_study_release) struct kl_study study = { 0 };
	struct kl_final_opts opts = {
		.repo = args->repo,
		.study = &study,
		.jail = args->jail,
		.platform = args->platform,
	};
	size_t made = 0;
	int err = kl_study_load(&study, args->repo, args->what);

	if (err < 0)
		return err;
	opts.progress = args->quiet ? NULL : kl_progress_new(KL_PROGRESS_AUTO);
	err = kl_final_measure(&made, &opts);
	kl_progress_free(opts.progress);
	if (err < 0)
		return err;
	printf("%zu measurements were made; see git klineage study report %s\n", made, study.name);
	return 0;
}

/* --- report ---------------------------------------------------------------------------------- */

static void write_json(struct kl_buf *out, const json_t *report)
{
	kl_json_canonical(out, report);
	kl_buf_addch(out, '\n');
}

static int write_report(const char *dir, const json_t *report)
{
	static const struct {
		const char *name;
		void (*write)(struct kl_buf *out, const json_t *report);
	} files[] = {
		{ "report.md", kl_study_report_markdown },
		{ "report.html", kl_study_report_html },
		{ "report.json", write_json },
		{ "speed.svg", kl_study_report_svg },
		{ "cells.csv", kl_study_report_cells_csv },
		{ "curves.csv", kl_study_report_curves_csv },
	};
	int err = kl_fs_mkdir(dir);

	for (size_t i = 0; !err && i < KL_ARRAY_SIZE(files); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, files[i].name);

		files[i].write(&text, report);
		err = kl_fs_write(path, text.ptr, text.len);
		if (!err)
			printf("%s\n", path);
	}
	return err;
}

static int report_study(const struct args *args)
{
	KL_AUTO(kl_study_release) struct kl_study study = { 0 };
	KL_AUTO(kl_study_results_release) struct kl_study_results results = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *report = NULL;
	int err;

	if ((err = kl_study_load(&study, args->repo, args->what)) < 0 ||
	    (err = kl_study_results_load(&results, args->repo, &study)) < 0)
		return err;
	report = kl_study_report_json(&results);
	if (args->output)
		return write_report(args->output, report);
	if (args->out.json) {
		kl_listing_put(report);
		return 0;
	}
	kl_study_report_markdown(&text, report);
	fputs(text.ptr, stdout);
	return 0;
}

/* --- replay ---------------------------------------------------------------------------------- */

static int replay_study(const struct args *args)
{
	KL_AUTO(kl_study_release) struct kl_study study = { 0 };
	size_t tickets = 0, wrong = 0;
	int err = kl_study_load(&study, args->repo, args->what);

	if (err < 0)
		return err;
	for (size_t i = 0; i < kl_study_cells(&study); i++) {
		struct kl_study_cell cell;

		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		kl_study_cell(&cell, &study, i);
		if (kl_replay_cell(&tickets, args->repo, &study, &cell) < 0) {
			wrong++;
			kl_out_line(stdout, kl_error_last());
			putchar('\n');
			kl_error_clear();
		}
	}
	printf("%zu cells, %zu tickets: %zu cells differ\n", kl_study_cells(&study), tickets,
	       wrong);
	return wrong ? 1 : 0;
}

/* --- export ---------------------------------------------------------------------------------- */

static int find_form(enum kl_training_form *out, const char *name)
{
	for (int i = 0; name && i < KL_TRAINING_FORMS; i++)
		if (!strcmp(kl_training_name[i], name)) {
			*out = (enum kl_training_form)i;
			return 0;
		}
	return kl_opt_usage(synopsis, "'export' needs --for sft, sft-pairs, rl or kto%s%s",
			    name ? ", not " : "", name ? name : "");
}

static int export_rows(const struct args *args)
{
	KL_AUTO(kl_study_release) struct kl_study study = { 0 };
	KL_AUTO(kl_strvec_release) struct kl_strvec holdout = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	enum kl_training_form form = KL_TRAINING_SFT;
	size_t rows;
	int err;

	kl_strvec_split(&holdout, args->holdout ? args->holdout : "", ",");
	if ((err = find_form(&form, args->form)) < 0 ||
	    (err = kl_study_load(&study, args->repo, args->what)) < 0)
		return err;
	for (size_t i = 0; i < holdout.n; i++)
		if (!has_task(&study, holdout.v[i]))
			return kl_error(KL_ENOTFOUND, "study '%s' has no task '%s'", study.name,
					holdout.v[i]);
	if ((err = kl_training_write(&text, &rows, args->repo, &study, form, &holdout)) < 0)
		return err;
	if (!args->output) {
		kl_out_exact(text.ptr, text.len);
		return 0;
	}
	if ((err = kl_fs_write_output(args->output, text.ptr, text.len)) < 0)
		return err;
	printf("%zu rows in %s\n", rows, args->output);
	return 0;
}

static const struct verb {
	const char *name;
	int (*run)(const struct args *args);
	bool lists;
} verbs[] = {
	{ "start", start_study, false },   { "run", run_study, false },
	{ "status", show_status, false },  { "cells", list_cells, true },
	{ "report", report_study, false }, { "final", measure_winners, false },
	{ "replay", replay_study, false }, { "export", export_rows, false },
};

static int check_args(const struct args *args, const struct verb *verb)
{
	bool runs = verb->run == run_study, judges = runs || verb->run == measure_winners;

	if (!runs && (args->cell || args->task || args->policy || args->exec || args->jobs != 1))
		return kl_opt_usage(synopsis, "--cell, --task, --policy, --jobs and --exec need "
					      "'run'");
	if (!judges && (args->jail || args->platform || args->quiet))
		return kl_opt_usage(synopsis, "--jail, --platform and --quiet need 'run' or "
					      "'final'");
	if (args->output &&
	    (args->out.json || (verb->run != report_study && verb->run != export_rows)))
		return kl_opt_usage(synopsis,
				    "--output needs 'report' without --json, or 'export'");
	if ((args->form || args->holdout) && verb->run != export_rows)
		return kl_opt_usage(synopsis, "--for and --holdout need 'export'");
	if (args->dry && verb->run != start_study)
		return kl_opt_usage(synopsis, "--dry-run needs 'start'");
	if ((args->out.porcelain || args->out.nul) && !verb->lists)
		return kl_opt_usage(synopsis, "--porcelain and -z need 'cells'");
	if (args->out.json && (judges || verb->run == replay_study || verb->run == export_rows))
		return kl_opt_usage(synopsis, "'%s' prints no JSON; see 'cells'", verb->name);
	if (args->cell && (args->task || args->policy || args->jobs != 1))
		return kl_opt_usage(synopsis,
				    "--cell runs one cell; it cannot be used with --task, "
				    "--policy or --jobs");
	if (args->jobs < 1 || args->jobs > KL_STUDY_JOBS)
		return kl_opt_usage(synopsis, "--jobs must be 1 to %d", KL_STUDY_JOBS);
	return 0;
}

int cmd_study(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct args args = { .repo = ctx->repo, .jobs = 1 };
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "cell", &args.cell, "<id>", "run: this cell, in this process"),
		KL_OPT_BOOL('n', "dry-run", &args.dry,
			    "start: say what would be frozen and what it can tell; freeze nothing"),
		KL_OPT_STR('\0', "exec", &args.exec, "<command>",
			   "run: the command of provider exec (default: klineage.chat.exec)"),
		KL_OPT_STR('\0', "for", &args.form, "<form>",
			   "export: rows for sft, sft-pairs, rl or kto"),
		KL_OPT_STR('\0', "holdout", &args.holdout, "<task>[,...]",
			   "export: leave out these tasks"),
		KL_OPT_STR('\0', "jail", &args.jail, "<level>",
			   "run, final: use jail level auto, bwrap, landlock, chroot or none"),
		KL_OPT_INT('j', "jobs", &args.jobs, "<n>",
			   "run: so many cells at once (default: 1)"),
		KL_OPT_LISTING(&args.out),
		KL_OPT_STR('o', "output", &args.output, "<path>",
			   "report: write files of all formats to this directory; export: write "
			   "rows to this file"),
		KL_OPT_STR('\0', "platform", &args.platform, "<id>",
			   "run, final: judge for cpu/x86-64-v1 to -v4"),
		KL_OPT_STR('\0', "policy", &args.policy, "<id>", "run: only cells of this policy"),
		KL_OPT_BOOL('q', "quiet", &args.quiet, "run, final: show no progress"),
		KL_OPT_STR('\0', "task", &args.task, "<id>", "run: only cells of this task"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = kl_listing_check(&args.out, synopsis)) < 0)
		return err;
	if (argc != 2)
		return kl_opt_usage(synopsis, argc ? "expected a subcommand and one argument" :
						     "missing subcommand");
	args.what = argv[1];
	for (size_t i = 0; i < KL_ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[0], verbs[i].name) != 0)
			continue;
		err = check_args(&args, &verbs[i]);
		return err < 0 ? err : verbs[i].run(&args);
	}
	return kl_opt_usage(synopsis, "unknown subcommand '%s'", argv[0]);
}
