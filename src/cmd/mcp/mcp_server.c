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
	bool batches; /* messages may come in an array */
};

/* The protocol revisions with a handshake, newest first. */
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

/* An array of messages from the client, whose answers are sent together. */
struct kl_mcp_batch {
	json_t *answers;
	/* number of unanswered calls, plus one while the array is being read */
	size_t open;
};

/* One message from the client, and how to answer it. */
struct request {
	struct kl_rpc_message m;
	struct kl_mcp_batch *batch;
	bool modern;
	int wants;
};

/* --- answers ---------------------------------------------------------------------- */

/*
 * Send a message; if there is a batch, add the message to the batch instead. Takes ownership of the
 * message.
 */
static void send_message(struct kl_mcp_server *server, struct kl_mcp_batch *batch, json_t *message)
{
	if (batch) {
		json_array_append_new(batch->answers, message);
		return;
	}
	kl_rpc_write(&server->out, message);
	json_decref(message);
}

static void close_batch(struct kl_mcp_server *server, struct kl_mcp_batch *batch)
{
	if (!batch || --batch->open)
		return;
	if (json_array_size(batch->answers))
		kl_rpc_write(&server->out, batch->answers);
	json_decref(batch->answers);
	free(batch);
}

static json_t *server_info(void)
{
	json_t *value = json_object();

	kl_json_set_str(value, "name", "git-klineage");
	kl_json_set_str(value, "version", KL_VERSION);
	return value;
}

/* Add the members that each result has in protocol revisions without a handshake. */
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

static void send_answer(struct kl_mcp_server *server, const struct request *request, json_t *result)
{
	send_message(server, request->batch,
		     kl_rpc_result(request->m.id, dress_result(result, request->modern)));
}

static void send_refusal(struct kl_mcp_server *server, const struct request *request, int code,
			 const char *why)
{
	send_message(server, request->batch, kl_rpc_error(request->m.id, code, why));
}

/* --- protocol revisions -------------------------------------------------------------- */

static const struct kl_mcp_revision *find_revision(const char *name)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(revisions); i++)
		if (!strcmp(revisions[i].name, name))
			return &revisions[i];
	return NULL;
}

static json_t *supported_versions(void)
{
	json_t *value = json_array();

	json_array_append_new(value, json_string(MODERN));
	for (size_t i = 0; i < KL_ARRAY_SIZE(revisions); i++)
		json_array_append_new(value, json_string(revisions[i].name));
	return value;
}

static void refuse_version(struct kl_mcp_server *server, const struct request *request,
			   const char *asked)
{
	json_t *message = kl_rpc_error(request->m.id, UNSUPPORTED_VERSION,
				       "Unsupported protocol version");
	json_t *data = json_object();

	kl_json_set(data, "supported", supported_versions());
	kl_json_set_str(data, "requested", asked);
	kl_json_set(json_object_get(message, "error"), "data", data);
	send_message(server, request->batch, message);
}

/* Find the protocol revision of a request. Return false if the request was refused and answered. */
static bool place_request(struct kl_mcp_server *server, struct request *request)
{
	const json_t *meta = json_object_get(request->m.params, "_meta");
	const json_t *version = json_object_get(meta, META_VERSION);
	const char *name = json_string_value(version);

	if (version && !name) {
		send_refusal(server, request, KL_RPC_PARAMS, "'" META_VERSION "' is not a string");
		return false;
	}
	if (name && strcmp(name, MODERN) && !find_revision(name)) {
		refuse_version(server, request, name);
		return false;
	}
	request->modern = name && !strcmp(name, MODERN);
	if (request->modern && !json_is_object(json_object_get(meta, META_CAPABILITIES))) {
		send_refusal(server, request, KL_RPC_PARAMS, "'" META_CAPABILITIES "' is missing");
		return false;
	}
	if (request->modern)
		request->wants = KL_MCP_WANTS_ANNOTATIONS | KL_MCP_WANTS_OUTPUT;
	else if (server->agreed)
		request->wants = server->agreed->wants;
	return true;
}

/* --- methods except tools/call ---------------------------------------------------------- */

static json_t *server_capabilities(void)
{
	json_t *value = json_object();

	kl_json_set(value, "tools", json_object());
	return value;
}

