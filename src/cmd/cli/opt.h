/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CLI_OPT_H
#define KL_CMD_CLI_OPT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * opt - parses a verb's options with getopt_long, and prints their help text, from one table.
 *
 *	bool json = false;
 *	const char *workload = NULL;
 *	const struct kl_opt opts[] = {
 *		KL_OPT_BOOL('\0', "json", &json, "print the gate event"),
 *		KL_OPT_STR('w', "workload", &workload, "<name>", "which contract"),
 *		KL_OPT_END
 *	};
 *	int done = kl_opt_parse(&argc, &argv, "gate [<options>] [<rev>]", opts);
 *	if (done)
 *		return done > 0 ? 0 : done;
 *
 * Options may appear between arguments; "--" ends them. A bool option `x` also accepts `--no-x`.
 */
enum kl_opt_kind {
	KL_OPT_KIND_END,
	KL_OPT_KIND_BOOL,
	KL_OPT_KIND_CHOICE,
	KL_OPT_KIND_STR,
	KL_OPT_KIND_INT,
};

struct kl_opt {
	enum kl_opt_kind kind;
	char letter; /* '\0': none */
	const char *name;
	void *value;      /* bool *, int *, const char **, int64_t * */
	const char *arg;  /* the value in the help text, "<name>"; NULL: the option takes none */
	const char *help; /* what the option does; NULL: not shown in the help text */
};

#define KL_OPT_BOOL(l, n, v, h)                    \
	{                                          \
		KL_OPT_KIND_BOOL, l, n, v, NULL, h \
	}
/** An int that `--x` sets to 1 and `--no-x` sets to -1; unchanged if the option is not given. */
#define KL_OPT_CHOICE(l, n, v, h)                    \
	{                                            \
		KL_OPT_KIND_CHOICE, l, n, v, NULL, h \
	}
#define KL_OPT_STR(l, n, v, a, h)              \
	{                                      \
		KL_OPT_KIND_STR, l, n, v, a, h \
	}
#define KL_OPT_INT(l, n, v, a, h)              \
	{                                      \
		KL_OPT_KIND_INT, l, n, v, a, h \
	}
/** The option with which git's shell completion asks a command for its options. */
#define KL_OPT_COMPLETION "--git-completion-helper"

#define KL_OPT_END                                            \
	{                                                     \
		KL_OPT_KIND_END, '\0', NULL, NULL, NULL, NULL \
	}

/**
 * Parse the options. Returns 0 if the verb should run: argv[0..argc) are the remaining arguments.
 * Returns 1 if `-h` or KL_OPT_COMPLETION was given, after printing the help text or the completions
 * on stdout. KL_EUSAGE: an option is unknown or has a bad value; the message names the option, and
 * the synopsis is a hint. `synopsis` may have several lines.
 */
int kl_opt_parse(int *argc, char ***argv, const char *synopsis, const struct kl_opt *opts);

/** Set an error with the verb's synopsis as a hint; returns KL_EUSAGE. */
int kl_opt_usage(const char *synopsis, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
