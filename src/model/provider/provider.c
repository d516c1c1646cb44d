/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/provider.h"

#include <string.h>

#include "base/error.h"
#include "base/proc.h"
#include "model/provider/body.h"
#include "model/provider/flaw.h"
#include "model/provider/ops.h"

#define DEFAULT_TIMEOUT_MS (INT64_C(10) * 60 * 1000)
#define MAX_TIMEOUT_MS (INT64_C(24) * 3600 * 1000)

/*
 * Return the functions of the provider `name`: "exec", "replay", "table" or, for any other name, a
 * service.
 */
static const struct kl_provider_ops *find_kind(const char *name)
{
	static const struct kl_provider_ops *const kinds[] = {
		&kl_provider_exec,
		&kl_provider_replay,
		&kl_provider_called,
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	return &kl_provider_service;
}

/*
 * Return a copy of the option `given` or, if that is NULL, of the configured value; NULL if neither
 * is set.
 */
static char *read_option(struct kl_repo *repo, const char *given, const char *key)
{
	if (!given && repo)
		given = kl_repo_config(repo, key);
	return given && *given ? kl_strdup(given) : NULL;
}

static int read_timeout(int64_t *out, struct kl_repo *repo, int64_t given)
{
	int64_t seconds = 0;
	int err;

	if (!given && repo) {
		err = kl_repo_config_int(&seconds, repo, "klineage.chat.timeout", 0);
		if (err < 0)
			return err;
		if (seconds < 0 || seconds > MAX_TIMEOUT_MS / 1000)
			return kl_error(KL_EINVALID,
					"config klineage.chat.timeout: must be 0 to 86400 seconds");
		given = seconds * 1000;
	}
	*out = given > 0 ? given : DEFAULT_TIMEOUT_MS;
	return 0;
}

int kl_provider_open(struct kl_provider **out, struct kl_repo *repo,
		     const struct kl_provider_opts *opts)
{
	KL_AUTO(kl_freep) char *name = read_option(repo, opts->name, "klineage.chat.provider");
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	int err;

	if (!name)
		return kl_error(KL_EINVALID,
				"no provider is configured: set klineage.chat.provider");
	provider = kl_calloc(1, sizeof(*provider));
	provider->ops = find_kind(name);
	provider->name = kl_steal(&name);
	provider->repo = repo;
	provider->answer = opts->answer;
	provider->payload = opts->payload;
	provider->url = read_option(repo, opts->url, "klineage.chat.url");
	provider->command = read_option(repo, opts->command, "klineage.chat.exec");
	provider->replay = read_option(repo, opts->replay, "klineage.chat.replay");
	if ((err = read_timeout(&provider->timeout_ms, repo, opts->timeout_ms)) < 0 ||
	    (provider->ops->open && (err = provider->ops->open(provider)) < 0))
		return err;
	*out = kl_steal(&provider);
	return 0;
}

void kl_provider_free(struct kl_provider *provider)
{
	if (!provider)
		return;
	if (provider->ops->close)
		provider->ops->close(provider);
	free(provider->name);
	free(provider->url);
	free(provider->command);
	free(provider->replay);
	free(provider);
}

const char *kl_provider_name(const struct kl_provider *provider)
{
	return provider->name;
}

bool kl_provider_metered(const struct kl_provider *provider)
{
	return provider->ops->metered;
}

bool kl_provider_blind(const struct kl_provider *provider)
{
	return provider->ops->blind;
}

int kl_provider_target(char **out, const struct kl_provider *provider, const char *model)
{
	*out = NULL;
	return provider->ops->target ? provider->ops->target(out, provider, model) : 0;
}

/*
 * Check a request. User and assistant must alternate, with the user first and last, and no message
 * can be empty, since providers refuse empty messages.
 */
static int check_request(const struct kl_provider_request *request)
{
	if (!request->model || !*request->model)
		return kl_error(KL_EINVALID, "no model is configured: set klineage.chat.model");
	if (request->max_tokens < 1)
		return kl_error(KL_EINVALID, "cannot request a reply of %lld tokens",
				(long long)request->max_tokens);
	if (request->nmessage % 2 == 0)
		return kl_error(KL_EINVALID, "a request must end with a user message");
	for (size_t i = 0; i < request->nmessage; i++) {
		if (request->message[i].assistant != (i % 2 == 1))
			return kl_error(KL_EINVALID,
					"message %zu: user and assistant must alternate", i);
		if (!request->message[i].text || !*request->message[i].text)
			return kl_error(KL_EINVALID, "message %zu is empty", i);
	}
	return 0;
}

int kl_provider_body(struct kl_buf *out, size_t *prefix, const struct kl_provider *provider,
		     const struct kl_provider_request *request)
{
	size_t from = out->len, covered = 0;
	int err = check_request(request);

	if (err < 0)
		return err;
	provider->ops->body(out, &covered, provider, request, NULL);
	if (prefix)
		*prefix = covered ? covered - from : 0;
	return 0;
}

int kl_provider_heard(const struct kl_provider_watch *watch, int64_t bytes,
		      const struct kl_usage *usage)
{
	if (kl_proc_interrupted() ||
	    (watch && watch->heard && watch->heard(bytes, usage, watch->payload)))
		return kl_error(KL_EINTR, "interrupted");
	return 0;
}

/* Check the text for flaws, and replace a missing text by a note about the flaw. */
static void judge_text(struct kl_reply *reply)
{
	reply->flaw = kl_flaw_of(reply->text, reply->stop, reply->flaw);
	if (reply->flaw == KL_FLAW_NONE ||
	    (reply->text && reply->text[strspn(reply->text, " \t\r\n\v\f")]))
		return;
	free(reply->text);
	reply->text = kl_strdup(kl_flaw_note(reply->flaw));
}

int kl_provider_send(struct kl_reply *out, struct kl_provider *provider,
		     const struct kl_provider_request *request,
		     const struct kl_request_context *context,
		     const struct kl_provider_watch *watch)
{
	int err;

	/* nothing was sent yet */
	*out = (struct kl_reply){ .usage.known = true, .failure.after_ms = -1, .stated_nano = -1 };
	err = check_request(request);
	if (!err && request->nmessage != context->turn * 2 + 1)
		err = kl_error(KL_EINVALID, "turn %zu does not match a request of %zu messages",
			       context->turn, request->nmessage);
	if (err)
		return err;
	*out = (struct kl_reply){ .failure.after_ms = -1, .stated_nano = -1 };
	err = provider->ops->send(out, provider, request, context, watch);
	out->alone |= provider->ops->blind;
	if (!err)
		judge_text(out);
	return err < 0 ? kl_error_in(err, "%s", provider->name) : 0;
}

void kl_provider_plain_body(struct kl_buf *out, size_t *prefix, const struct kl_provider *provider,
			    const struct kl_provider_request *request,
			    const struct kl_request_context *context)
{
	kl_buf_adds(out, "{\"schema\":\"klineage.chat-request/1\",");
	kl_body_member(out, "model", request->model);
	kl_buf_adds(out, ",\"system\":[");
	for (size_t i = 0; i < request->nsystem; i++) {
		kl_buf_adds(out, i ? "," : "");
		kl_body_string(out, request->system[i]);
	}
	kl_buf_adds(out, "],\"messages\":[");
	kl_body_messages(out, request, "text");
	kl_buf_addf(out, "],\"max_tokens\":%lld", (long long)request->max_tokens);
	if (context) {
		kl_buf_addch(out, ',');
		kl_body_member(out, "phase", context->phase);
		kl_buf_addf(out, ",\"turn\":%zu", context->turn);
	}
	kl_buf_addch(out, '}');
	*prefix = 0;
}
