/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_MCP_MCP_TOOL_H
#define KL_CMD_MCP_MCP_TOOL_H

#include "base/vec.h"
#include "text/json.h"

/*
 * mcp_tool - the tools offered to agents, as a table: each is a verb of ours with the options that
 * may be set from there. The JSON Schema that a client is shown and the check of what it sends
 * come from the same table, so a value that is let through is one of the pattern that was
 * promised.
 *
 * No value can become an option or a command: each is either `--option=<value>` or stands after
 * "--", and no shell sees it. No tool has a path, except of sources within a contract (deopt_step),
 * which the verb checks.
 */

enum kl_mcp_flags {
	KL_MCP_READS = 1 << 0,    /* changes nothing but caches */
	KL_MCP_FORGETS = 1 << 1,  /* may throw away what an operation has */
	KL_MCP_JSON = 1 << 2,     /* the verb answers in JSON */
	KL_MCP_LONG = 1 << 3,     /* the verb has a progress line */
	KL_MCP_WALK = 1 << 4,     /* goes on with a walk: one that asks nobody else */
	KL_MCP_DOCUMENT = 1 << 5, /* all arguments are the verb's standard input */
};

struct kl_mcp_param;

struct kl_mcp_tool {
	const char *name, *title, *help;
	const char *const *argv;          /* the verb and its fixed options; NULL ends it */
	const struct kl_mcp_param *param; /* a NULL name ends it */
	int flags;                        /* enum kl_mcp_flags */
	/** Options that follow from what is not there; may be NULL. */
	void (*more)(struct kl_strvec *argv, const json_t *args, bool read_only);
};

/** The table, in the order in which it is listed, ended by a NULL name. */
extern const struct kl_mcp_tool kl_mcp_tools[];

/** NULL: there is no such tool, or it is not offered. */
const struct kl_mcp_tool *kl_mcp_tool_find(const char *name, bool read_only);

enum kl_mcp_wants {
	KL_MCP_WANTS_ANNOTATIONS = 1 << 0, /* revisions from 2025-03-26 on */
	KL_MCP_WANTS_OUTPUT = 1 << 1,      /* from 2025-06-18 on: title, outputSchema */
};

/** The "tools" of tools/list; the caller's. */
json_t *kl_mcp_tool_list(int wants, bool read_only);

/**
 * The command line that a call means, without the program, added to `argv`. KL_EINVALID: a sentence
 * for whoever called, which names the argument.
 */
int kl_mcp_tool_argv(struct kl_strvec *argv, const struct kl_mcp_tool *tool, const json_t *args,
		     bool read_only);

#endif