static void do_initialize(struct kl_mcp_server *server, const struct request *request)
{
	const char *asked = kl_json_str_or(request->m.params, "protocolVersion", NULL);
	json_t *value;

	if (!asked) {
		send_refusal(server, request, KL_RPC_PARAMS, "'protocolVersion' is not a string");
		return;
	}
	server->agreed = find_revision(asked);
	if (!server->agreed)
		server->agreed = &revisions[0];
	value = json_object();
	kl_json_set_str(value, "protocolVersion", server->agreed->name);
	kl_json_set(value, "capabilities", server_capabilities());
	kl_json_set(value, "serverInfo", server_info());
	kl_json_set_str(value, "instructions", instructions);
	send_answer(server, request, value);
}

/*
 * Let clients cache a list for an hour, because a list is the same for all users and never changes
 * while the server runs.
 */
static void set_cache(json_t *value)
{
	kl_json_set_int(value, "ttlMs", 3600000);
	kl_json_set_str(value, "cacheScope", "public");
}

static void do_discover(struct kl_mcp_server *server, const struct request *request)
{
	json_t *value;

	if (!request->modern) {
		send_refusal(server, request, KL_RPC_PARAMS, "'" META_VERSION "' is missing");
		return;
	}
	value = json_object();
	kl_json_set(value, "supportedVersions", supported_versions());
	kl_json_set(value, "capabilities", server_capabilities());
	kl_json_set_str(value, "instructions", instructions);
	set_cache(value);
	send_answer(server, request, value);
}

static void do_ping(struct kl_mcp_server *server, const struct request *request)
{
	send_answer(server, request, json_object());
}

static void list_tools(struct kl_mcp_server *server, const struct request *request)
{
	json_t *value;

	if (json_object_get(request->m.params, "cursor")) {
		send_refusal(server, request, KL_RPC_PARAMS,
			     "the list has only one page; 'cursor' is not supported");
		return;
	}
	value = json_object();
	kl_json_set(value, "tools", kl_mcp_tool_list(request->wants, server->read_only));
	if (request->modern)
		set_cache(value);
	send_answer(server, request, value);
}

/* --- calls -------------------------------------------------------------------------- */

#define ASK_USER \
	"ask the user to continue the walk with 'git klineage deopt --continue', or to end it"

/*
 * Check that an agent may continue the walk in progress: `stepwise` must be its only rewriter, and
 * no step may be re-derived, because a model would cost the user money and a command would run as
 * the user.
 */
static int check_walk(struct kl_mcp_server *server)
{
	KL_AUTO(kl_opstate_release) struct kl_opstate op = { .events = KL_BUF_INIT };
	int err = kl_opstate_load(&op, server->repo);
	bool stepwise;

	if (err == KL_ENOTFOUND)
		return kl_error(KL_ENOTFOUND,
				"no walk is in progress in this worktree; use deopt_start to "
				"begin a walk");
	if (err < 0)
		return err;
	stepwise = !strcmp(kl_walk_str(&op.walk, "rewriters"), "stepwise");
	if (stepwise && !*kl_walk_str(&op.walk, "rederive"))
		return 0;
	if (stepwise)
		return kl_error(KL_EINVALID,
				"the walk in progress re-derives steps with '%s', which an agent "
				"may not run; " ASK_USER,
				kl_walk_str(&op.walk, "rederive"));
	return kl_error(KL_EINVALID,
			"the walk in progress uses rewriters that an agent may not run "
			"(%s); " ASK_USER,
			kl_walk_str(&op.walk, "rewriters"));
}

static char *named_document(const json_t *args)
{
	struct kl_buf buf = KL_BUF_INIT;

	kl_json_canonical(&buf, args);
	return kl_buf_detach(&buf);
}

/*
 * Make the command line and the input of a call. If this fails, the error message goes to the
 * client.
 */
