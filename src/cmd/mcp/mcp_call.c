/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/mcp/mcp_call.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define MAX_OUT ((size_t)2 << 20) /* more than an agent can read */
#define MAX_ERR ((size_t)64 << 10)
#define BEAT_NS 2000000000LL /* a sign of life */

struct kl_mcp_call *kl_mcp_call_new(const struct kl_mcp_tool *tool, const json_t *id)
{
	struct kl_mcp_call *c = kl_calloc(1, sizeof(*c));

	c->tool = tool;
	c->id = json_deep_copy(id);
	c->proc = (struct kl_proc)KL_PROC_INIT;
	c->out = c->err = (struct kl_buf)KL_BUF_INIT;
	return c;
}

void kl_mcp_call_free(struct kl_mcp_call *c)
{
	kl_proc_release(&c->proc);
	kl_strvec_release(&c->argv);
	kl_buf_release(&c->out);
	kl_buf_release(&c->err);
	json_decref(c->id);
	json_decref(c->token);
	free(c->input);
	free(c->doing);
	free(c);
}

/* --- the process ------------------------------------------------------------------ */

int kl_mcp_call_start(struct kl_mcp_call *c)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	struct kl_proc_opts o = {
		.out = &c->out, .err = &c->err, .in = c->input, .flags = KL_PROC_ASK
	};
	int err;

	/* this very program, whatever lies at its place by now */
	kl_strvec_push(&argv, "/proc/self/exe");
	kl_strvec_push(&argv, c->argv.v[0]);
	kl_strvec_push(&argv, "--no-color");
	if (c->tool->flags & KL_MCP_LONG)
		kl_strvec_push(&argv, c->token ? "--progress" : "--quiet");
	for (size_t i = 1; i < c->argv.n; i++)
		kl_strvec_push(&argv, c->argv.v[i]);
	o.argv = (const char *const *)argv.v;
	o.in_len = c->input ? strlen(c->input) : 0;
	err = kl_proc_start(&c->proc, &o);
	c->running = !err;
	c->told_ns = kl_clock_ns();
	return err;
}

/* false: nothing more is there now */
static bool drain_pipe(struct kl_mcp_call *c, int *fd, struct kl_buf *to, size_t max)
{
	char part[65536];
	ssize_t n = read(*fd, part, sizeof(part));

	if (n < 0)
		return errno == EINTR;
	if (n == 0) {
		kl_closep(fd);
		return false;
	}
	if (to->len + (size_t)n > max) {
		n = (ssize_t)(max - to->len);
		c->truncated |= to == &c->out;
	}
	kl_buf_add(to, part, (size_t)n);
	return true;
}

void kl_mcp_call_read(struct kl_mcp_call *c)
{
	while (c->proc.out >= 0 && drain_pipe(c, &c->proc.out, &c->out, MAX_OUT))
		;
	while (c->proc.err >= 0 && drain_pipe(c, &c->proc.err, &c->err, MAX_ERR))
		;
}

void kl_mcp_call_stop(struct kl_mcp_call *c)
{
	if (!c->stop_ns)
		c->stop_ns = kl_clock_ns();
	kl_proc_stop(&c->proc, SIGTERM);
}

bool kl_mcp_call_ended(struct kl_mcp_call *c)
{
	if (!c->running)
		return false;
	if (c->stop_ns && kl_clock_ns() - c->stop_ns > KL_MCP_GRACE_MS * 1000000LL)
		kl_proc_stop(&c->proc, SIGKILL);
	if (!kl_proc_ended(&c->end, &c->proc))
		return false;
	c->running = false;
	kl_mcp_call_read(c);
	return true;
}

/* --- how far it is ------------------------------------------------------------------ */

/* what a person is to read, however far the work is */
static bool is_message(const char *line)
{
	static const char *const head[] = {
		"git-klineage: ", "hint: ", "warning: ", "note: ", "usage: ", "   or: ",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(head); i++)
		if (!strncmp(line, head[i], strlen(head[i])))
			return true;
	return false;
}

/* The last whole line of progress since the last time; false: none. */
static bool look_again(struct kl_mcp_call *c)
{
	bool found = false;
	const char *nl;

	while ((nl = memchr(c->err.ptr + c->told, '\n', c->err.len - c->told))) {
		const char *line = c->err.ptr + c->told;

		c->told = (size_t)(nl + 1 - c->err.ptr);
		if (nl == line || is_message(line))
			continue;
		free(c->doing);
		c->doing = kl_strndup(line, (size_t)(nl - line));
		found = true;
	}
	return found;
}

