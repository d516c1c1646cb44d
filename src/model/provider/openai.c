/* SPDX-License-Identifier: Apache-2.0 */
/* openai - the provider for OpenAI-compatible chat completions */
#include <string.h>

#include "base/error.h"
#include "model/provider/body.h"
#include "model/provider/http_shared.h"

/*
 * Chat completions of OpenAI itself and of compatible servers (vLLM, llama.cpp, Ollama). Their
 * caches need no marks: they recognize a prefix of identical bytes.
 */

/*
 * OpenAI rejects the old name, max_tokens, for newer models. Many other servers ignore the new
 * name, max_completion_tokens, and would then apply no limit.
 */
static const char *token_field(const struct kl_provider *provider)
{
	const char *set = provider->repo ?
				  kl_repo_config(provider->repo, "klineage.chat.tokenField") :
				  NULL;

	if (set && *set)
		return set;
	return kl_provider_http_is_default(provider) ? "max_completion_tokens" : "max_tokens";
}

/* Join the blocks: the chat templates of many models accept only one system message, the first. */
static void add_system(struct kl_buf *out, const struct kl_provider_request *request)
{
	KL_AUTO(kl_buf_release) struct kl_buf all = KL_BUF_INIT;

	for (size_t i = 0; i < request->nsystem; i++)
		if (*request->system[i])
			kl_buf_addf(&all, "%s%s", all.len ? "\n\n" : "", request->system[i]);
	if (!all.len)
		return;
	kl_buf_adds(out, "{\"role\":\"system\",");
	kl_body_member(out, "content", all.ptr);
	kl_buf_adds(out, "},");
}

static void openai_body(struct kl_buf *out, size_t *prefix, const struct kl_provider *provider,
			const struct kl_provider_request *request,
			const struct kl_request_context *context)
{
	kl_buf_addch(out, '{');
	kl_body_member(out, "model", request->model);
	kl_buf_adds(out, ",\"messages\":[");
	add_system(out, request);
	for (size_t i = 0; i < request->nmessage; i++) {
		kl_buf_adds(out, i ? ",{" : "{");
		kl_body_member(out, "role", request->message[i].assistant ? "assistant" : "user");
		kl_buf_addch(out, ',');
		kl_body_member(out, "content", request->message[i].text);
		*prefix = out->len;
		kl_buf_addch(out, '}');
	}
	kl_buf_adds(out, "],");
	kl_body_string(out, token_field(provider));
	kl_buf_addf(out, ":%lld,\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
		    (long long)request->max_tokens);
}

/* Here prompt_tokens includes the tokens read from the cache. */
static void read_usage(struct kl_stream *stream, const json_t *obj)
{
	struct kl_usage usage = { 0 };
	int64_t prompt = -1, output = -1, cached = 0;
	bool ok = kl_stream_count(&prompt, obj, "prompt_tokens") &&
		  kl_stream_count(&output, obj, "completion_tokens") &&
		  kl_stream_count(&cached, json_object_get(obj, "prompt_tokens_details"),
				  "cached_tokens");

	if (ok && output >= 0 && prompt >= cached) {
		usage.known = true;
		usage.input = prompt - cached;
		usage.output = output;
		usage.cache_read = cached;
	}
	stream->out->usage = usage;
}

static enum kl_stop stop_of(const char *reason)
{
	if (!strcmp(reason, "stop"))
		return KL_STOP_END;
	if (!strcmp(reason, "length"))
		return KL_STOP_LENGTH;
	return !strcmp(reason, "content_filter") ? KL_STOP_REFUSAL : KL_STOP_OTHER;
}

/* The reasoning has no name of its own in the protocol; servers use one of these. */
static void hide_reasoning(struct kl_stream *stream, const json_t *delta)
{
	const json_t *text = json_object_get(delta, "reasoning_content");

	kl_stream_hide(stream, text ? text : json_object_get(delta, "reasoning"));
}

static void note_calls(struct kl_stream *stream, const json_t *delta, const char *reason)
{
	const json_t *call = json_object_get(delta, "function_call");

	if (json_array_size(json_object_get(delta, "tool_calls")) || json_is_object(call) ||
	    !strcmp(reason, "tool_calls") || !strcmp(reason, "function_call"))
		kl_stream_flaw(stream, KL_FLAW_TOOL);
}

static int add_choice(struct kl_stream *stream, const json_t *choice)
{
	const json_t *delta = json_object_get(choice, "delta");
	const char *reason = kl_json_str_or(choice, "finish_reason", NULL);
	const json_t *text = json_object_get(delta, "content");
	const json_t *refusal = json_object_get(delta, "refusal");
	int err;

	if (kl_json_int_or(choice, "index", 0)) {
		kl_stream_flaw(stream, KL_FLAW_CHOICES);
		return 0;
	}
	if (text && !json_is_string(text) && !json_is_null(text))
		return kl_error(KL_EINVALID, "JSON: 'content' is not a string");
	if (json_is_string(refusal) && json_string_length(refusal))
		kl_stream_flaw(stream, KL_FLAW_REFUSAL);
	hide_reasoning(stream, delta);
	note_calls(stream, delta, reason ? reason : "");
	if ((err = kl_stream_add(stream, text)) < 0 || (err = kl_stream_add(stream, refusal)) < 0)
		return err;
	if (reason) {
		stream->out->stop = stop_of(reason);
		stream->stopped = true;
	}
	return 0;
}

int kl_openai_event(struct kl_stream *stream, const char *data, const json_t *event)
{
	const json_t *choice, *model = json_object_get(event, "model");
	json_t *choices = json_object_get(event, "choices");
	size_t i;
	int err;

	if (!strcmp(data, "[DONE]")) {
		stream->ended = true;
		return stream->stopped ? 0 :
					 kl_error(KL_EINVALID,
						  "the stream ends before the reply is complete");
	}
	if (!event)
		return kl_error(KL_EINVALID, "not a JSON object");
	if (json_object_get(event, "error") && !json_is_null(json_object_get(event, "error")))
		return kl_stream_error(stream, event);
	if (!stream->out->model && json_is_string(model))
		stream->out->model = kl_strdup(json_string_value(model));
	json_array_foreach(choices, i, choice)
		if ((err = add_choice(stream, choice)) < 0)
			return err;
	if (json_is_object(json_object_get(event, "usage")))
		read_usage(stream, json_object_get(event, "usage"));
	return 0;
}

static int openai_open(struct kl_provider *provider)
{
	static const struct kl_http_kind kind = {
		.url = "https://api.openai.com/v1",
		.path = "/v1/chat/completions",
		.key_variable = "OPENAI_API_KEY",
		.key_prefix = "authorization: Bearer ",
		.event = kl_openai_event,
	};
	int err = kl_provider_http_open(provider, &kind);
	const char *field;

	if (err < 0)
		return err;
	field = token_field(provider);
	if (strcmp(field, "max_tokens") && strcmp(field, "max_completion_tokens"))
		return kl_error(KL_EINVALID,
				"klineage.chat.tokenField is '%s', not max_tokens or "
				"max_completion_tokens",
				field);
	return 0;
}

const struct kl_provider_ops kl_provider_openai = {
	.name = "openai",
	.metered = true,
	.blind = true,
	.open = openai_open,
	.close = kl_provider_http_close,
	.body = openai_body,
	.send = kl_provider_http_send,
};
