/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_mcp - git klineage mcp: the server's streams, and waiting for them */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/proc.h"
#include "cmd/cmd.h"
#include "cmd/mcp/mcp_server.h"
#include "cmd/opt.h"

static const char synopsis[] = "mcp [--read-only]";

#define MAX_BACKLOG \
	((size_t)16 << 20) /* of answers that nobody reads: then nothing more is asked */
#define PIECE 4096         /* a pipe that can be written to takes as much without waiting */

struct streams {
	struct kl_mcp_server server;
	struct kl_rpc_lines in;
	size_t sent; /* bytes of server.out that are gone */
	bool gone;   /* the client */
};

static void streams_release(struct streams *s)
{
	kl_mcp_server_release(&s->server);
	kl_rpc_lines_release(&s->in);
}

/* --- in and out ----------------------------------------------------------------------- */

static void take_lines(struct streams *s)
{
	const char *line;
	size_t len;
	int more;

	while ((more = kl_rpc_lines_next(&line, &len, &s->in)) != 0) {
		if (more > 0)
			kl_mcp_server_take(&s->server, line, len);
		else
			kl_mcp_server_refuse(&s->server);
	}
}

static void read_some(struct streams *s)
{
	char part[65536];
	ssize_t n = read(STDIN_FILENO, part, sizeof(part));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0)
		kl_rpc_lines_add(&s->in, part, (size_t)n);
	else
		kl_rpc_lines_end(&s->in);
	take_lines(s);
	s->gone = n <= 0;
}

static size_t bytes_left(const struct streams *s)
{
	return s->server.out.len - s->sent;
}

/* Never waits: a client that does not read must still be heard. */
static void write_some(struct streams *s)
{
	const char *p = s->server.out.ptr + s->sent;
	ssize_t n = send(STDOUT_FILENO, p, bytes_left(s), MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == ENOTSOCK)
		n = write(STDOUT_FILENO, p, bytes_left(s) < PIECE ? bytes_left(s) : PIECE);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		s->gone = true;
	if (n > 0)
		s->sent += (size_t)n;
	if (!bytes_left(s)) {
		kl_buf_clear(&s->server.out);
		s->sent = 0;
	}
}

/* --- waiting -------------------------------------------------------------------------- */

/*
 * How long to wait for what no descriptor tells of: a process that closed its pipes is about to
 * end.
 */
static int poll_timeout(const struct kl_mcp_server *s)
{
	int ms = s->n ? 500 : -1;

	for (size_t i = 0; i < s->n; i++)
		if (s->call[i]->running && s->call[i]->proc.out < 0 && s->call[i]->proc.err < 0)
			return 5;
	return ms;
}

static int wait_for_something(struct streams *s)
{
	struct pollfd p[2 + 2 * KL_MCP_RUNNING] = {
		{ .fd = bytes_left(s) < MAX_BACKLOG ? STDIN_FILENO : -1, .events = POLLIN },
		{ .fd = STDOUT_FILENO, .events = bytes_left(s) ? POLLOUT : 0 },
	};
	nfds_t n = 2;

	for (size_t i = 0; i < s->server.n && n + 2 <= KL_ARRAY_SIZE(p); i++) {
		const struct kl_mcp_call *c = s->server.call[i];

		if (!c->running)
			continue;
		p[n++] = (struct pollfd){ .fd = c->proc.out, .events = POLLIN };
		p[n++] = (struct pollfd){ .fd = c->proc.err, .events = POLLIN };
	}
	if (poll(p, n, poll_timeout(&s->server)) < 0)
		return errno == EINTR ? 0 : kl_error_errno("cannot wait for the client");
	if (p[0].revents)
		read_some(s);
	if (p[1].revents & POLLOUT)
		write_some(s);
	if (p[1].revents & (POLLERR | POLLHUP | POLLNVAL))
		s->gone = true;
	return 0;
}

static int serve_streams(struct streams *s)
{
	int err = 0;

	while (!err && !s->gone && !kl_proc_interrupted()) {
		kl_mcp_server_turn(&s->server);
		err = wait_for_something(s);
	}
	return err;
}

/*
 * What was said before the end is still answered, if somebody takes it at once; what runs is ended.
 */
static void finish_streams(struct streams *s)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	kl_mcp_server_stop(&s->server);
	while (bytes_left(s) && poll(&p, 1, 100) > 0 && p.revents == POLLOUT)
		write_some(s);
	while (s->server.n) {
		kl_mcp_server_turn(&s->server);
		if (s->server.n)
			poll(NULL, 0, 10);
	}
}

int cmd_mcp(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(streams_release) struct streams s = { .server = KL_MCP_SERVER_INIT,
						      .in = KL_RPC_LINES_INIT };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	const struct kl_opt opts[] = { KL_OPT_BOOL('\0', "read-only", &s.server.read_only,
						   "offer no tool that writes to the repository"),
				       KL_OPT_END };
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc)
		return kl_opt_usage(synopsis, "mcp takes no '%s'", argv[0]);
	s.server.repo = ctx->repo;
	sigaction(SIGPIPE, &ignore, NULL);
	err = serve_streams(&s);
	finish_streams(&s);
	return err;
}