static int prepare_call(struct kl_mcp_server *server, struct kl_mcp_call *call, const json_t *args)
{
	int err = kl_mcp_tool_argv(&call->argv, call->tool, args, server->read_only);

	if (!err && (call->tool->flags & KL_MCP_WALK))
		err = check_walk(server);
	if (!err && server->n >= KL_MCP_RUNNING + KL_MCP_WAITING)
		err = kl_error(KL_EBUSY, "%zu calls are already queued; try again later",
			       server->n);
	if (!err && (call->tool->flags & KL_MCP_DOCUMENT))
		call->input = named_document(args);
	return err;
}

static bool is_known(const struct kl_mcp_server *server, const json_t *id)
{
	for (size_t i = 0; i < server->n; i++)
		if (kl_rpc_same_id(server->call[i]->id, id))
			return true;
	return false;
}

static void call_tool(struct kl_mcp_server *server, const struct request *request)
{
	const char *name = kl_json_str_or(request->m.params, "name", NULL);
	const json_t *args = json_object_get(request->m.params, "arguments");
	const json_t *token = json_object_get(json_object_get(request->m.params, "_meta"),
					      "progressToken");
	const struct kl_mcp_tool *tool = name ? kl_mcp_tool_find(name, server->read_only) : NULL;
	KL_AUTO(json_decrefp) json_t *none = json_object();
	KL_AUTO(kl_mcp_call_freep) struct kl_mcp_call *call = NULL;

	if (!tool || (args && !json_is_object(args))) {
		KL_AUTO(kl_freep) char *why = kl_asprintf("Unknown tool: %.100s", name ? name : "");

		send_refusal(server, request, KL_RPC_PARAMS,
			     !name ? "'name' is not a string" :
			     !tool ? why :
				     "'arguments' is not an object");
		return;
	}
	if (is_known(server, request->m.id)) {
		send_refusal(server, request, KL_RPC_INVALID,
			     "a request with this id is in progress");
		return;
	}
	call = kl_mcp_call_new(tool, request->m.id);
	if (prepare_call(server, call, args ? args : none) < 0) {
		send_answer(server, request, kl_mcp_call_refused(kl_error_last()));
		kl_error_clear();
		return;
	}
	if (json_is_string(token) || json_is_integer(token))
		call->token = json_deep_copy(token);
	call->modern = request->modern;
	call->output = request->wants & KL_MCP_WANTS_OUTPUT;
	call->batch = request->batch;
	if (call->batch)
		call->batch->open++;
	KL_GROW(server->call, server->n + 1, server->alloc);
	server->call[server->n++] = kl_steal(&call);
}

/* Remove a call from the list and free it, even if it was not answered. */
static void drop_call(struct kl_mcp_server *server, size_t i)
{
	struct kl_mcp_call *call = server->call[i];

	memmove(server->call + i, server->call + i + 1,
		(server->n - i - 1) * sizeof(*server->call));
	server->n--;
	close_batch(server, call->batch);
	kl_mcp_call_free(call);
}

static void cancel_call(struct kl_mcp_server *server, const struct kl_rpc_message *message)
{
	const json_t *id = json_object_get(message->params, "requestId");

	for (size_t i = 0; i < server->n; i++) {
		if (!kl_rpc_same_id(server->call[i]->id, id))
			continue;
		server->call[i]->cancelled = true;
		if (server->call[i]->running)
			kl_mcp_call_stop(server->call[i]);
		else
			drop_call(server, i);
		return;
	}
}

static void end_call(struct kl_mcp_server *server, size_t i)
{
	struct kl_mcp_call *call = server->call[i];

	if (!call->cancelled)
		send_message(server, call->batch,
			     kl_rpc_result(call->id,
					   dress_result(kl_mcp_call_result(call), call->modern)));
	drop_call(server, i);
}

static void begin_call(struct kl_mcp_server *server, size_t i)
{
	struct kl_mcp_call *call = server->call[i];

	if (kl_mcp_call_start(call) == 0)
		return;
	send_message(server, call->batch, kl_rpc_error(call->id, KL_RPC_INTERNAL, kl_error_last()));
	kl_error_clear();
	drop_call(server, i);
}

