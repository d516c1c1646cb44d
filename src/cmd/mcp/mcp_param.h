/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_MCP_MCP_PARAM_H
#define KL_CMD_MCP_MCP_PARAM_H

#include <stdbool.h>
#include <stdint.h>

/* mcp_param - one parameter of a tool: a row of the tables in mcp_tool.c. Inside src/cmd/mcp only. */

enum kl_mcp_kind {
	KL_MCP_TEXT,
	KL_MCP_WORD,
	KL_MCP_WORDS,
	KL_MCP_BOOL,
	KL_MCP_INT,
	KL_MCP_EDITS,
	KL_MCP_TRAITS
};

struct kl_mcp_param {
	const char *name;
	enum kl_mcp_kind kind;
	const char *option; /* name of the option; NULL: passed after "--" or in the document */
	const char *help;
	/* for KL_MCP_TEXT: a regular expression that means the same in POSIX ERE and in ECMA-262 */
	const char *pattern;
	const char *words; /* for KL_MCP_WORD and KL_MCP_WORDS: the allowed words, "a|b" */
	/* the range of a KL_MCP_INT, or the number of edits; `max` of a KL_MCP_TEXT is in bytes */
	int64_t min, max;
	bool required;
};

#endif
