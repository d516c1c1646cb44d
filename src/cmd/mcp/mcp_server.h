/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_MCP_MCP_SERVER_H
#define KL_CMD_MCP_MCP_SERVER_H

#include "cmd/mcp/mcp_call.h"
#include "repo/repo.h"
#include "text/rpc.h"

/*
 * mcp_server - the server side of the Model Context Protocol: handles messages and runs calls of
 * tools. The caller passes in messages as lines; the server appends answers to `out`. The caller
 * reads and writes the streams and waits for them (cmd_mcp.c).
 *
 * Two kinds of client are supported, even on the same connection: one that starts with `initialize`
 * and agrees on a revision for the connection (2024-11-05 to 2025-11-25), and one that sends its
 * revision with every request (2026-07-28).
 *
 *	struct kl_mcp_server s = KL_MCP_SERVER_INIT;
 *	kl_mcp_server_take(&s, line, len)	handle a message; queues calls
 *	kl_mcp_server_turn(&s)			advance calls: progress, answers, start the next
 *	kl_mcp_server_stop(&s)			the client is gone: stop all calls
 *	kl_mcp_server_release(&s)
 */
#define KL_MCP_RUNNING 4  /* calls that can run at once; further calls wait */
#define KL_MCP_WAITING 64 /* calls that can wait; further calls are refused */

struct kl_mcp_server {
	struct kl_repo *repo; /* borrowed */
	bool read_only;       /* offer no tool that writes to the repository */
	struct kl_buf out;    /* lines to send to the client */
	/* private */
	const struct kl_mcp_revision *agreed; /* set by `initialize`; NULL: not yet */
	struct kl_mcp_call **call;            /* owned; in order of arrival */
	size_t n, alloc;
};

#define KL_MCP_SERVER_INIT         \
	{                          \
		.out = KL_BUF_INIT \
	}

void kl_mcp_server_take(struct kl_mcp_server *server, const char *line, size_t len);
/** Answer a message that could not be parsed; kl_error_last() has the error. */
void kl_mcp_server_refuse(struct kl_mcp_server *server);
void kl_mcp_server_turn(struct kl_mcp_server *server);
void kl_mcp_server_stop(struct kl_mcp_server *server);
/** Free the server, and kill the calls that still run. */
void kl_mcp_server_release(struct kl_mcp_server *server);

#endif
