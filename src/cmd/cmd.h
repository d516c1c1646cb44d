/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CMD_H
#define KL_CMD_CMD_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/progress.h"
#include "cmd/cli/term.h"
#include "repo/repo.h"

/*
 * cmd - the verbs of `git klineage`.
 *
 * To add a verb:
 *  1. Write cmd_<verb>.c with `int cmd_<verb>(struct kl_cmd_ctx *, int, char **)`:
 *     a synopsis, a local option table (opt.h), checks, one call into the
 *     engine, printing. It returns an exit code, or a negative kl_err that
 *     main() prints and turns into an exit code.
 *  2. Declare it below and add its row to the table in main.c.
 *  3. Write docs/man/git-klineage-<verb>.adoc; a test compares it with `-h`.
 *  4. Write tests/t/NNNN-<verb>.sh.
 *
 * Results go to stdout, messages to stderr. Both streams replace control characters (out.h): print
 * data for people with printf(), and bytes for programs with kl_out_exact().
 */
struct kl_out;

struct kl_cmd_ctx {
	const char *verb;
	struct kl_term term;
	struct kl_out *out; /* stdout (out.h) */
	/* open if the verb's row in the table has KL_NEEDS_REPO; otherwise NULL */
	struct kl_repo *repo;
};

enum kl_cmd_needs {
	KL_NEEDS_REPO = 1 << 0,
	KL_NEEDS_IDENTITY = 1 << 1, /* the verb writes commits or notes */
	KL_NEEDS_HISTORY = 1 << 2,  /* the verb refuses shallow and partial clones */
	KL_PAGES = 1 << 3,          /* the output goes through a pager */
	KL_SCROLLS = 1 << 4,        /* as KL_PAGES; the pager does not fold long lines */
};

struct kl_cmd {
	const char *name;
	int (*run)(struct kl_cmd_ctx *ctx, int argc, char **argv);
	int needs; /* enum kl_cmd_needs */
	const char *summary;
};

/** The table of verbs; the name in the row after the last is NULL. */
extern const struct kl_cmd kl_cmds[];
/** Set the error that there is no such verb, with the verb that is meant; returns KL_EUSAGE. */
int kl_cmd_unknown(const char *name);

int cmd_admit(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_adopt(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_chat(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_blame(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_compare(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_deopt(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_doctor(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_export(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_fsck(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_gate(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_hooks(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_help(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_import(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_init(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_label(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_lift(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_log(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_materialize(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_measure(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_memory(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_mcp(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_probe(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_prune(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_search(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_table(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_review(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_retrieve(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_report(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_show(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_status(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_skills(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_step(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_study(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_sync(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_transplant(struct kl_cmd_ctx *ctx, int argc, char **argv);
int cmd_version(struct kl_cmd_ctx *ctx, int argc, char **argv);

#endif
