/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/mcp/mcp_server.h"

#include <string.h>

#include "base/error.h"
#include "walk/opstate.h"

#define MODERN "2026-07-28"
#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_SERVER "io.modelcontextprotocol/serverInfo"
#define UNSUPPORTED_VERSION (-32022)
#define MAX_BATCH 64

struct kl_mcp_revision {
	const char *name;
	int wants;    /* enum kl_mcp_wants */
	bool batches; /* several messages in an array */
};

/* those with a handshake, newest first */
static const struct kl_mcp_revision revisions[] = {
	{ "2025-11-25", KL_MCP_WANTS_ANNOTATIONS | KL_MCP_WANTS_OUTPUT, false },
	{ "2025-06-18", KL_MCP_WANTS_ANNOTATIONS | KL_MCP_WANTS_OUTPUT, false },
	{ "2025-03-26", KL_MCP_WANTS_ANNOTATIONS, true },
	{ "2024-11-05", 0, false },
};

static const char instructions[] =
	"git-klineage learns from expert kernels when an optimization is sound. `gate` judges the "
	"kernel in the "
	"worktree after an edit: a verdict of pass is a condition of being done, and a failure says "
	"the first wrong "
	"element. `retrieve` says which known optimizations fit a kernel, `card` how one is done. "
	"`deopt_start`, "
	"`deopt_step` and `deopt_end` walk an expert kernel backward, one judged simplification at a "
	"time.";

/* Answers of one array of messages, which go out together. */
struct kl_mcp_batch {
	json_t *answers;
	/* calls that have not ended, and the array itself while it is read */
	size_t open;
};

/* One message, and where its answer goes. */
struct request {
	struct kl_rpc_message m;
	struct kl_mcp_batch *batch;
	bool modern;
	int wants;
};

/* --- answers ---------------------------------------------------------------------- */

/* takes the message */
static void send_message(struct kl_mcp_server *s, struct kl_mcp_batch *b, json_t *message)
{
	if (b) {
		json_array_append_new(b->answers, message);
		return;
	}
	kl_rpc_write(&s->out, message);
	json_decref(message);
}

static void close_batch(struct kl_mcp_server *s, struct kl_mcp_batch *b)
{
	if (!b || --b->open)
		return;
	if (json_array_size(b->answers))
		kl_rpc_write(&s->out, b->answers);
	json_decref(b->answers);
	free(b);
}

static json_t *server_info(void)
{
	json_t *j = json_object();

	kl_json_set_str(j, "name", "git-klineage");
	kl_json_set_str(j, "version", KL_VERSION);
	return j;
}

/* what every result of a revision without handshake has */
static json_t *dress_result(json_t *result, bool modern)
{
	json_t *meta;

	if (!modern)
		return result;
	meta = json_object();
	kl_json_set(meta, META_SERVER, server_info());
	kl_json_set(result, "_meta", meta);
	kl_json_set_str(result, "resultType", "complete");
	return result;
}

static void send_answer(struct kl_mcp_server *s, const struct request *r, json_t *result)
{
	send_message(s, r->batch, kl_rpc_result(r->m.id, dress_result(result, r->modern)));
}

static void send_refusal(struct kl_mcp_server *s, const struct request *r, int code,
			 const char *why)
{
	send_message(s, r->batch, kl_rpc_error(r->m.id, code, why));
}

/* --- who speaks which revision -------------------------------------------------------- */

static const struct kl_mcp_revision *find_revision(const char *name)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(revisions); i++)
		if (!strcmp(revisions[i].name, name))
			return &revisions[i];
	return NULL;
}

static json_t *supported_versions(void)
{
	json_t *j = json_array();

	json_array_append_new(j, json_string(MODERN));
	for (size_t i = 0; i < KL_ARRAY_SIZE(revisions); i++)
		json_array_append_new(j, json_string(revisions[i].name));
	return j;
}

static void refuse_version(struct kl_mcp_server *s, const struct request *r, const char *asked)
{
	json_t *e = kl_rpc_error(r->m.id, UNSUPPORTED_VERSION, "Unsupported protocol version");
	json_t *data = json_object();

	kl_json_set(data, "supported", supported_versions());
	kl_json_set_str(data, "requested", asked);
	kl_json_set(json_object_get(e, "error"), "data", data);
	send_message(s, r->batch, e);
}

