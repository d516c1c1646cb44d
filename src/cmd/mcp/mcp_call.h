/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_MCP_MCP_CALL_H
#define KL_CMD_MCP_MCP_CALL_H

#include "base/proc.h"
#include "cmd/mcp/mcp_tool.h"

/*
 * mcp_call - one call of a tool: runs a verb of this program as a child process in the same
 * repository, with the user's permissions and environment. Progress can be reported while the
 * process runs; the result is available when the process has ended.
 *
 *	c = kl_mcp_call_new(tool, id)
 *	kl_mcp_call_start(c)				when a slot is free
 *	while (!kl_mcp_call_ended(c))
 *		poll c->proc.out and c->proc.err, kl_mcp_call_read(c)
 *		kl_mcp_call_progress(c)			a notification to send, or NULL
 *	kl_mcp_call_result(c)
 *	kl_mcp_call_free(c)
 */
#define KL_MCP_GRACE_MS 3000 /* time between SIGTERM and SIGKILL */

struct kl_mcp_batch;

struct kl_mcp_call {
	const struct kl_mcp_tool *tool;
	json_t *id;    /* id of the request */
	json_t *token; /* progress token; NULL: the client wants no progress */
	struct kl_strvec argv;
	char *input;                /* the verb's standard input; owned; NULL: empty */
	struct kl_mcp_batch *batch; /* collects the answer; NULL: send the answer alone */
	bool modern;                /* the request uses a protocol revision without handshake */
	bool output;                /* the client understands structuredContent */
	bool cancelled;             /* send no answer */
	/* private */
	struct kl_proc proc;
	struct kl_proc_result end;
	struct kl_buf out, err;
	bool truncated, running, told_any;
	size_t told; /* bytes of `err` already searched for progress lines */
	int64_t stop_ns, told_ns, count;
	char *doing; /* the last progress line; owned */
};

struct kl_mcp_call *kl_mcp_call_new(const struct kl_mcp_tool *tool, const json_t *id);
void kl_mcp_call_free(struct kl_mcp_call *call);
KL_DEFINE_CLEANUP(struct kl_mcp_call *, kl_mcp_call_free)

int kl_mcp_call_start(struct kl_mcp_call *call);
/** Read the available output of the process, without blocking. */
void kl_mcp_call_read(struct kl_mcp_call *call);
/**
 * Return true if the process has ended; only the first call after the end returns true. If
 * kl_mcp_call_stop() was called, kill the process after KL_MCP_GRACE_MS.
 */
bool kl_mcp_call_ended(struct kl_mcp_call *call);
void kl_mcp_call_stop(struct kl_mcp_call *call);
/**
 * Return the parameters of a notifications/progress message, which the caller owns. NULL: the
 * client wants no progress, or there is no progress to report now.
 */
json_t *kl_mcp_call_progress(struct kl_mcp_call *call);
/** Return the result of tools/call, which the caller owns. */
json_t *kl_mcp_call_result(const struct kl_mcp_call *call);
/** Return a result that reports the error `why`; the caller owns it. */
json_t *kl_mcp_call_refused(const char *why);

#endif