json_t *kl_mcp_call_progress(struct kl_mcp_call *c)
{
	int64_t now = kl_clock_ns();
	json_t *j;

	if (!c->token || c->cancelled || !c->running)
		return NULL;
	if (!look_again(c) && now - c->told_ns < BEAT_NS)
		return NULL;
	c->told_ns = now;
	j = json_object();
	kl_json_set(j, "progressToken", json_incref(c->token));
	kl_json_set_int(j, "progress", ++c->count);
	kl_json_set_str(j, "message", c->doing ? c->doing : c->tool->title);
	return j;
}

/* --- what came of it ------------------------------------------------------------------ */

/* lines of stderr: all of them, or what a person is to read */
static json_t *call_messages(const struct kl_mcp_call *c, bool all)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;
	json_t *j = json_array();

	kl_strvec_split(&lines, c->err.ptr, "\r\n");
	for (size_t i = 0; i < lines.n; i++) {
		const char *line = lines.v[i];
		json_t *holder = json_object();

		if (!strncmp(line, "git-klineage: ", 14))
			line += 14;
		if (all || is_message(lines.v[i])) {
			kl_json_set_str(holder, "line", line);
			json_array_append(j, json_object_get(holder, "line"));
		}
		json_decref(holder);
	}
	return j;
}

static void add_text(json_t *content, const char *text)
{
	json_t *j = json_object();

	kl_json_set_str(j, "type", "text");
	kl_json_set_str(j, "text", text);
	json_array_append_new(content, j);
}

static json_t *result_of(json_t *content, bool is_error)
{
	json_t *j = json_object();

	kl_json_set(j, "content", content);
	kl_json_set_bool(j, "isError", is_error);
	return j;
}

json_t *kl_mcp_call_refused(const char *why)
{
	json_t *content = json_array();

	add_text(content, why);
	return result_of(content, true);
}

static json_t *failed_result(const struct kl_mcp_call *c)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *lines = call_messages(c, true);
	size_t i;
	json_t *line;

	json_array_foreach(lines, i, line)
		kl_buf_addf(&b, "%s%s", b.len ? "\n" : "", json_string_value(line));
	if (c->truncated)
		kl_buf_addf(&b, "%s%s has more to say than %zu bytes: ask for less",
			    b.len ? "\n" : "", c->tool->name, MAX_OUT);
	else if (c->end.signal)
		kl_buf_addf(&b, "%s%s was ended by signal %d", b.len ? "\n" : "", c->tool->name,
			    c->end.signal);
	else if (c->end.exit == 125)
		kl_buf_adds(
			&b,
			"\nexit 125: it cannot be tested here, which says nothing of the kernel");
	if (!b.len)
		kl_buf_addf(&b, "exit %d", c->end.exit);
	return kl_mcp_call_refused(b.ptr);
}

/* an answer in words: what was printed, then what was said */
static json_t *call_words(const struct kl_mcp_call *c)
{
	KL_AUTO(json_decrefp) json_t *said = call_messages(c, false);
	json_t *content = json_array(), *line;
	size_t i;

	add_text(content, c->out.ptr);
	json_array_foreach(said, i, line)
		add_text(content, json_string_value(line));
	return result_of(content, false);
}

json_t *kl_mcp_call_result(const struct kl_mcp_call *c)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	json_t *j = NULL, *whole, *content, *result;

	if (c->end.exit < 0 || c->end.exit > 1 || c->truncated)
		return failed_result(c);
	if (!(c->tool->flags & KL_MCP_JSON))
		return call_words(c);
	if (c->out.len && kl_json_parse(&j, c->out.ptr, c->out.len) < 0) {
		result = kl_mcp_call_refused(kl_error_last());
		kl_error_clear();
		return result;
	}
	whole = json_object();
	kl_json_set_int(whole, "exit", c->end.exit);
	if (j)
		kl_json_set(whole, "result", j);
	kl_json_set(whole, "messages", call_messages(c, false));
	content = json_array();
	kl_json_canonical(&text, whole);
	add_text(content, text.ptr);
	result = result_of(content, false);
	if (c->output)
		kl_json_set(result, "structuredContent", json_incref(whole));
	json_decref(whole);
	return result;
}