/* Which revision a request is of; false: it was answered. */
static bool place_request(struct kl_mcp_server *s, struct request *r)
{
	const json_t *meta = json_object_get(r->m.params, "_meta");
	const json_t *version = json_object_get(meta, META_VERSION);
	const char *name = json_string_value(version);

	if (version && !name) {
		send_refusal(s, r, KL_RPC_PARAMS, "'" META_VERSION "' is not a string");
		return false;
	}
	if (name && strcmp(name, MODERN) && !find_revision(name)) {
		refuse_version(s, r, name);
		return false;
	}
	r->modern = name && !strcmp(name, MODERN);
	if (r->modern && !json_is_object(json_object_get(meta, META_CAPABILITIES))) {
		send_refusal(s, r, KL_RPC_PARAMS, "'" META_CAPABILITIES "' is missing");
		return false;
	}
	if (r->modern)
		r->wants = KL_MCP_WANTS_ANNOTATIONS | KL_MCP_WANTS_OUTPUT;
	else if (s->agreed)
		r->wants = s->agreed->wants;
	return true;
}

/* --- methods without a tool ------------------------------------------------------------- */

static json_t *server_capabilities(void)
{
	json_t *j = json_object();

	kl_json_set(j, "tools", json_object());
	return j;
}

static void do_initialize(struct kl_mcp_server *s, const struct request *r)
{
	const char *asked = kl_json_str_or(r->m.params, "protocolVersion", NULL);
	json_t *j;

	if (!asked) {
		send_refusal(s, r, KL_RPC_PARAMS, "'protocolVersion' is not a string");
		return;
	}
	s->agreed = find_revision(asked);
	if (!s->agreed)
		s->agreed = &revisions[0];
	j = json_object();
	kl_json_set_str(j, "protocolVersion", s->agreed->name);
	kl_json_set(j, "capabilities", server_capabilities());
	kl_json_set(j, "serverInfo", server_info());
	kl_json_set_str(j, "instructions", instructions);
	send_answer(s, r, j);
}

/* nothing here changes while the program runs, nor from user to user */
static void set_cache(json_t *j)
{
	kl_json_set_int(j, "ttlMs", 3600000);
	kl_json_set_str(j, "cacheScope", "public");
}

static void do_discover(struct kl_mcp_server *s, const struct request *r)
{
	json_t *j;

	if (!r->modern) {
		send_refusal(s, r, KL_RPC_PARAMS, "'" META_VERSION "' is missing");
		return;
	}
	j = json_object();
	kl_json_set(j, "supportedVersions", supported_versions());
	kl_json_set(j, "capabilities", server_capabilities());
	kl_json_set_str(j, "instructions", instructions);
	set_cache(j);
	send_answer(s, r, j);
}

static void do_ping(struct kl_mcp_server *s, const struct request *r)
{
	send_answer(s, r, json_object());
}

static void list_tools(struct kl_mcp_server *s, const struct request *r)
{
	json_t *j;

	if (json_object_get(r->m.params, "cursor")) {
		send_refusal(s, r, KL_RPC_PARAMS, "the list has one page, and no cursor");
		return;
	}
	j = json_object();
	kl_json_set(j, "tools", kl_mcp_tool_list(r->wants, s->read_only));
	if (r->modern)
		set_cache(j);
	send_answer(s, r, j);
}

/* --- calls -------------------------------------------------------------------------- */

/*
 * A walk that asks a model costs money, and one that asks a command runs it: such a walk goes on by
 * its owner's hand alone.
 */
static int check_walk(struct kl_mcp_server *s)
{
	KL_AUTO(kl_opstate_release) struct kl_opstate op = { .events = KL_BUF_INIT };
	int err = kl_opstate_load(&op, s->repo);

	if (err == KL_ENOTFOUND)
		return kl_error(KL_ENOTFOUND,
				"no walk is in progress in this worktree; deopt_start begins "
				"one");
	if (err < 0)
		return err;
	if (!strcmp(kl_walk_str(&op.walk, "rewriters"), "stepwise") &&
	    !*kl_walk_str(&op.walk, "rederive"))
		return 0;
	return kl_error(KL_EINVALID,
			"the walk in progress asks others, too (%s): who began it goes on with "
			"'git klineage deopt --continue', or ends it",
			kl_walk_str(&op.walk, "rewriters"));
}

