/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_MCP_MCP_CALL_H
#define KL_CMD_MCP_MCP_CALL_H

#include "base/proc.h"
#include "cmd/mcp/mcp_tool.h"

/*
 * mcp_call - one call of a tool: runs a verb of this program as a child process in the same
 * repository, with the user's permissions and environment. The result is available only after it
 * has ended; progress can be reported before.
 *
 *	c = kl_mcp_call_new(tool, id)
 *	kl_mcp_call_start(c)				when a slot is free
 *	while (!kl_mcp_call_ended(c))
 *		poll c->proc.out and c->proc.err, kl_mcp_call_read(c)
 *		kl_mcp_call_progress(c)			a notification to send, or NULL
 *	kl_mcp_call_result(c)
 *	kl_mcp_call_free(c)
 */
#define KL_MCP_GRACE_MS 3000 /* between SIGTERM and SIGKILL */

struct kl_mcp_batch;

struct kl_mcp_call {
	const struct kl_mcp_tool *tool;
	json_t *id;    /* id of the request */
	json_t *token; /* progress token, or NULL */
	struct kl_strvec argv;
	char *input;                /* the verb's standard input, or NULL */
	struct kl_mcp_batch *batch; /* the batch that the answer goes into, or NULL */
	bool modern;                /* the request uses a revision without handshake */
	bool output;                /* the client understands structuredContent */
	bool cancelled;             /* the answer is to be dropped */
	/* private */
	struct kl_proc proc;
	struct kl_proc_result end;
	struct kl_buf out, err;
	bool truncated, running, told_any;
	size_t told; /* bytes of `err` already scanned for progress */
	int64_t stop_ns, told_ns, count;
	char *doing; /* owned; the last progress line */
};

struct kl_mcp_call *kl_mcp_call_new(const struct kl_mcp_tool *tool, const json_t *id);
void kl_mcp_call_free(struct kl_mcp_call *call);
KL_DEFINE_CLEANUP(struct kl_mcp_call *, kl_mcp_call_free)

int kl_mcp_call_start(struct kl_mcp_call *call);
/** Read the available output of the process, without blocking. */
void kl_mcp_call_read(struct kl_mcp_call *call);
/**
 * Returns true once, when the process has ended. Kills a stopped process after the grace period.
 */
bool kl_mcp_call_ended(struct kl_mcp_call *call);
void kl_mcp_call_stop(struct kl_mcp_call *call);
/**
 * The parameters of notifications/progress, owned by the caller. NULL: no progress is wanted, or
 * there is nothing new.
 */
json_t *kl_mcp_call_progress(struct kl_mcp_call *call);
/** The result of tools/call; owned by the caller. */
json_t *kl_mcp_call_result(const struct kl_mcp_call *call);
/** The error result of a call that was not started; owned by the caller. */
json_t *kl_mcp_call_refused(const char *why);

#endif
