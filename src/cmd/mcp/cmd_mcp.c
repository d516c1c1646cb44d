/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_mcp - git klineage mcp: connects an MCP server (mcp_server.h) to stdin and stdout */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/proc.h"
#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "cmd/mcp/mcp_server.h"

static const char synopsis[] = "mcp [--read-only]";

#define MAX_BACKLOG \
	((size_t)16 << 20) /* read no requests while more bytes of answers than this are unsent */
#define PIECE 4096         /* a writable pipe takes this many bytes without blocking */

struct streams {
	struct kl_mcp_server server;
	struct kl_rpc_lines in;
	size_t sent; /* bytes of server.out already written */
	bool gone;   /* the client has closed a stream */
};

static void streams_release(struct streams *streams)
{
	kl_mcp_server_release(&streams->server);
	kl_rpc_lines_release(&streams->in);
}

/* --- in and out ----------------------------------------------------------------------- */

static void take_lines(struct streams *streams)
{
	const char *line;
	size_t len;
	int more;

	while ((more = kl_rpc_lines_next(&line, &len, &streams->in)) != 0) {
		if (more > 0)
			kl_mcp_server_take(&streams->server, line, len);
		else
			kl_mcp_server_refuse(&streams->server);
	}
}

static void read_some(struct streams *streams)
{
	char part[65536];
	ssize_t n = read(STDIN_FILENO, part, sizeof(part));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0)
		kl_rpc_lines_add(&streams->in, part, (size_t)n);
	else
		kl_rpc_lines_end(&streams->in);
	take_lines(streams);
	streams->gone = n <= 0;
}

static size_t bytes_left(const struct streams *streams)
{
	return streams->server.out.len - streams->sent;
}

/*
 * Write without blocking, so that the server still reads requests of a client that is slow to read
 * answers.
 */
static void write_some(struct streams *streams)
{
	const char *start = streams->server.out.ptr + streams->sent;
	ssize_t n = send(STDOUT_FILENO, start, bytes_left(streams), MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == ENOTSOCK)
		n = write(STDOUT_FILENO, start,
			  bytes_left(streams) < PIECE ? bytes_left(streams) : PIECE);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		streams->gone = true;
	if (n > 0)
		streams->sent += (size_t)n;
	if (!bytes_left(streams)) {
		kl_buf_clear(&streams->server.out);
		streams->sent = 0;
	}
}

/* --- waiting -------------------------------------------------------------------------- */

/*
 * Return the timeout of poll() in ms; -1: wait without limit. The timeout is short while a process
 * runs that has closed its pipes, because then no descriptor signals the end of the process.
 */
static int poll_timeout(const struct kl_mcp_server *server)
{
	int ms = server->n ? 500 : -1;

	for (size_t i = 0; i < server->n; i++)
		if (server->call[i]->running && server->call[i]->proc.out < 0 &&
		    server->call[i]->proc.err < 0)
			return 5;
	return ms;
}

static int wait_for_something(struct streams *streams)
{
	struct pollfd pollfds[2 + 2 * KL_MCP_RUNNING] = {
		{ .fd = bytes_left(streams) < MAX_BACKLOG ? STDIN_FILENO : -1, .events = POLLIN },
		{ .fd = STDOUT_FILENO, .events = bytes_left(streams) ? POLLOUT : 0 },
	};
	nfds_t nfds = 2;

	for (size_t i = 0; i < streams->server.n && nfds + 2 <= KL_ARRAY_SIZE(pollfds); i++) {
		const struct kl_mcp_call *call = streams->server.call[i];

		if (!call->running)
			continue;
		pollfds[nfds++] = (struct pollfd){ .fd = call->proc.out, .events = POLLIN };
		pollfds[nfds++] = (struct pollfd){ .fd = call->proc.err, .events = POLLIN };
	}
	if (poll(pollfds, nfds, poll_timeout(&streams->server)) < 0)
		return errno == EINTR ? 0 : kl_error_errno("cannot wait for the client");
	if (pollfds[0].revents)
		read_some(streams);
	if (pollfds[1].revents & POLLOUT)
		write_some(streams);
	if (pollfds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
		streams->gone = true;
	return 0;
}

static int serve_streams(struct streams *streams)
{
	int err = 0;

	while (!err && !streams->gone && !kl_proc_interrupted()) {
		kl_mcp_server_turn(&streams->server);
		err = wait_for_something(streams);
	}
	return err;
}

/*
 * Stop all calls, write the remaining answers if the client reads them promptly, and wait until the
 * processes of the calls have ended.
 */
static void finish_streams(struct streams *streams)
{
	struct pollfd pollfd = { .fd = STDOUT_FILENO, .events = POLLOUT };

	kl_mcp_server_stop(&streams->server);
	while (bytes_left(streams) && poll(&pollfd, 1, 100) > 0 && pollfd.revents == POLLOUT)
		write_some(streams);
	while (streams->server.n) {
		kl_mcp_server_turn(&streams->server);
		if (streams->server.n)
			poll(NULL, 0, 10);
	}
}

int cmd_mcp(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(streams_release) struct streams streams = { .server = KL_MCP_SERVER_INIT,
							    .in = KL_RPC_LINES_INIT };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	const struct kl_opt opts[] = { KL_OPT_BOOL('\0', "read-only", &streams.server.read_only,
						   "offer no tool that writes to the repository"),
				       KL_OPT_END };
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc)
		return kl_opt_usage(synopsis, "mcp does not take an argument '%s'", argv[0]);
	streams.server.repo = ctx->repo;
	sigaction(SIGPIPE, &ignore, NULL);
	err = serve_streams(&streams);
	finish_streams(&streams);
	return err;
}
