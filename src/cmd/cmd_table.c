/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_table - git klineage table: builds, shows and checks tables of judged kernels */
#include <inttypes.h>
#include <string.h>

#include "base/fs.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "cmd/send_away.h"
#include "cmd/table_print.h"
#include "contract/select.h"
#include "lineage/view.h"
#include "search/table/build.h"

static const char synopsis[] = "table build [<options>] -o <file> <lineage>|<workload>...\n"
			       "table show [--json] <table>\n"
			       "table check <table> [<rev>]";

#define CONSTANTS 4
#define VALUES 3
#define LIMIT 600
#define MOST_CONSTANTS 16
#define MOST_VALUES 16

struct args {
	struct kl_repo *repo;
	const char *output, *jail, *platform;
	int64_t constants, values, limit;
	bool quiet, progress, json;
	int argc;
	char **argv; /* after the subcommand */
};

/* --- build ------------------------------------------------------------------------------------ */

/* List the refs of the lineages that the operands name, in this order, each once. */
static int list_refs(struct kl_strvec *refs, const struct args *args)
{
	for (int i = 0; i < args->argc; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec found = KL_STRVEC_INIT;
		int err = kl_view_list(&found, args->repo, args->argv[i]);

		if (err < 0)
			return err;
		if (!found.n)
			return kl_view_none(args->repo, args->argv[i]);
		for (size_t k = 0; k < found.n; k++)
			kl_strvec_add_once(refs, found.v[k]);
	}
	return 0;
}

static int write_table(struct kl_table_build *build, const struct args *args)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	kl_search_table_write(&text, build->table);
	if ((err = kl_fs_write_output(args->output, text.ptr, text.len)) < 0)
		return err;
	kl_table_print_built(build, args->output);
	return 0;
}

static int check_build(const struct args *args)
{
	if (!args->argc)
		return kl_opt_usage(synopsis, "name a lineage or a workload");
	if (!args->output)
		return kl_opt_usage(synopsis, "-o is missing: the file to write");
	if (args->constants < 0 || args->constants > MOST_CONSTANTS)
		return kl_opt_usage(synopsis, "--constants must be 0 to %d", MOST_CONSTANTS);
	if (args->values < 1 || args->values > MOST_VALUES)
		return kl_opt_usage(synopsis, "--values must be 1 to %d", MOST_VALUES);
	if (args->limit < 1 || args->limit > KL_SEARCH_TABLE_STATES)
		return kl_opt_usage(synopsis, "--limit must be 1 to %d", KL_SEARCH_TABLE_STATES);
	return 0;
}

static int do_build(const struct args *args)
{
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = NULL;
	KL_AUTO(kl_progress_freep) struct kl_progress *progress = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec refs = KL_STRVEC_INIT;
	KL_AUTO(kl_table_build_release) struct kl_table_build build = { .repo = args->repo };
	struct kl_gate_opts opts = { .jail = args->jail, .platform = args->platform };
	int err = check_build(args);

	if (err < 0 || (err = list_refs(&refs, args)) < 0 ||
	    (err = kl_repo_config_int(&opts.profile_ms, args->repo, "klineage.profileMs", 0)) < 0)
		return err;
	if (!args->quiet)
		progress = kl_progress_new(args->progress ? KL_PROGRESS_ALWAYS : KL_PROGRESS_AUTO);
	opts.progress = progress;
	if ((err = kl_gate_open(&gate, args->repo, &opts)) < 0)
		return err;
	build.gate = gate;
	build.ref = &refs;
	build.constants = args->constants;
	build.values = args->values;
	build.limit = args->limit;
	build.progress = progress;
	err = kl_table_build_run(&build);
	kl_progress_free(kl_steal(&progress));
	if (err < 0)
		return err;
	if ((err = kl_send_away_wait(&build.wave.sent, "this command again")) < 0)
		return err;
	return write_table(&build, args);
}

/* --- show and check --------------------------------------------------------------------------- */

static int open_table(struct kl_search_table **out, const struct args *args, int most)
{
	if (!args->argc || args->argc > most)
		return kl_opt_usage(synopsis, "name one table");
	return kl_search_table_open(out, args->argv[0]);
}

static int do_show(const struct args *args)
{
	KL_AUTO(kl_search_table_freep) struct kl_search_table *table = NULL;
	int err = open_table(&table, args, 1);

	if (err < 0)
		return err;
	kl_table_print_states(table, args->json);
	return 0;
}

/* Make the sources of all states, so that their digests are checked. */
static int do_check(const struct args *args)
{
	KL_AUTO(kl_search_table_freep) struct kl_search_table *table = NULL;
	KL_AUTO(kl_selection_release) struct kl_selection selection = { 0 };
	int err = open_table(&table, args, 2);

	if (err < 0 ||
	    (err = kl_select(&selection, args->repo, KL_STATE_REV,
			     args->argc > 1 ? args->argv[1] : NULL, table->workload)) < 0)
		return err;
	for (size_t i = 0; i < table->n; i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;

		if ((err = kl_search_table_surface(&surface, table, &table->state[i],
						   selection.candidate)) < 0)
			return err;
	}
	printf("%s: %zu states of %s, all with the sources that were judged\n", args->argv[0],
	       table->n, table->workload);
	return 0;
}

int cmd_table(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct args args = {
		.repo = ctx->repo, .constants = CONSTANTS, .values = VALUES, .limit = LIMIT
	};
	const struct kl_opt opts[] = {
		KL_OPT_INT('\0', "constants", &args.constants, "<n>",
			   "build: change at most this many constants of a state (default: 4)"),
		KL_OPT_STR('\0', "jail", &args.jail, "<level>",
			   "build: use jail level auto, bwrap, landlock, chroot or none"),
		KL_OPT_BOOL('\0', "json", &args.json, "show: print the table as JSON"),
		KL_OPT_INT('\0', "limit", &args.limit, "<n>",
			   "build: tune no more constants beyond this many states (default: 600)"),
		KL_OPT_STR('o', "output", &args.output, "<file>", "build: write this file"),
		KL_OPT_STR('\0', "platform", &args.platform, "<id>",
			   "build: judge for cpu/x86-64-v1 to -v4"),
		KL_OPT_BOOL('\0', "progress", &args.progress,
			    "build: show progress even if stderr is not a terminal"),
		KL_OPT_BOOL('q', "quiet", &args.quiet, "build: show no progress"),
		KL_OPT_INT('\0', "values", &args.values, "<n>",
			   "build: try at most this many values of each (default: 3)"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (!argc)
		return kl_opt_usage(synopsis, "missing subcommand: build, show or check");
	args.argc = argc - 1;
	args.argv = argv + 1;
	if (!strcmp(argv[0], "build"))
		return do_build(&args);
	if (!strcmp(argv[0], "show"))
		return do_show(&args);
	if (!strcmp(argv[0], "check"))
		return do_check(&args);
	return kl_opt_usage(synopsis, "unknown subcommand '%s' (expected build, show or check)",
			    argv[0]);
}
