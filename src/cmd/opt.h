/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_OPT_H
#define KL_CMD_OPT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * opt - a verb's options as one table: parsing (getopt_long) and the help
 * text both come from it.
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
 * Options may stand between arguments; "--" ends them. A bool `x` also
 * answers to `--no-x`.
 */
enum kl_opt_kind {
	KL_OPT_KIND_END,
	KL_OPT_KIND_BOOL,
	KL_OPT_KIND_STR,
	KL_OPT_KIND_INT,
};

struct kl_opt {
	enum kl_opt_kind kind;
	char letter; /* '\0': none */
	const char *name;
	void *value;      /* bool *, const char **, int64_t * */
	const char *arg;  /* "<name>" of the argument */
	const char *help; /* NULL: hidden */
};

#define KL_OPT_BOOL(l, n, v, h)                    \
	{                                          \
		KL_OPT_KIND_BOOL, l, n, v, NULL, h \
	}
#define KL_OPT_STR(l, n, v, a, h)              \
	{                                      \
		KL_OPT_KIND_STR, l, n, v, a, h \
	}
#define KL_OPT_INT(l, n, v, a, h)              \
	{                                      \
		KL_OPT_KIND_INT, l, n, v, a, h \
	}
/** What shells ask for what may follow, as of git's own commands; handled by kl_opt_parse. */
#define KL_OPT_COMPLETION "--git-completion-helper"

#define KL_OPT_END                                            \
	{                                                     \
		KL_OPT_KIND_END, '\0', NULL, NULL, NULL, NULL \
	}

/**
 * 0: parsed, argv[0..argc) are the arguments left. 1: `-h` (or KL_OPT_COMPLETION) was asked
 * and printed on stdout. KL_EUSAGE: the message names the option, the synopsis
 * comes as a hint. `synopsis` may hold several lines.
 */
int kl_opt_parse(int *argc, char ***argv, const char *synopsis, const struct kl_opt *opts);

/** KL_EUSAGE with the verb's synopsis as a hint. */
int kl_opt_usage(const char *synopsis, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
