/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/protocol.h"

#include <string.h>

#include "base/prefix.h"
#include "model/provider/body.h"

const struct kl_protocol *kl_protocol_of(const struct kl_service *service)
{
	static const struct kl_protocol *const protocols[] = {
		[KL_PROTOCOL_MESSAGES] = &kl_protocol_messages,
		[KL_PROTOCOL_CHAT] = &kl_protocol_completions,
		[KL_PROTOCOL_RESPONSES] = &kl_protocol_responses,
	};

	return protocols[service->protocol];
}

/* --- the start of a body ---------------------------------------------------------------- */

void kl_protocol_add_begin(struct kl_buf *out, const struct kl_service *service,
			   const struct kl_provider_request *request)
{
	kl_buf_addch(out, '{');
	if (service->model_in)
		return;
	kl_body_member(out, "model", request->model);
	kl_buf_addch(out, ',');
}

void kl_protocol_join_system(struct kl_buf *out, const struct kl_provider_request *request)
{
	size_t from = out->len;

	for (size_t i = 0; i < request->nsystem; i++)
		if (*request->system[i])
			kl_buf_addf(out, "%s%s", out->len > from ? "\n\n" : "", request->system[i]);
}

/* --- marks of a cache ------------------------------------------------------------------- */

bool kl_protocol_marks(const struct kl_service *service, const struct kl_provider_request *request)
{
	return service->cache == KL_SERVICE_MARKS && request->cache != KL_CACHE_NONE &&
	       (!service->cache_models || kl_prefix_has(request->model, service->cache_models));
}

void kl_protocol_add_mark(struct kl_buf *out, enum kl_cache_ttl cache)
{
	kl_buf_addf(out, ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"%s\"}",
		    cache == KL_CACHE_1H ? "1h" : "5m");
}

void kl_protocol_add_part(struct kl_buf *out, const char *text, enum kl_cache_ttl cache)
{
	kl_buf_adds(out, "{\"type\":\"text\",");
	kl_body_member(out, "text", text);
	if (cache != KL_CACHE_NONE)
		kl_protocol_add_mark(out, cache);
	kl_buf_addch(out, '}');
}

enum kl_cache_ttl kl_protocol_system_mark(const struct kl_provider_request *request, size_t i)
{
	size_t n = 0, at = 0;

	for (size_t k = 0; k < request->nsystem; k++) {
		at += k < i && *request->system[k];
		n += *request->system[k] != '\0';
	}
	return at == 0 || at + 2 >= n ? request->cache : KL_CACHE_NONE;
}

/* --- further members -------------------------------------------------------------------- */

/* Set the member at a dotted path; missing objects on the path are added. */
static void set_path(json_t *object, const char *path, json_t *value)
{
	for (;;) {
		size_t n = strcspn(path, ".");
		KL_AUTO(kl_freep) char *name = kl_strndup(path, n);
		json_t *inner = json_object_get(object, name);

		if (!path[n]) {
			json_object_set_new(object, name, value);
			return;
		}
		if (!json_is_object(inner)) {
			inner = json_object();
			json_object_set_new(object, name, inner);
		}
		object = inner;
		path += n + 1;
	}
}

/*
 * Set the members of `from` in `to`. If both have an object of the same name, the objects are
 * merged.
 */
static void merge_members(json_t *to, const json_t *from)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)from, key, value) {
		json_t *inner = json_object_get(to, key);

		if (json_is_object(value) && json_is_object(inner))
			merge_members(inner, value);
		else
			json_object_set_new(to, key, json_deep_copy(value));
	}
}

static json_t *make_members(const struct kl_service *service,
			    const struct kl_provider_request *request)
{
	json_t *all = json_object();
	const char *word;

	if (service->more)
		merge_members(all, service->more);
	if (service->stream_usage)
		set_path(all, "stream_options.include_usage", json_true());
	if (service->cache == KL_SERVICE_KEYS && request->cache_key &&
	    request->cache != KL_CACHE_NONE)
		set_path(all, "prompt_cache_key", json_string(request->cache_key));
	if (request->effort && !kl_service_effort(&word, service, request->effort))
		set_path(all, service->effort, json_string(word));
	if (request->tier && service->tier)
		set_path(all, service->tier, json_string(request->tier));
	if (request->extra)
		merge_members(all, request->extra);
	return all;
}

void kl_protocol_add_end(struct kl_buf *out, const struct kl_service *service,
			 const struct kl_provider_request *request)
{
	KL_AUTO(json_decrefp) json_t *all = make_members(service, request);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_buf_addch(out, ',');
	kl_body_string(out, service->tokens);
	kl_buf_addf(out, ":%lld,\"stream\":true", (long long)request->max_tokens);
	if (json_object_size(all)) {
		kl_json_decimal(&text, all, false);
		kl_buf_addf(out, ",%s", text.ptr + 1); /* without the opening brace */
	} else {
		kl_buf_addch(out, '}');
	}
}
