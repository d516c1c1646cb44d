/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_adopt - git klineage adopt: writes a contract for a kernel as its project builds it */
#include <string.h>

#include "adopt/adopt.h"
#include "base/error.h"
#include "cmd/cli/opt.h"
#include "cmd/cmd.h"

static const char synopsis[] = "adopt [<options>] <file>[:<function>]\n"
			       "adopt [--build <system> | --commands <file>]";

static void print_list(const char *title, const struct kl_strvec *list)
{
	for (size_t i = 0; i < list->n; i++)
		printf("  %-10s %s\n", i ? "" : title, list->v[i] + strspn(list->v[i], " "));
}

static void print_report(const struct kl_adopt_report *report)
{
	printf("wrote %s and %s\n  %-10s %s\n", report->contract, report->oracle, "kernel",
	       report->prototype);
	printf("  %-10s %s", "build", report->origin);
	if (report->commands > 1)
		printf(" (command %zu of %zu for this file; choose another with --index)",
		       report->taken, report->commands);
	putchar('\n');
	print_list("units", &report->units);
	printf("  %-10s %zu files, headers included\n", "surface", report->sources);
	print_list("built with", &report->flags);
	print_list("generated", &report->generated);
	print_list("left out", &report->dropped);
	print_list("note", &report->notes);
	if (report->unknown && !report->adapter)
		printf("contracts cannot express the types of %d of the arguments; to use an "
		       "adapter, which calls the kernel,\nremove the files and run this again with "
		       "--adapter\n",
		       report->unknown);
	printf("next:\n  1. fill in the places marked TODO in %s:\n", report->contract);
	for (size_t i = 0; i < report->todo.n; i++)
		printf("       line %s\n", report->todo.v[i]);
	printf("  2. write the oracle, %s: plain code that is correct, however slow\n",
	       report->oracle);
	if (report->adapter)
		printf("     and the adapter, %s, which calls the kernel\n", report->adapter);
	printf("  3. git add %s %s%s%s", report->contract, report->oracle,
	       report->adapter ? " " : "", report->adapter ? report->adapter : "");
	for (size_t i = 0; i < report->generated.n; i++)
		printf(" %.*s", (int)strcspn(report->generated.v[i], " "), report->generated.v[i]);
	printf("\n  4. git klineage gate --worktree --workload %s\n", report->workload);
}

/* Print the files that can be adopted, for a call that names no file. */
static int list_files(struct kl_repo *repo, const struct kl_adopt_opts *opts)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec files = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *origin = NULL;
	int err = kl_adopt_list(&files, &origin, repo, opts);

	if (err < 0)
		return err;
	printf("%s compiles %zu files in C or C++:\n", origin, files.n);
	for (size_t i = 0; i < files.n; i++)
		printf("  %s\n", files.v[i]);
	puts("choose a kernel: git klineage adopt <file>:<function>");
	return 0;
}

static int check_options(const struct kl_adopt_opts *opts)
{
	static const char *const systems[] = { "make", "cmake", "meson", "none" };
	bool known = !opts->build;

	for (size_t i = 0; !known && i < KL_ARRAY_SIZE(systems); i++)
		known = !strcmp(opts->build, systems[i]);
	if (!known)
		return kl_opt_usage(synopsis,
				    "--build is one of make, cmake, meson and none, not '%s'",
				    opts->build);
	if (opts->build && opts->commands)
		return kl_opt_usage(synopsis, "--commands and --build exclude each other");
	if (opts->build_options && opts->commands)
		return kl_opt_usage(synopsis, "--commands and --build-options exclude each other");
	if (opts->target && opts->build && strcmp(opts->build, "make"))
		return kl_opt_usage(synopsis, "--target is for make");
	if (opts->index < 0)
		return kl_opt_usage(synopsis, "--index counts from 1");
	return 0;
}

static int adopt_kernel(struct kl_repo *repo, struct kl_adopt_opts *opts, const char *argument)
{
	KL_AUTO(kl_adopt_release) struct kl_adopt_report report = { .contract = NULL };
	/* the first colon, since the names of C++ have colons, and paths of contracts have none */
	const char *colon = strchr(argument, ':');
	KL_AUTO(kl_freep) char *name = kl_strndup(argument, colon ? (size_t)(colon - argument) :
								    strlen(argument));
	KL_AUTO(kl_freep) char *file = NULL, *contract = NULL;
	int err;

	if (colon && !colon[1])
		return kl_opt_usage(synopsis, "'%s' names no function", argument);
	if ((err = kl_repo_path(&file, repo, name)) < 0 ||
	    (opts->contract && (err = kl_repo_path(&contract, repo, opts->contract)) < 0))
		return err;
	opts->file = file;
	opts->entry = colon ? colon + 1 : NULL;
	opts->contract = contract;
	err = kl_adopt_write(&report, repo, opts);
	if (!err)
		print_report(&report);
	return err;
}

int cmd_adopt(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct kl_adopt_opts adopt = { .file = NULL };
	const char *sources = NULL;
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "contract", &adopt.contract, "<path>",
			   "write the contract there (default: klineage/<workload>.klineage.yaml)"),
		KL_OPT_STR('\0', "workload", &adopt.workload, "<name>",
			   "name the workload (default: the function's name)"),
		KL_OPT_BOOL('\0', "adapter", &adopt.adapted,
			    "also write an adapter, which calls the kernel"),
		KL_OPT_STR('\0', "commands", &adopt.commands, "<file>",
			   "read the build from this compile_commands.json"),
		KL_OPT_STR('\0', "build", &adopt.build, "make|cmake|meson|none",
			   "ask this build system; none: compile the file alone"),
		KL_OPT_STR('\0', "build-options", &adopt.build_options, "<options>",
			   "further arguments of the build system, or of the compiler for none"),
		KL_OPT_STR('\0', "target", &adopt.target, "<name>", "ask make for this target"),
		KL_OPT_INT('\0', "index", &adopt.index, "<n>",
			   "take the n-th of several commands for the file"),
		KL_OPT_STR('\0', "source", &sources, "<file>[,<file>]...",
			   "also compile these files, for what several define"),
		KL_OPT_END
	};
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc > 1)
		return kl_opt_usage(synopsis, "expected one kernel");
	if ((err = check_options(&adopt)) < 0)
		return err;
	if (!kl_repo_worktree(ctx->repo))
		return kl_error(KL_EINVALID, "cannot adopt a kernel of a bare repository");
	if (!argc)
		return list_files(ctx->repo, &adopt);
	if (sources)
		kl_strvec_split(&names, sources, ",");
	for (size_t i = 0; !err && i < names.n; i++) {
		char *path;

		err = kl_repo_path(&path, ctx->repo, names.v[i]);
		if (!err)
			kl_strvec_take(&adopt.sources, path);
	}
	if (!err)
		err = adopt_kernel(ctx->repo, &adopt, argv[0]);
	kl_strvec_release(&adopt.sources);
	return err;
}
