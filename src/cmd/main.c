/* SPDX-License-Identifier: Apache-2.0 */
/* main - the table of verbs; runs the verb that the user names and prints its error */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/proc.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cmd.h"
#include "model/provider/secret.h"

#define WALKS (KL_NEEDS_REPO | KL_NEEDS_IDENTITY | KL_NEEDS_HISTORY)

/* clang-format off */
const struct kl_cmd kl_cmds[] = {
	{ "init", cmd_init, 0, "write a contract for a kernel, or start from a template" },
	{ "adopt", cmd_adopt, KL_NEEDS_REPO,
	  "write a contract for a kernel as its project builds it" },
	{ "status", cmd_status, KL_NEEDS_REPO,
	  "show kernels, their verdicts, the walk, and what is not pushed" },
	{ "gate", cmd_gate, KL_NEEDS_REPO, "judge a kernel: compile, correctness, profile" },
	{ "compare", cmd_compare, KL_NEEDS_REPO,
	  "judge two states of a kernel against each other" },
	{ "deopt", cmd_deopt, WALKS, "walk an expert kernel backward and record the lineage" },
	{ "log", cmd_log, KL_NEEDS_REPO | KL_SCROLLS, "show a lineage, state by state" },
	{ "show", cmd_show, KL_NEEDS_REPO | KL_PAGES, "show one step of a lineage" },
	{ "label", cmd_label, KL_NEEDS_REPO, "say which mechanism a step of a lineage is" },
	{ "blame", cmd_blame, KL_NEEDS_REPO | KL_SCROLLS,
	  "show which step added each line of an expert" },
	{ "measure", cmd_measure, KL_NEEDS_REPO | KL_NEEDS_IDENTITY,
	  "measure the states of a lineage again, in one session" },
	{ "transplant", cmd_transplant, KL_NEEDS_REPO | KL_NEEDS_IDENTITY,
	  "try each step of a lineage at other states, and undone at the expert" },
	{ "probe", cmd_probe, KL_NEEDS_REPO, "measure where a step stops being right" },
	{ "prune", cmd_prune, KL_NEEDS_REPO | KL_NEEDS_IDENTITY,
	  "find the simplest kernel that is not slower than the expert" },
	{ "report", cmd_report, KL_NEEDS_REPO, "write lineages as an HTML page with figures" },
	{ "export", cmd_export, KL_NEEDS_REPO, "write a lineage to a directory for review" },
	{ "import", cmd_import, KL_NEEDS_REPO | KL_NEEDS_IDENTITY, "rebuild an exported lineage" },
	{ "hooks", cmd_hooks, 0, "install commit and push hooks that run the gate" },
	{ "lift", cmd_lift, KL_NEEDS_REPO | KL_NEEDS_HISTORY,
	  "make cards from the measured steps of lineages" },
	{ "admit", cmd_admit, WALKS, "try a card on a state that it was not learned from" },
	{ "skills", cmd_skills, 0, "list, show, check, exchange and retract cards" },
	{ "retrieve", cmd_retrieve, KL_NEEDS_REPO, "find the cards that fit a kernel" },
	{ "materialize", cmd_materialize, KL_NEEDS_REPO | KL_NEEDS_IDENTITY,
	  "apply cards to a kernel, one gated commit each" },
	{ "search", cmd_search, KL_NEEDS_REPO | KL_NEEDS_IDENTITY,
	  "search for a faster kernel with a model, by a published policy" },
	{ "table", cmd_table, KL_NEEDS_REPO,
	  "judge the states of lineages and their variants, for searches without a device" },
	{ "study", cmd_study, KL_NEEDS_REPO | KL_NEEDS_IDENTITY,
	  "compare policies of search over tasks and seeds" },
	{ "memory", cmd_memory, KL_NEEDS_REPO | KL_NEEDS_IDENTITY,
	  "show, import and retract what a search begins with" },
	{ "step", cmd_step, KL_NEEDS_REPO | KL_NEEDS_IDENTITY,
	  "judge an edit in the worktree, and commit it if it passes" },
	{ "review", cmd_review, KL_NEEDS_REPO | KL_PAGES,
	  "report what a range of commits changes in kernels, contracts and cards" },
	{ "sync", cmd_sync, KL_NEEDS_REPO | KL_NEEDS_IDENTITY,
	  "exchange lineages, cards and gate events with a remote" },
	{ "chat", cmd_chat, KL_NEEDS_REPO, "show conversations with models and their cost" },
	{ "mcp", cmd_mcp, KL_NEEDS_REPO, "serve coding agents over the Model Context Protocol" },
	{ "fsck", cmd_fsck, KL_NEEDS_REPO,
	  "check lineages, walks, events, conversations and cards" },
	{ "doctor", cmd_doctor, 0, "check what this machine and this clone have for verdicts" },
	{ "help", cmd_help, 0, "list the verbs, or show a manual page" },
	{ "version", cmd_version, 0, "print versions" },
	{ NULL, NULL, 0, NULL }
};
/* clang-format on */

static const struct kl_cmd *find_verb(const char *name)
{
	if (!strcmp(name, "-h") || !strcmp(name, "--help"))
		name = "help";
	if (!strcmp(name, "--version"))
		name = "version";
	for (const struct kl_cmd *cmd = kl_cmds; cmd->name; cmd++)
		if (!strcmp(cmd->name, name))
			return cmd;
	return NULL;
}

/* Return true if `word` is among the arguments that precede any "--". */
static bool asks_for(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], word))
			return true;
	return false;
}