void kl_mcp_server_turn(struct kl_mcp_server *server)
{
	size_t running = 0;

	for (size_t i = server->n; i-- > 0;) {
		struct kl_mcp_call *call = server->call[i];
		json_t *params;

		kl_mcp_call_read(call);
		params = kl_mcp_call_progress(call);
		if (params)
			send_message(server, NULL,
				     kl_rpc_notification("notifications/progress", params));
		if (kl_mcp_call_ended(call))
			end_call(server, i);
		else
			running += call->running;
	}
	for (size_t i = 0; i < server->n && running < KL_MCP_RUNNING; i++) {
		size_t before = server->n;

		if (server->call[i]->running)
			continue;
		begin_call(server, i);
		running += server->n == before;
		i -= server->n != before;
	}
}

/* --- messages ----------------------------------------------------------------------- */

static void take_request(struct kl_mcp_server *server, struct request *request)
{
	static const struct {
		const char *method;
		void (*fn)(struct kl_mcp_server *server, const struct request *request);
		bool early;  /* allowed before `initialize` */
		bool legacy; /* the method exists only in revisions with a handshake */
	} methods[] = {
		{ "initialize", do_initialize, true, true },
		{ "ping", do_ping, true, true },
		{ "server/discover", do_discover, true, false },
		{ "tools/list", list_tools, false, false },
		{ "tools/call", call_tool, false, false },
	};

	if (!place_request(server, request))
		return;
	for (size_t i = 0; i < KL_ARRAY_SIZE(methods); i++) {
		if (strcmp(methods[i].method, request->m.method) ||
		    (request->modern && methods[i].legacy))
			continue;
		if (!methods[i].early && !request->modern && !server->agreed)
			send_refusal(server, request, KL_RPC_INVALID,
				     "'initialize' must come first");
		else
			methods[i].fn(server, request);
		return;
	}
	send_refusal(server, request, KL_RPC_METHOD, "Method not found");
}

static void take_one(struct kl_mcp_server *server, const json_t *value, struct kl_mcp_batch *batch)
{
	struct request request = { .batch = batch };
	int code = kl_rpc_check(&request.m, value);

	/* notifications are never answered */
	if (code && (code != KL_RPC_PARAMS || request.m.kind == KL_RPC_REQUEST))
		send_refusal(server, &request, code, kl_error_last());
	else if (!code && request.m.kind == KL_RPC_REQUEST)
		take_request(server, &request);
	else if (!code && request.m.kind == KL_RPC_NOTIFICATION &&
		 !strcmp(request.m.method, "notifications/cancelled"))
		cancel_call(server, &request.m);
	kl_error_clear();
}

static void take_batch(struct kl_mcp_server *server, const json_t *list)
{
	struct kl_mcp_batch *batch;
	struct request none = { 0 };
	size_t n = json_array_size(list);

	if (!server->agreed || !server->agreed->batches || !n || n > MAX_BATCH) {
		send_refusal(server, &none, KL_RPC_INVALID,
			     server->agreed && server->agreed->batches ?
				     "expected an array of 1 to 64 messages" :
				     "this revision of the protocol does not allow arrays of "
				     "messages");
		return;
	}
	batch = kl_calloc(1, sizeof(*batch));
	batch->answers = json_array();
	batch->open = 1;
	for (size_t i = 0; i < n; i++)
		take_one(server, json_array_get(list, i), batch);
	close_batch(server, batch);
}

void kl_mcp_server_refuse(struct kl_mcp_server *server)
{
	send_message(server, NULL, kl_rpc_error(NULL, KL_RPC_PARSE, kl_error_last()));
	kl_error_clear();
}

void kl_mcp_server_take(struct kl_mcp_server *server, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;

	if (kl_rpc_parse(&value, line, len))
		kl_mcp_server_refuse(server);
	else if (json_is_array(value))
		take_batch(server, value);
	else
		take_one(server, value, NULL);
}

/* --- stopping ----------------------------------------------------------------------- */

void kl_mcp_server_stop(struct kl_mcp_server *server)
{
	for (size_t i = server->n; i-- > 0;) {
		server->call[i]->cancelled = true;
		if (server->call[i]->running)
			kl_mcp_call_stop(server->call[i]);
		else
			drop_call(server, i);
	}
}

void kl_mcp_server_release(struct kl_mcp_server *server)
{
	while (server->n)
		drop_call(server, server->n - 1);
	free(server->call);
	server->call = NULL;
	kl_buf_release(&server->out);
}
