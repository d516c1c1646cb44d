/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/mcp/mcp_call.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/prefix.h"

#define MAX_OUT ((size_t)2 << 20) /* bytes of stdout to keep, since an agent cannot read more */
#define MAX_ERR ((size_t)64 << 10)
#define BEAT_NS 2000000000LL /* longest time between two progress reports */

struct kl_mcp_call *kl_mcp_call_new(const struct kl_mcp_tool *tool, const json_t *id)
{
	struct kl_mcp_call *call = kl_calloc(1, sizeof(*call));

	call->tool = tool;
	call->id = json_deep_copy(id);
	call->proc = (struct kl_proc)KL_PROC_INIT;
	call->out = call->err = (struct kl_buf)KL_BUF_INIT;
	return call;
}

void kl_mcp_call_free(struct kl_mcp_call *call)
{
	kl_proc_release(&call->proc);
	kl_strvec_release(&call->argv);
	kl_buf_release(&call->out);
	kl_buf_release(&call->err);
	json_decref(call->id);
	json_decref(call->token);
	free(call->input);
	free(call->doing);
	free(call);
}

/* --- the process ------------------------------------------------------------------ */

int kl_mcp_call_start(struct kl_mcp_call *call)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	/* pass the whole environment, because verbs need the API keys in it */
	struct kl_proc_opts opts = { .out = &call->out,
				     .err = &call->err,
				     .in = call->input,
				     .env = (const char *const *)environ,
				     .flags = KL_PROC_ASK };
	int err;

	/* run the program of this process, even if its file was replaced */
	kl_strvec_push(&argv, "/proc/self/exe");
	kl_strvec_push(&argv, call->argv.v[0]);
	kl_strvec_push(&argv, "--no-color");
	if (call->tool->flags & KL_MCP_LONG)
		kl_strvec_push(&argv, call->token ? "--progress" : "--quiet");
	for (size_t i = 1; i < call->argv.n; i++)
		kl_strvec_push(&argv, call->argv.v[i]);
	opts.argv = (const char *const *)argv.v;
	opts.in_len = call->input ? strlen(call->input) : 0;
	err = kl_proc_start(&call->proc, &opts);
	call->running = !err;
	call->told_ns = kl_clock_ns();
	return err;
}

/*
 * Read once from a pipe and append to `to`, which gets at most `max` bytes in total. Return false
 * if nothing is left to read now.
 */
static bool drain_pipe(struct kl_mcp_call *call, int *fd, struct kl_buf *to, size_t max)
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
		call->truncated |= to == &call->out;
	}
	kl_buf_add(to, part, (size_t)n);
	return true;
}

void kl_mcp_call_read(struct kl_mcp_call *call)
{
	while (call->proc.out >= 0 && drain_pipe(call, &call->proc.out, &call->out, MAX_OUT))
		;
	while (call->proc.err >= 0 && drain_pipe(call, &call->proc.err, &call->err, MAX_ERR))
		;
}

void kl_mcp_call_stop(struct kl_mcp_call *call)
{
	if (!call->stop_ns)
		call->stop_ns = kl_clock_ns();
	kl_proc_stop(&call->proc, SIGTERM);
}

bool kl_mcp_call_ended(struct kl_mcp_call *call)
{
	if (!call->running)
		return false;
	if (call->stop_ns && kl_clock_ns() - call->stop_ns > KL_MCP_GRACE_MS * 1000000LL)
		kl_proc_stop(&call->proc, SIGKILL);
	if (!kl_proc_ended(&call->end, &call->proc))
		return false;
	call->running = false;
	kl_mcp_call_read(call);
	return true;
}

/* --- progress ------------------------------------------------------------------ */

/* Return true if a line of stderr is a message, not a progress line. */
static bool is_message(const char *line)
{
	static const char *const head[] = {
		"git-klineage: ", "hint: ", "warning: ", "note: ", "usage: ", "   or: ",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(head); i++)
		if (kl_prefix_has(line, head[i]))
			return true;
	return false;
}

/* Store the last complete progress line in `doing`. Return false if there is no new line. */
static bool update_progress(struct kl_mcp_call *call)
{
	bool found = false;
	const char *nl;

	while ((nl = memchr(call->err.ptr + call->told, '\n', call->err.len - call->told))) {
		const char *line = call->err.ptr + call->told;

		call->told = (size_t)(nl + 1 - call->err.ptr);
		if (nl == line || is_message(line))
			continue;
		free(call->doing);
		call->doing = kl_strndup(line, (size_t)(nl - line));
		found = true;
	}
	return found;
}