static char *named_document(const json_t *args)
{
	struct kl_buf b = KL_BUF_INIT;

	kl_json_canonical(&b, args);
	return kl_buf_detach(&b);
}

/* The command of a call; an error is for whoever called. */
static int prepare_call(struct kl_mcp_server *s, struct kl_mcp_call *c, const json_t *args)
{
	int err = kl_mcp_tool_argv(&c->argv, c->tool, args, s->read_only);

	if (!err && (c->tool->flags & KL_MCP_WALK))
		err = check_walk(s);
	if (!err && s->n >= KL_MCP_RUNNING + KL_MCP_WAITING)
		err = kl_error(KL_EBUSY, "%zu calls are waiting already; try again later", s->n);
	if (!err && (c->tool->flags & KL_MCP_DOCUMENT))
		c->input = named_document(args);
	return err;
}

static bool is_known(const struct kl_mcp_server *s, const json_t *id)
{
	for (size_t i = 0; i < s->n; i++)
		if (kl_rpc_same_id(s->call[i]->id, id))
			return true;
	return false;
}

static void call_tool(struct kl_mcp_server *s, const struct request *r)
{
	const char *name = kl_json_str_or(r->m.params, "name", NULL);
	const json_t *args = json_object_get(r->m.params, "arguments");
	const json_t *token = json_object_get(json_object_get(r->m.params, "_meta"),
					      "progressToken");
	const struct kl_mcp_tool *tool = name ? kl_mcp_tool_find(name, s->read_only) : NULL;
	KL_AUTO(json_decrefp) json_t *none = json_object();
	KL_AUTO(kl_mcp_call_freep) struct kl_mcp_call *c = NULL;

	if (!tool || (args && !json_is_object(args))) {
		KL_AUTO(kl_freep) char *why = kl_asprintf("Unknown tool: %.100s", name ? name : "");

		send_refusal(s, r, KL_RPC_PARAMS,
			     !name ? "'name' is not a string" :
			     !tool ? why :
				     "'arguments' is not an object");
		return;
	}
	if (is_known(s, r->m.id)) {
		send_refusal(s, r, KL_RPC_INVALID, "a request with this id is being worked on");
		return;
	}
	c = kl_mcp_call_new(tool, r->m.id);
	if (prepare_call(s, c, args ? args : none) < 0) {
		send_answer(s, r, kl_mcp_call_refused(kl_error_last()));
		kl_error_clear();
		return;
	}
	if (json_is_string(token) || json_is_integer(token))
		c->token = json_deep_copy(token);
	c->modern = r->modern;
	c->output = r->wants & KL_MCP_WANTS_OUTPUT;
	c->batch = r->batch;
	if (c->batch)
		c->batch->open++;
	KL_GROW(s->call, s->n + 1, s->alloc);
	s->call[s->n++] = kl_steal(&c);
}

/* takes the call out of the list, answered or not */
static void drop_call(struct kl_mcp_server *s, size_t i)
{
	struct kl_mcp_call *c = s->call[i];

	memmove(s->call + i, s->call + i + 1, (s->n - i - 1) * sizeof(*s->call));
	s->n--;
	close_batch(s, c->batch);
	kl_mcp_call_free(c);
}

static void cancel_call(struct kl_mcp_server *s, const struct kl_rpc_message *m)
{
	const json_t *id = json_object_get(m->params, "requestId");

	for (size_t i = 0; i < s->n; i++) {
		if (!kl_rpc_same_id(s->call[i]->id, id))
			continue;
		s->call[i]->cancelled = true;
		if (s->call[i]->running)
			kl_mcp_call_stop(s->call[i]);
		else
			drop_call(s, i);
		return;
	}
}

static void end_call(struct kl_mcp_server *s, size_t i)
{
	struct kl_mcp_call *c = s->call[i];

	if (!c->cancelled)
		send_message(s, c->batch,
			     kl_rpc_result(c->id, dress_result(kl_mcp_call_result(c), c->modern)));
	drop_call(s, i);
}

static void begin_call(struct kl_mcp_server *s, size_t i)
{
	struct kl_mcp_call *c = s->call[i];

	if (kl_mcp_call_start(c) == 0)
		return;
	send_message(s, c->batch, kl_rpc_error(c->id, KL_RPC_INTERNAL, kl_error_last()));
	kl_error_clear();
	drop_call(s, i);
}

