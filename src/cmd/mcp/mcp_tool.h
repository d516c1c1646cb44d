/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_MCP_MCP_TOOL_H
#define KL_CMD_MCP_MCP_TOOL_H

#include "base/vec.h"
#include "text/json.h"

/*
 * mcp_tool - the table of tools offered to agents. Each tool runs a verb with the options that an
 * agent may set. One table gives the JSON Schema shown to clients and the check of the arguments
 * that they send, so every accepted value matches the pattern shown.
 *
 * No value can become an option or a command: each is passed as `--option=<value>` or after "--",
 * and no shell sees it. No tool takes a path, except paths of sources in a contract (deopt_step),
 * which the verb checks.
 */

enum kl_mcp_flags {
	KL_MCP_READS = 1 << 0,   /* writes nothing but caches */
	KL_MCP_FORGETS = 1 << 1, /* can discard the work of an operation */
	KL_MCP_JSON = 1 << 2,    /* the verb prints JSON */
	KL_MCP_LONG = 1 << 3,    /* the verb takes --progress and --quiet */
	KL_MCP_WALK = 1 << 4, /* the verb continues a walk that has neither a model nor a command */
	KL_MCP_DOCUMENT = 1 << 5, /* the arguments, as JSON, are the verb's standard input */
};

struct kl_mcp_param;

struct kl_mcp_tool {
	const char *name, *title, *help;
	const char *const *argv;          /* the verb and its fixed options; NULL-terminated */
	const struct kl_mcp_param *param; /* the name of the entry after the last is NULL */
	int flags;                        /* enum kl_mcp_flags */
	/** Add options that depend on several arguments or on `read_only`. NULL: there are none. */
	void (*more)(struct kl_strvec *argv, const json_t *args, bool read_only);
};

/** The table, in the order of tools/list; the name in the entry after the last is NULL. */
extern const struct kl_mcp_tool kl_mcp_tools[];

/** Find a tool by its name. NULL: there is no such tool, or `read_only` excludes it. */
const struct kl_mcp_tool *kl_mcp_tool_find(const char *name, bool read_only);

enum kl_mcp_wants {
	KL_MCP_WANTS_ANNOTATIONS = 1 << 0, /* revisions since 2025-03-26 */
	KL_MCP_WANTS_OUTPUT = 1 << 1,      /* revisions since 2025-06-18: title, outputSchema */
};

/** Return the "tools" array of tools/list, which the caller owns. `wants`: enum kl_mcp_wants. */
json_t *kl_mcp_tool_list(int wants, bool read_only);

/**
 * Append the command line of a call to `argv`, without the program name. KL_EINVALID: an argument
 * is invalid; the message names it.
 */
int kl_mcp_tool_argv(struct kl_strvec *argv, const struct kl_mcp_tool *tool, const json_t *args,
		     bool read_only);

#endif
