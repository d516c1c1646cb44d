/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_SERVICE_H
#define KL_MODEL_PROVIDER_SERVICE_H

#include "model/provider/dialect.h"
#include "repo/repo.h"

/*
 * service - how a provider is reached over HTTP, as data: a row of templates/providers.yaml, in
 * which the configuration can replace members. That file explains the members. A service is never
 * read from a tracked file: a repository must not direct where a key is sent.
 *
 *	struct kl_service service = { 0 };
 *	err = kl_service_open(&service, repo, "openai");
 *	kl_service_release(&service);
 */
enum kl_service_protocol { KL_PROTOCOL_MESSAGES, KL_PROTOCOL_CHAT, KL_PROTOCOL_RESPONSES };
enum kl_service_auth { KL_AUTH_BEARER, KL_AUTH_X_API_KEY, KL_AUTH_API_KEY, KL_AUTH_NONE };
enum kl_service_cache { KL_SERVICE_FINDS, KL_SERVICE_KEYS, KL_SERVICE_MARKS };

struct kl_service {
	char *name;
	int protocol; /* enum kl_service_protocol */
	char *url, *path;
	struct kl_texts query, headers;
	int auth;  /* enum kl_service_auth */
	char *key; /* NULL if the service needs no key */
	char *tokens, *tokens_elsewhere;
	bool stream_usage;
	int model_in; /* 0: body, 1: url */
	char *usage;
	int cache; /* enum kl_service_cache */
	char *cache_models, *effort;
	struct kl_texts efforts;
	char *tier, *body;
	/* the members below are not in the table */
	struct kl_dialect dialect;
	json_t *more; /* `body`, parsed, or NULL */
	/* the command that prints the key, and the setting that has it; or NULL */
	char *key_command, *key_setting;
	char *base;     /* klineage.chat.url, else `url`, with its placeholders filled in */
	bool elsewhere; /* `base` is on another server than `url` */
};

/**
 * Find a row and apply the configuration. If `url` is not NULL, it replaces the URL of the row. Set
 * `out->base`. If `repo` is NULL, there is no configuration. Return KL_EINVALID if no such row, or
 * a value is malformed or missing (the message names its configuration key). The caller releases
 * `out` in any case.
 */
int kl_service_open(struct kl_service *out, struct kl_repo *repo, const char *name,
		    const char *url);
void kl_service_release(struct kl_service *service);

/**
 * Set *out to the URL of a request for `model`, which the caller frees. Return KL_EINVALID if the
 * value of a placeholder is missing.
 */
int kl_service_target(char **out, const struct kl_service *service, struct kl_repo *repo,
		      const char *model);
/** Return the start of the key's header line, up to the key; NULL if no key is sent. Static. */
const char *kl_service_key_prefix(const struct kl_service *service);
/**
 * Set *word to the service's word for an effort. Return KL_EINVALID if the service has no setting
 * for the effort, or does not know this effort.
 */
int kl_service_effort(const char **word, const struct kl_service *service, const char *effort);

#endif
