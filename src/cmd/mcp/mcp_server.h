/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_MCP_MCP_SERVER_H
#define KL_CMD_MCP_MCP_SERVER_H

#include "cmd/mcp/mcp_call.h"
#include "repo/repo.h"
#include "text/rpc.h"

/*
 * mcp_server - the Model Context Protocol, server's side: which message is answered how. Messages
 * come in as lines and go out into `out`; who reads and writes the streams, and waits, is the
 * caller (cmd_mcp.c).
 *
 * Two kinds of client are served, both at once if need be: one that begins with `initialize` and
 * agrees on a revision for the connection (2024-11-05 to 2025-11-25), and one that says its
 * revision with every request (2026-07-28).
 *
 *	struct kl_mcp_server s = KL_MCP_SERVER_INIT;
 *	kl_mcp_server_take(&s, line, len)	a message; calls begin
 *	kl_mcp_server_turn(&s)			what runs is looked at: progress, answers, who is next
 *	kl_mcp_server_stop(&s)			nobody listens any more: what runs is to end
 *	kl_mcp_server_release(&s)
 */
#define KL_MCP_RUNNING 4  /* calls at once; more wait for their turn */
#define KL_MCP_WAITING 64 /* and more are refused */

struct kl_mcp_server {
	struct kl_repo *repo; /* borrowed */
	bool read_only;
	struct kl_buf out; /* lines to be written */
	/* private */
	const struct kl_mcp_revision *agreed; /* by `initialize`; NULL: not yet */
	struct kl_mcp_call **call;            /* in the order in which they came */
	size_t n, alloc;
};

#define KL_MCP_SERVER_INIT         \
	{                          \
		.out = KL_BUF_INIT \
	}

void kl_mcp_server_take(struct kl_mcp_server *server, const char *line, size_t len);
/** A line that was too long to keep: the error is kl_error_last(). */
void kl_mcp_server_refuse(struct kl_mcp_server *server);
void kl_mcp_server_turn(struct kl_mcp_server *server);
void kl_mcp_server_stop(struct kl_mcp_server *server);
/** Kills what still runs. */
void kl_mcp_server_release(struct kl_mcp_server *server);

#endif