json_t *kl_mcp_call_progress(struct kl_mcp_call *call)
{
	int64_t now = kl_clock_ns();
	json_t *value;

	if (!call->token || call->cancelled || !call->running)
		return NULL;
	if (!update_progress(call) && now - call->told_ns < BEAT_NS)
		return NULL;
	call->told_ns = now;
	value = json_object();
	kl_json_set(value, "progressToken", json_incref(call->token));
	kl_json_set_int(value, "progress", ++call->count);
	kl_json_set_str(value, "message", call->doing ? call->doing : call->tool->title);
	return value;
}

/* --- the result ---------------------------------------------------------------------- */

/* List the lines of stderr: all of them, or only the messages. */
static json_t *call_messages(const struct kl_mcp_call *call, bool all)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;
	json_t *value = json_array();

	kl_strvec_split(&lines, call->err.ptr, "\r\n");
	for (size_t i = 0; i < lines.n; i++) {
		const char *line = lines.v[i];
		json_t *holder = json_object();

		if (!strncmp(line, "git-klineage: ", 14))
			line += 14;
		if (all || is_message(lines.v[i])) {
			kl_json_set_str(holder, "line", line);
			json_array_append(value, json_object_get(holder, "line"));
		}
		json_decref(holder);
	}
	return value;
}

static void add_text(json_t *content, const char *text)
{
	json_t *value = json_object();

	kl_json_set_str(value, "type", "text");
	kl_json_set_str(value, "text", text);
	json_array_append_new(content, value);
}

static json_t *result_of(json_t *content, bool is_error)
{
	json_t *value = json_object();

	kl_json_set(value, "content", content);
	kl_json_set_bool(value, "isError", is_error);
	return value;
}

json_t *kl_mcp_call_refused(const char *why)
{
	json_t *content = json_array();

	add_text(content, why);
	return result_of(content, true);
}

static json_t *failed_result(const struct kl_mcp_call *call)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *lines = call_messages(call, true);
	size_t i;
	json_t *line;

	json_array_foreach(lines, i, line)
		kl_buf_addf(&buf, "%s%s", buf.len ? "\n" : "", json_string_value(line));
	if (call->truncated)
		kl_buf_addf(&buf, "%s%s printed more than %zu bytes; narrow the request",
			    buf.len ? "\n" : "", call->tool->name, MAX_OUT);
	else if (call->end.signal)
		kl_buf_addf(&buf, "%s%s was killed by signal %d", buf.len ? "\n" : "",
			    call->tool->name, call->end.signal);
	else if (call->end.exit == 125)
		kl_buf_adds(&buf, "\nexit 125: cannot be judged here; this is not a verdict on the "
				  "kernel");
	if (!buf.len)
		kl_buf_addf(&buf, "exit %d", call->end.exit);
	return kl_mcp_call_refused(buf.ptr);
}

/* Return the result of a call whose tool prints text: stdout, then the messages of stderr. */
static json_t *text_result(const struct kl_mcp_call *call)
{
	KL_AUTO(json_decrefp) json_t *messages = call_messages(call, false);
	json_t *content = json_array(), *line;
	size_t i;

	add_text(content, call->out.ptr);
	json_array_foreach(messages, i, line)
		add_text(content, json_string_value(line));
	return result_of(content, false);
}

json_t *kl_mcp_call_result(const struct kl_mcp_call *call)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	json_t *value = NULL, *whole, *content, *result;

	if (call->end.exit < 0 || call->end.exit > 1 || call->truncated)
		return failed_result(call);
	if (!(call->tool->flags & KL_MCP_JSON))
		return text_result(call);
	if (call->out.len && kl_json_parse(&value, call->out.ptr, call->out.len) < 0) {
		result = kl_mcp_call_refused(kl_error_last());
		kl_error_clear();
		return result;
	}
	whole = json_object();
	kl_json_set_int(whole, "exit", call->end.exit);
	if (value)
		kl_json_set(whole, "result", value);
	kl_json_set(whole, "messages", call_messages(call, false));
	content = json_array();
	kl_json_canonical(&text, whole);
	add_text(content, text.ptr);
	result = result_of(content, false);
	if (call->output)
		kl_json_set(result, "structuredContent", json_incref(whole));
	json_decref(whole);
	return result;
}