void kl_mcp_server_turn(struct kl_mcp_server *s)
{
	size_t running = 0;

	for (size_t i = s->n; i-- > 0;) {
		struct kl_mcp_call *c = s->call[i];
		json_t *params;

		kl_mcp_call_read(c);
		params = kl_mcp_call_progress(c);
		if (params)
			send_message(s, NULL,
				     kl_rpc_notification("notifications/progress", params));
		if (kl_mcp_call_ended(c))
			end_call(s, i);
		else
			running += c->running;
	}
	for (size_t i = 0; i < s->n && running < KL_MCP_RUNNING; i++) {
		size_t before = s->n;

		if (s->call[i]->running)
			continue;
		begin_call(s, i);
		running += s->n == before;
		i -= s->n != before;
	}
}

/* --- messages ----------------------------------------------------------------------- */

static void take_request(struct kl_mcp_server *s, struct request *r)
{
	static const struct {
		const char *method;
		void (*fn)(struct kl_mcp_server *s, const struct request *r);
		bool early;  /* before `initialize`, too */
		bool legacy; /* not of revisions without handshake */
	} methods[] = {
		{ "initialize", do_initialize, true, true },
		{ "ping", do_ping, true, true },
		{ "server/discover", do_discover, true, false },
		{ "tools/list", list_tools, false, false },
		{ "tools/call", call_tool, false, false },
	};

	if (!place_request(s, r))
		return;
	for (size_t i = 0; i < KL_ARRAY_SIZE(methods); i++) {
		if (strcmp(methods[i].method, r->m.method) || (r->modern && methods[i].legacy))
			continue;
		if (!methods[i].early && !r->modern && !s->agreed)
			send_refusal(s, r, KL_RPC_INVALID, "'initialize' comes first");
		else
			methods[i].fn(s, r);
		return;
	}
	send_refusal(s, r, KL_RPC_METHOD, "Method not found");
}

static void take_one(struct kl_mcp_server *s, const json_t *j, struct kl_mcp_batch *b)
{
	struct request r = { .batch = b };
	int code = kl_rpc_check(&r.m, j);

	/* whoever notifies wants no answer */
	if (code && (code != KL_RPC_PARAMS || r.m.kind == KL_RPC_REQUEST))
		send_refusal(s, &r, code, kl_error_last());
	else if (!code && r.m.kind == KL_RPC_REQUEST)
		take_request(s, &r);
	else if (!code && r.m.kind == KL_RPC_NOTIFICATION &&
		 !strcmp(r.m.method, "notifications/cancelled"))
		cancel_call(s, &r.m);
	kl_error_clear();
}

static void take_batch(struct kl_mcp_server *s, const json_t *list)
{
	struct kl_mcp_batch *b;
	struct request none = { 0 };
	size_t n = json_array_size(list);

	if (!s->agreed || !s->agreed->batches || !n || n > MAX_BATCH) {
		send_refusal(
			s, &none, KL_RPC_INVALID,
			s->agreed && s->agreed->batches ?
				"an array of 1 to 64 messages is wanted" :
				"an array of messages is not of this revision of the protocol");
		return;
	}
	b = kl_calloc(1, sizeof(*b));
	b->answers = json_array();
	b->open = 1;
	for (size_t i = 0; i < n; i++)
		take_one(s, json_array_get(list, i), b);
	close_batch(s, b);
}

void kl_mcp_server_refuse(struct kl_mcp_server *s)
{
	send_message(s, NULL, kl_rpc_error(NULL, KL_RPC_PARSE, kl_error_last()));
	kl_error_clear();
}

void kl_mcp_server_take(struct kl_mcp_server *s, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *j = NULL;

	if (kl_rpc_parse(&j, line, len))
		kl_mcp_server_refuse(s);
	else if (json_is_array(j))
		take_batch(s, j);
	else
		take_one(s, j, NULL);
}

/* --- the end ------------------------------------------------------------------------ */

void kl_mcp_server_stop(struct kl_mcp_server *s)
{
	for (size_t i = s->n; i-- > 0;) {
		s->call[i]->cancelled = true;
		if (s->call[i]->running)
			kl_mcp_call_stop(s->call[i]);
		else
			drop_call(s, i);
	}
}

void kl_mcp_server_release(struct kl_mcp_server *s)
{
	while (s->n)
		drop_call(s, s->n - 1);
	free(s->call);
	s->call = NULL;
	kl_buf_release(&s->out);
}