static int prepare_context(struct kl_cmd_ctx *ctx, int needs)
{
	const char *who;
	int err = 0;

	if (needs & KL_NEEDS_REPO)
		err = kl_repo_open(&ctx->repo);
	if (!err && (needs & KL_NEEDS_HISTORY))
		err = kl_repo_need_history(ctx->repo);
	if (!err && (needs & KL_NEEDS_IDENTITY))
		err = kl_repo_identity(&who, ctx->repo);
	return err;
}

/* Remove the options that every verb takes from `argv`: --color[=<when>], --no-color and --wide. */
static void take_common(struct kl_term_wish *wish, int *argc, char **argv)
{
	int n = 1, i = 1;

	for (; i < *argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--color"))
			wish->when = "always";
		else if (!strcmp(argv[i], "--no-color"))
			wish->when = "never";
		else if (!strncmp(argv[i], "--color=", 8))
			wish->when = argv[i] + 8;
		else if (!strcmp(argv[i], "--wide"))
			wish->wide = true;
		else
			argv[n++] = argv[i];
	}
	while (i < *argc)
		argv[n++] = argv[i++];
	argv[ *argc = n] = NULL;
}

static int run_verb(const struct kl_cmd *cmd, struct kl_out *out, int argc, char **argv)
{
	struct kl_cmd_ctx ctx = { .verb = cmd->name, .out = out };
	struct kl_term_wish wish = { .verb = cmd->name,
				     .pages = cmd->needs & (KL_PAGES | KL_SCROLLS),
				     .scrolls = cmd->needs & KL_SCROLLS };
	int result = 0;

	take_common(&wish, &argc, argv);

	if (asks_for(argc, argv, "--help"))
		return cmd_help(&ctx, 2, (char *[]){ argv[0], argv[0], NULL });
	/* -h works outside a repository */
	if (!asks_for(argc, argv, "-h") && !asks_for(argc, argv, KL_OPT_COMPLETION))
		result = prepare_context(&ctx, cmd->needs);
	if (!result)
		result = kl_term_open(&ctx.term, ctx.repo, &wish);
	kl_out_paint(out, &ctx.term);
	if (!result)
		result = cmd->run(&ctx, argc, argv);
	kl_term_close(&ctx.term);
	kl_repo_free(ctx.repo);
	return result;
}

static void print_error(void)
{
	const char *hint = kl_error_hints();

	fprintf(stderr, "git-klineage: %s\n", kl_error_last());
	while (*hint) {
		size_t n = strcspn(hint, "\n");
		bool usage = !strncmp(hint, "usage:", 6) || !strncmp(hint, "   or:", 6);

		fprintf(stderr, "%s%.*s\n", usage ? "" : "hint: ", (int)n, hint);
		hint += n + (hint[n] == '\n');
	}
}

/* Print the error of a verb, and report a failed write to stdout. Returns the exit code. */
static int finish_output(struct kl_out *out, int result)
{
	if (result < 0) {
		print_error();
		result = kl_error_exit(result);
	}
	if (kl_out_finish(out) == 0)
		return result;
	if (errno == EPIPE)
		return 141;
	fprintf(stderr, "git-klineage: cannot write the output: %s\n", strerror(errno));
	return 128;
}

static int run_program(int argc, char **argv)
{
	const struct kl_cmd *cmd;
	KL_AUTO(kl_out_endp) struct kl_out *err = NULL;
	KL_AUTO(kl_out_endp) struct kl_out *out = NULL;

	kl_proc_hold_standard();
	err = kl_out_guard(STDERR_FILENO);
	out = kl_out_guard(STDOUT_FILENO);
	kl_secret_guard();
	kl_proc_catch_signals();
	if (argc < 2) {
		cmd_help(&(struct kl_cmd_ctx){ .verb = "help" }, 1, argv);
		finish_output(out, 0);
		return 1;
	}
	if (!strcmp(argv[1], KL_OPT_COMPLETION)) {
		for (cmd = kl_cmds; cmd->name; cmd++)
			printf("%s%s", cmd->name, cmd[1].name ? " " : "\n");
		return finish_output(out, 0);
	}
	cmd = find_verb(argv[1]);
	if (!cmd)
		return finish_output(out, kl_cmd_unknown(argv[1]));
	if (argv[1][0] == '-')
		return finish_output(out, cmd->run(&(struct kl_cmd_ctx){ .verb = cmd->name }, 1,
						   argv + 1));
	return finish_output(out, run_verb(cmd, out, argc - 1, argv + 1));
}

/* --- the stack ------------------------------------------------------------- */

#define STACK_BYTES ((size_t)8 << 20)

struct program {
	int argc;
	char **argv;
	int result;
};

static void *program_thread(void *data)
{
	struct program *program = data;

	program->result = run_program(program->argc, program->argv);
	return NULL;
}

/*
 * Run the program in a new thread. Block all signals in this thread, so that the new thread gets
 * them.
 */
static bool run_in_thread(struct program *program)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	bool started;

	if (pthread_attr_init(&attr))
		return false;
	started = !pthread_attr_setstacksize(&attr, STACK_BYTES) &&
		  !pthread_create(&thread, &attr, program_thread, program);
	pthread_attr_destroy(&attr);
	if (!started)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	return !pthread_join(thread, NULL);
}

/* If the stack limit ("ulimit -s") is very low, run in a thread with a stack of STACK_BYTES. */
int main(int argc, char **argv)
{
	struct program program = { .argc = argc, .argv = argv };
	struct rlimit limit;

	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < STACK_BYTES / 8 &&
	    run_in_thread(&program))
		return program.result;
	return run_program(argc, argv);
}
