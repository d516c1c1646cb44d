/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_MCP_MCP_CALL_H
#define KL_CMD_MCP_MCP_CALL_H

#include "base/proc.h"
#include "cmd/mcp/mcp_tool.h"

/*
 * mcp_call - one call of a tool: a verb of this same program, run beside us in the same repository,
 * with the user's permissions and environment. It answers nothing before it has ended, but may say
 * how far it is.
 *
 *	c = kl_mcp_call_new(tool, id, args)
 *	kl_mcp_call_start(c, argv)			when its turn has come
 *	while (!kl_mcp_call_ended(c))
 *		poll c->proc.out and c->proc.err, kl_mcp_call_read(c)
 *		kl_mcp_call_progress(c)			to be sent, or NULL
 *	kl_mcp_call_result(c)
 *	kl_mcp_call_free(c)
 */
#define KL_MCP_GRACE_MS 3000 /* between the wish to stop and the end by force */

struct kl_mcp_batch;

struct kl_mcp_call {
	const struct kl_mcp_tool *tool;
	json_t *id;    /* of the request */
	json_t *token; /* for progress, or NULL */
	struct kl_strvec argv;
	char *input;                /* the verb's standard input, or NULL */
	struct kl_mcp_batch *batch; /* that the answer goes into, or NULL */
	bool modern;                /* the request was of a revision without handshake */
	bool output;                /* structuredContent is understood */
	bool cancelled;             /* nobody wants the answer any more */
	/* private */
	struct kl_proc proc;
	struct kl_proc_result end;
	struct kl_buf out, err;
	bool truncated, running, told_any;
	size_t told; /* bytes of `err` that were looked at for progress */
	int64_t stop_ns, told_ns, count;
	char *doing; /* the last line of progress */
};

struct kl_mcp_call *kl_mcp_call_new(const struct kl_mcp_tool *tool, const json_t *id);
void kl_mcp_call_free(struct kl_mcp_call *call);
KL_DEFINE_CLEANUP(struct kl_mcp_call *, kl_mcp_call_free)

int kl_mcp_call_start(struct kl_mcp_call *call);
/** Take what lies in its pipes, without waiting. */
void kl_mcp_call_read(struct kl_mcp_call *call);
/** true once, when it has ended; ends by force what was to stop and did not. */
bool kl_mcp_call_ended(struct kl_mcp_call *call);
void kl_mcp_call_stop(struct kl_mcp_call *call);
/**
 * Parameters of notifications/progress, or NULL: none is wanted, or nothing is to be said. The
 * caller's.
 */
json_t *kl_mcp_call_progress(struct kl_mcp_call *call);
/** The result of tools/call; the caller's. */
json_t *kl_mcp_call_result(const struct kl_mcp_call *call);
/** One that says what is wrong with a call that was not made. */
json_t *kl_mcp_call_refused(const char *why);

#endif
